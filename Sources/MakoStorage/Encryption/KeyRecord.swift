// What the header block of an encrypted database holds of its key:
//
//      120  1  cipher       Encryption.Cipher
//      121  1  derivation   1: of a key, by HKDF-SHA256; 2: of a passphrase, by scrypt
//      122  1  rounds       scrypt's N, as a power of two; 0 for a key
//      123  1  block size   scrypt's r: 8; 0 for a key
//      124  1  parallelism  scrypt's p: 1; 0 for a key
//      128 32  salt         of the derivation
//      160 12  nonce        of the box
//      172 32  data key     encrypted under what was derived
//      204 16  tag

/// A database's own key, locked with the user's.
///
/// The data key is random and stays for life. A change of the user's key locks it anew, and rewrites nothing else.
struct KeyRecord: Hashable {
    static let offset = 120
    static let bytes = 100
    static let keyBytes = 32
    static let saltBytes = 32
    static let boxBytes = CipherKey.nonceBytes + keyBytes + CipherKey.tagBytes

    /// How the key that opens the box comes from the user's secret.
    struct Derivation: Hashable {
        enum Kind: UInt8, Sendable, Hashable {
            case key = 1
            case passphrase = 2
        }

        /// A file that asks for more would not be one that Mako wrote, but one made to use up time and memory.
        static let possibleRounds = 10...18
        /// From here on guesses cost enough: 2^15 is what scrypt's author set for signing in, in 2009, with blocks of this size.
        static let strongRounds = 1 << 15
        static let blockSize: UInt8 = 8
        static let parallelism: UInt8 = 1

        var kind: Kind
        /// The logarithm of scrypt's rounds.
        var logRounds: UInt8 = 0
        var blockSize: UInt8 = 0
        var parallelism: UInt8 = 0
        var salt: [UInt8]

        var rounds: Int { 1 << Int(logRounds) }

        /// Whether it takes bounded time and memory.
        var isPossible: Bool {
            switch kind {
            case .key: logRounds == 0 && blockSize == 0 && parallelism == 0
            case .passphrase:
                Derivation.possibleRounds.contains(Int(logRounds)) && blockSize == Derivation.blockSize
                    && parallelism == Derivation.parallelism
            }
        }
    }

    var cipher: Encryption.Cipher
    var derivation: Derivation
    /// Nonce, encrypted key and tag.
    var box: [UInt8]

    /// What the box vouches for beside the key: whose it is, and how it was locked.
    func context(of database: DatabaseID) -> [UInt8] {
        var bytes = [UInt8]("mako data key".utf8)
        for word in [database.high, database.low] {
            withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes + head
    }

    private var head: [UInt8] {
        [
            cipher.rawValue, derivation.kind.rawValue, derivation.logRounds, derivation.blockSize,
            derivation.parallelism, 0, 0, 0,
        ] + derivation.salt
    }

    /// As the header block has it.
    var encoded: [UInt8] { head + box }

    /// Nil when the bytes are no such record.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == KeyRecord.bytes, let cipher = Encryption.Cipher(rawValue: bytes[0]),
            let kind = Derivation.Kind(rawValue: bytes[1]), bytes[2] < 64
        else { return nil }
        self.cipher = cipher
        derivation = Derivation(
            kind: kind, logRounds: bytes[2], blockSize: bytes[3], parallelism: bytes[4],
            salt: Array(bytes[8..<8 + KeyRecord.saltBytes]))
        box = Array(bytes[8 + KeyRecord.saltBytes..<KeyRecord.bytes])
    }

    init(cipher: Encryption.Cipher, derivation: Derivation, box: [UInt8] = []) {
        self.cipher = cipher
        self.derivation = derivation
        self.box = box
    }
}
