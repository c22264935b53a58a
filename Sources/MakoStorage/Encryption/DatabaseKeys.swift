/// The keys of one open encrypted database.
///
/// The data key is random, chosen when the database is created. A key for pages and one for the log are derived from
/// it, and from the latter one for each segment.
final class DatabaseKeys: Sendable {
    let database: DatabaseID
    private let dataKey: CipherKey
    let pages: CipherKey
    private let log: CipherKey

    var cipher: Encryption.Cipher { dataKey.cipher }

    private init(_ database: DatabaseID, _ dataKey: CipherKey) {
        self.database = database
        self.dataKey = dataKey
        pages = dataKey.derived(salt: [], info: "mako pages")
        log = dataKey.derived(salt: [], info: "mako log")
    }

    /// Creates the keys of a new database, and the key record for its header.
    static func make(
        for encryption: Encryption, database: DatabaseID, path: String, entropy: any Entropy
    ) throws(StorageError) -> (keys: DatabaseKeys, record: KeyRecord) {
        guard Encryption.isAvailable else { throw .encryptionUnavailable(path: path) }
        var bytes = entropy.bytes(KeyRecord.keyBytes)
        defer { forget(&bytes) }
        guard let dataKey = CipherKey(bytes, encryption.cipher) else {
            throw .encryptionUnavailable(path: path)
        }
        let keys = DatabaseKeys(database, dataKey)
        return (keys, try keys.record(for: encryption, entropy: entropy))
    }

    /// Encrypts the data key with a user's key.
    func record(for encryption: Encryption, entropy: any Entropy) throws(StorageError) -> KeyRecord {
        let derivation = try KeyRecord.Derivation(for: encryption, salt: entropy.bytes(KeyRecord.saltBytes))
        var record = KeyRecord(cipher: cipher, derivation: derivation)
        guard let lock = encryption.secret.key(derivation, cipher) else {
            throw .invalidArgument("an encryption key has \(KeyRecord.keyBytes) bytes; for a text use a passphrase")
        }
        record.box =
            entropy.bytes(CipherKey.nonceBytes) + [UInt8](repeating: 0, count: KeyRecord.keyBytes + CipherKey.tagBytes)
        record.context(of: database).withUnsafeBytes { context in
            record.box.withUnsafeMutableBytes { box in
                dataKey.withBytes { key in
                    lock.seal(
                        key, nonce: UnsafeRawBufferPointer(rebasing: box[..<CipherKey.nonceBytes]),
                        authenticating: context,
                        ciphertext: .init(
                            rebasing: box[CipherKey.nonceBytes..<CipherKey.nonceBytes + KeyRecord.keyBytes]),
                        tag: .init(rebasing: box[(CipherKey.nonceBytes + KeyRecord.keyBytes)...]))
                }
            }
        }
        return record
    }

    /// Decrypts the data key in a database's header.
    init(
        opening record: KeyRecord, of database: DatabaseID, with encryption: Encryption?, path: String
    ) throws(StorageError) {
        guard Encryption.isAvailable else { throw .encryptionUnavailable(path: path) }
        guard let encryption else { throw .encrypted(path: path) }
        guard record.derivation.isPossible else {
            throw .corrupted(page: 0, reason: "its key derivation needs more time or memory than Mako ever uses")
        }
        var key = [UInt8](repeating: 0, count: KeyRecord.keyBytes)
        defer { forget(&key) }
        let secret = encryption.secret
        let isOpen = (0..<secret.forms).contains { form in
            guard let lock = secret.key(record.derivation, record.cipher, form: form) else { return false }
            var box = record.box
            return record.context(of: database).withUnsafeBytes { context in
                box.withUnsafeMutableBytes { box in
                    key.withUnsafeMutableBytes { lock.open(box, authenticating: context, into: $0) }
                }
            }
        }
        guard isOpen, let dataKey = CipherKey(key, record.cipher) else {
            throw .wrongKey(path: path, reason: encryption.secret.mismatch(record.derivation.kind))
        }
        self.database = database
        self.dataKey = dataKey
        pages = dataKey.derived(salt: [], info: "mako pages")
        log = dataKey.derived(salt: [], info: "mako log")
    }

    /// Returns the cipher of a log segment, with a key for this use of the segment file.
    func segment(_ header: SegmentHeader) -> SegmentCipher {
        var salt: [UInt8] = []
        for word in [header.number, header.salt] {
            withUnsafeBytes(of: word.littleEndian) { salt.append(contentsOf: $0) }
        }
        return SegmentCipher(key: log.derived(salt: salt, info: "mako segment"))
    }
}

extension KeyRecord.Derivation {
    /// Returns the derivation for a new key record.
    init(for encryption: Encryption, salt: [UInt8]) throws(StorageError) {
        switch encryption.secret.source {
        case .key: self.init(kind: .key, salt: salt)
        case .passphrase(let forms, let rounds):
            guard forms.allSatisfy({ !$0.bytes.isEmpty }) else { throw .invalidArgument("the passphrase is empty") }
            let logRounds = rounds.trailingZeroBitCount
            guard rounds > 0, rounds.nonzeroBitCount == 1, Self.possibleRounds.contains(logRounds) else {
                throw .invalidArgument(
                    "a passphrase's rounds are a power of two from \(1 << Self.possibleRounds.lowerBound) to "
                        + "\(1 << Self.possibleRounds.upperBound), not \(rounds)")
            }
            self.init(
                kind: .passphrase, logRounds: UInt8(logRounds), blockSize: Self.blockSize,
                parallelism: Self.parallelism, salt: salt)
        }
    }
}

extension Encryption.Secret {
    /// Returns why a key record of this kind does not match the secret.
    func mismatch(_ kind: KeyRecord.Derivation.Kind) -> String {
        switch (source, kind) {
        case (.key(let secret), .key) where secret.bytes.count != KeyRecord.keyBytes:
            "a key has \(KeyRecord.keyBytes) bytes, not \(secret.bytes.count)"
        case (.key, .passphrase): "it was locked with a passphrase, not with a key"
        case (.passphrase, .key): "it was locked with a key, not with a passphrase"
        case (.key, .key): "it is another key"
        case (.passphrase, .passphrase): "it is another passphrase"
        }
    }
}

extension Entropy {
    /// Returns random bytes.
    func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: next().littleEndian) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}
