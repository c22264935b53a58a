/// The secret with which encrypted properties are sealed. It is separate from ``Encryption``, which encrypts the whole
/// file: with a property key, values stay sealed while the file is open.
///
/// ```swift
/// var options = DatabaseOptions()
/// options.propertyKey = .key(bytes)                        // 32 random bytes, from a key store
/// ```
///
/// A database keeps its property key for life, and detects a wrong one. If the key is lost, the values are lost. Needs
/// the package trait `Encryption`. Values of this type keep a secret in memory, and never print it.
public struct PropertyKey: Sendable {
    let encryption: Encryption

    /// Returns a property key.
    ///
    /// - Parameter bytes: 32 unpredictable bytes from a random number generator. Not a passphrase.
    public static func key(_ bytes: [UInt8]) -> PropertyKey { PropertyKey(encryption: .key(bytes)) }

    /// Returns a property key that scrypt derives from a passphrase.
    ///
    /// - Parameters:
    ///   - text: the passphrase. Its UTF-8 bytes in composed form (Unicode NFC) are used, so that it is the same for
    ///     every keyboard. Databases of versions that used other forms open too.
    ///   - rounds: the work of one guess, set at the first use with a database: scrypt's cost, a power of two from
    ///     1,024 to 262,144. Each round takes 1 KiB of memory and some microseconds, once after opening.
    public static func passphrase(_ text: String, rounds: Int = 1 << 17) -> PropertyKey {
        PropertyKey(encryption: .passphrase(text, rounds: rounds))
    }
}

extension PropertyKey: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch encryption.secret.source {
        case .key: "PropertyKey(key)"
        case .passphrase: "PropertyKey(passphrase)"
        }
    }

    /// A mirror that does not show the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why an encrypted value cannot be sealed or opened.
public enum PropertyKeyProblem: Error, Sendable, Hashable {
    /// The database was opened without a property key.
    case missing
    /// The database's values are sealed with another property key.
    case wrong(reason: String)
    /// The stored bytes are not what was sealed there.
    case damaged
    /// The database's record of its property key cannot be read.
    case unreadable(reason: String)
    /// This build was made without the package trait `Encryption`.
    case unavailable
}

extension PropertyKeyProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing:
            "the database was opened without the key of its encrypted properties; give it as DatabaseOptions.propertyKey"
        case .wrong(let reason):
            "DatabaseOptions.propertyKey does not fit this database: \(reason); give the one that it was made with"
        case .damaged:
            "the stored bytes are not what was sealed there, so they were damaged or moved; restore a backup, or set the value anew"
        case .unreadable(let reason):
            "what the database holds of its property key cannot be read: \(reason)"
        case .unavailable:
            "this build of Mako was made without encryption; build it with the package trait Encryption"
        }
    }
}
