/// How pages stand in the file: as they are in memory, with a checksum that the database's identity seeds; or encrypted.
///
/// In memory a page is as PageFormat.swift draws it. Every page goes to the file through `seal`, and comes from there through `open`.
struct PageCodec: Sendable {
    let seed: UInt64
    private let cipher: PageCipher?

    init(seed: UInt64) {
        self.seed = seed
        cipher = nil
    }

    /// - Parameters:
    ///   - keys: nil for a database that is not encrypted.
    ///   - entropy: for what makes nonces unique.
    init(of database: DatabaseID, keys: DatabaseKeys? = nil, entropy: any Entropy = SystemEntropy()) {
        seed = database.seed
        cipher = keys.map { PageCipher($0, entropy: entropy) }
    }

    /// For the header block, which tells how everything else is to be read.
    static let header = PageCodec(seed: 0)

    /// Makes of a page as it is in memory the page as it stands in the file.
    func seal(_ page: UnsafeMutableRawPointer, number: UInt64) {
        if let cipher { return cipher.seal(page, number: number) }
        Page.seal(page, page: number, seed: seed)
    }

    /// Makes of a page as it stands in the file the page as it is in memory.
    ///
    /// - Returns: whether it is whole. What is there otherwise is of no use.
    func open(_ page: UnsafeMutableRawPointer, number: UInt64) -> Bool {
        if let cipher { return cipher.open(page, number: number) }
        return Page.isSealed(page, page: number, seed: seed)
    }

    var isEncrypted: Bool { cipher != nil }

    /// What is to be said of a page that is not whole.
    var finding: String {
        isEncrypted
            ? "it was not encrypted with this database's key for this place, or its bytes have changed"
            : "its checksum does not match its bytes"
    }
}
