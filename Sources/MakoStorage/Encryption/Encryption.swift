/// The encryption of a database: the cipher and the user's secret.
///
/// ```swift
/// var options = StoreOptions()
/// options.encryption = .key(bytes)                         // 32 random bytes, from a key store
/// let store = try Store(at: "events.mako", options: options)
/// ```
///
/// A database created with these options is encrypted from its first byte on. An encrypted database opens only with its
/// own key or passphrase. Needs the package trait `Encryption`; without it, opening throws
/// ``StorageError/encryptionUnavailable(path:)``.
///
/// Values of this type keep a secret and derived keys in memory, and never print them.
public struct Encryption: Sendable {
    /// The cipher of pages and log. Both ciphers authenticate what they encrypt.
    public enum Cipher: UInt8, Sendable, Hashable, CaseIterable {
        /// AES-256-GCM: faster on processors with AES instructions, which nearly all have.
        case aesGCM = 1
        /// ChaCha20-Poly1305: faster on other processors.
        case chaChaPoly = 2
    }

    /// The cipher for a new database; an existing database has its cipher in the header.
    public let cipher: Cipher
    let secret: Secret

    /// Returns an encryption with a key.
    ///
    /// - Parameters:
    ///   - bytes: 32 unpredictable bytes from a random number generator. Not a passphrase.
    ///   - cipher: the cipher of a new database.
    public static func key(_ bytes: [UInt8], cipher: Cipher = .aesGCM) -> Encryption {
        Encryption(cipher: cipher, secret: Secret(.key(SecretBytes(bytes))))
    }

    /// Returns an encryption with a passphrase, from which scrypt derives the key.
    ///
    /// - Parameters:
    ///   - text: the passphrase. Its UTF-8 bytes in composed form (Unicode NFC) are used, so that it is the same for
    ///     every keyboard. Files of versions that used other forms open too.
    ///   - rounds: the work of one guess, for a new database or key: scrypt's cost, a power of two from 1,024 to
    ///     262,144. Each round takes 1 KiB of memory and some microseconds, at every opening. Below 32,768 the store
    ///     sends ``StoreEvent/weakPassphrase(rounds:)``.
    ///   - cipher: the cipher of a new database.
    public static func passphrase(
        _ text: String, rounds: Int = 1 << 17, cipher: Cipher = .aesGCM
    ) -> Encryption {
        let forms = CipherKey.forms(of: text).map { SecretBytes($0) }
        return Encryption(cipher: cipher, secret: Secret(.passphrase(forms: forms, rounds: rounds)))
    }

    /// Whether this build supports encryption, which needs the package trait `Encryption`.
    public static var isAvailable: Bool { CipherKey.isAvailable }

    /// The user's secret and the keys derived from it, cached because deriving a key from a passphrase is slow.
    final class Secret: Sendable {
        enum Source: Sendable {
            case key(SecretBytes)
            /// The form for new key records first, then forms that earlier versions may have used.
            case passphrase(forms: [SecretBytes], rounds: Int)
        }

        let source: Source
        private let lock = Lock()
        // Guarded by `lock`.
        nonisolated(unsafe) private var derived: [(from: KeyRecord.Derivation, form: Int, key: CipherKey)] = []

        init(_ source: Source) { self.source = source }

        /// The number of forms of the secret.
        var forms: Int {
            switch source {
            case .key: 1
            case .passphrase(let forms, _): forms.count
            }
        }

        /// Returns the key derived with these parameters. Returns nil if they are for another kind of secret, or the
        /// secret is invalid.
        ///
        /// - Parameter form: the position among the ``forms``.
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

    /// A mirror that does not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["cipher": cipher]) }
}
