/// How the files of a database are encrypted, and the secret they can be read with.
///
/// ```swift
/// var options = StoreOptions()
/// options.encryption = .key(bytes)                         // 32 random bytes, from a key store
/// let store = try Store(at: "events.mako", options: options)
/// ```
///
/// A database that is created with these options is encrypted from its first byte on; one that is encrypted opens only with its own key
/// or passphrase. Needs the package trait `Encryption`; without it, opening says so.
///
/// Values of this type keep a secret in memory, and what was derived of it. They never show it.
public struct Encryption: Sendable {
    /// The cipher of pages and log. Both authenticate what they encrypt.
    public enum Cipher: UInt8, Sendable, Hashable, CaseIterable {
        /// AES-256-GCM: the faster one where the processor has instructions for AES, as nearly all have.
        case aesGCM = 1
        /// ChaCha20-Poly1305: the faster one elsewhere.
        case chaChaPoly = 2
    }

    /// Counts when a database is created; later its header says what it is.
    public let cipher: Cipher
    let secret: Secret

    /// - Parameters:
    ///   - bytes: 32 bytes that nobody can guess, as a random number generator makes them. Not a passphrase.
    ///   - cipher: counts when a database is created.
    public static func key(_ bytes: [UInt8], cipher: Cipher = .aesGCM) -> Encryption {
        Encryption(cipher: cipher, secret: Secret(.key(bytes)))
    }

    /// - Parameters:
    ///   - text: taken as its UTF-8 bytes.
    ///   - rounds: how much work one guess takes, when this is set for a database: scrypt's cost, a power of two from 1,024 to 262,144. Each
    ///     takes 1 KiB of memory and some microseconds, at every opening.
    ///   - cipher: counts when a database is created.
    public static func passphrase(
        _ text: String, rounds: Int = 1 << 17, cipher: Cipher = .aesGCM
    ) -> Encryption {
        Encryption(cipher: cipher, secret: Secret(.passphrase(Array(text.utf8), rounds: rounds)))
    }

    /// Whether this build can encrypt: whether the package trait `Encryption` is on.
    public static var isAvailable: Bool { CipherKey.isAvailable }

    /// What the user has, and what was derived of it: a passphrase takes its time, and a database is looked at more than once.
    final class Secret: Sendable {
        enum Source: Sendable {
            case key([UInt8])
            case passphrase([UInt8], rounds: Int)
        }

        let source: Source
        private let lock = Lock()
        // Guarded by `lock`.
        nonisolated(unsafe) private var derived: [(from: KeyRecord.Derivation, key: CipherKey)] = []

        init(_ source: Source) { self.source = source }

        /// The key that opens what was locked under these parameters. Nil when they are for another kind of secret, or the secret is none.
        func key(_ derivation: KeyRecord.Derivation, _ cipher: Cipher) -> CipherKey? {
            lock.withLock {
                if let found = derived.first(where: { $0.from == derivation && $0.key.cipher == cipher }) {
                    return found.key
                }
                let key: CipherKey? =
                    switch (source, derivation.kind) {
                    case (.key(let bytes), .key):
                        CipherKey(bytes, cipher)?.derived(salt: derivation.salt, info: "mako key")
                    case (.passphrase(let text, _), .passphrase):
                        CipherKey(passphrase: text, salt: derivation.salt, rounds: derivation.rounds, cipher)
                    default: nil
                    }
                if let key {
                    if derived.count == 4 { derived.removeFirst() }
                    derived.append((derivation, key))
                }
                return key
            }
        }
    }
}

extension Encryption: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch secret.source {
        case .key: "Encryption(key, \(cipher))"
        case .passphrase: "Encryption(passphrase, \(cipher))"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["cipher": cipher]) }
}
