/// Converts pages between memory and file: adds a checksum that is seeded with the database id, or encrypts.
///
/// In memory a page has the format of PageFormat.swift. Every page goes to the file through `seal`, and comes from it
/// through `open`.
struct PageCodec: Sendable {
    let seed: UInt64
    private let cipher: PageCipher?

    init(seed: UInt64) {
        self.seed = seed
        cipher = nil
    }

    /// - Parameters:
    ///   - keys: the keys; nil for an unencrypted database.
    ///   - entropy: the source of the random part of nonces.
    init(of database: DatabaseID, keys: DatabaseKeys? = nil, entropy: any Entropy = SystemEntropy()) {
        seed = database.seed
        cipher = keys.map { PageCipher($0, entropy: entropy) }
    }

    /// For the header block, which says how all other pages are encoded.
    static let header = PageCodec(seed: 0)

    /// Converts a page from its memory format to its file format, in place.
    func seal(_ page: UnsafeMutableRawPointer, number: UInt64) {
        if let cipher { return cipher.seal(page, number: number) }
        Page.seal(page, page: number, seed: seed)
    }

    /// Converts a page from its file format to its memory format, in place.
    ///
    /// - Returns: whether the page is intact. Otherwise its contents are undefined.
    func open(_ page: UnsafeMutableRawPointer, number: UInt64) -> Bool {
        if let cipher { return cipher.open(page, number: number) }
        return Page.isSealed(page, page: number, seed: seed)
    }

    var isEncrypted: Bool { cipher != nil }

    /// The error text for a page that is not intact.
    var finding: String {
        isEncrypted
            ? "it was not encrypted with this database's key for this place, or its bytes have changed"
            : "its checksum does not match its bytes"
    }
}
