// The key record in the header block of an encrypted database:
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

/// The data key of a database, encrypted with the user's key.
///
/// The data key is random and never changes. A change of the user's key encrypts it again, and rewrites nothing else.
struct KeyRecord: Hashable {
    static let offset = 120
    static let bytes = 100
    static let keyBytes = 32
    static let saltBytes = 32
    static let boxBytes = CipherKey.nonceBytes + keyBytes + CipherKey.tagBytes

    /// How the key of the box is derived from the user's secret.
    struct Derivation: Hashable {
        enum Kind: UInt8, Sendable, Hashable {
            case key = 1
            case passphrase = 2
        }

        /// The possible rounds. A file with more was not written by Mako, and could be made to exhaust time and memory.
        static let possibleRounds = 10...18
        /// The rounds from which guessing is expensive: 2^15 is the recommendation of scrypt's author for interactive
        /// logins in 2009, with this block size.
        static let strongRounds = 1 << 15
        static let blockSize: UInt8 = 8
        static let parallelism: UInt8 = 1

        var kind: Kind
        /// The binary logarithm of scrypt's rounds.
        var logRounds: UInt8 = 0
        var blockSize: UInt8 = 0
        var parallelism: UInt8 = 0
        var salt: [UInt8]

        var rounds: Int { 1 << Int(logRounds) }

        /// Whether the derivation takes bounded time and memory.
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
    /// The nonce, the encrypted key and the tag.
    var box: [UInt8]

    /// Returns the data that the box authenticates besides the key: the database id and the derivation.
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

    /// The record as bytes for the header block.
    var encoded: [UInt8] { head + box }

    /// Nil if the bytes are no key record.
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
