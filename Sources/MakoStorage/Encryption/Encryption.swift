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
        Encryption(cipher: cipher, secret: Secret(.key(SecretBytes(bytes))))
    }

    /// - Parameters:
    ///   - text: taken as the UTF-8 bytes of its composed form (Unicode's NFC), so that it is the same from every keyboard. Files of versions
    ///     that took it as it was typed open, too.
    ///   - rounds: how much work one guess takes, when this is set for a database: scrypt's cost, a power of two from 1,024 to 262,144. Each
    ///     takes 1 KiB of memory and some microseconds, at every opening. Below 32,768 the store tells ``StoreEvent/weakPassphrase(rounds:)``.
    ///   - cipher: counts when a database is created.
    public static func passphrase(
        _ text: String, rounds: Int = 1 << 17, cipher: Cipher = .aesGCM
    ) -> Encryption {
        let forms = CipherKey.forms(of: text).map { SecretBytes($0) }
        return Encryption(cipher: cipher, secret: Secret(.passphrase(forms: forms, rounds: rounds)))
    }

    /// Whether this build can encrypt: whether the package trait `Encryption` is on.
    public static var isAvailable: Bool { CipherKey.isAvailable }

    /// What the user has, and what was derived of it: a passphrase takes its time, and a database is looked at more than once.
    final class Secret: Sendable {
        enum Source: Sendable {
            case key(SecretBytes)
            /// The form that new locks are made with comes first; the others are what earlier versions may have taken.
            case passphrase(forms: [SecretBytes], rounds: Int)
        }

        let source: Source
        private let lock = Lock()
        // Guarded by `lock`.
        nonisolated(unsafe) private var derived: [(from: KeyRecord.Derivation, form: Int, key: CipherKey)] = []

        init(_ source: Source) { self.source = source }

        /// In how many forms the secret may have been taken.
        var forms: Int {
            switch source {
            case .key: 1
            case .passphrase(let forms, _): forms.count
            }
        }

        /// The key that opens what was locked under these parameters. Nil when they are for another kind of secret, or the secret is none.
        ///
        /// - Parameter form: which of the ``forms``.
        func key(_ derivation: KeyRecord.Derivation, _ cipher: Cipher, form: Int = 0) -> CipherKey? {
            lock.withLock {
                if let found = derived.first(where: {
                    $0.from == derivation && $0.form == form && $0.key.cipher == cipher
                }) {
                    return found.key
                }
                let key: CipherKey? =
                    switch (source, derivation.kind) {
                    case (.key(let bytes), .key):
                        CipherKey(bytes.bytes, cipher)?.derived(salt: derivation.salt, info: "mako key")
                    case (.passphrase(let forms, _), .passphrase):
                        CipherKey(
                            passphrase: forms[form].bytes, salt: derivation.salt, rounds: derivation.rounds, cipher)
                    default: nil
                    }
                if let key {
                    if derived.count == 4 { derived.removeFirst() }
                    derived.append((derivation, form, key))
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
