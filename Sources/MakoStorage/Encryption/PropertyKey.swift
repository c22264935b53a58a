/// The secret that encrypted properties are sealed with. It is another one than that of ``Encryption``, which encrypts the whole file: with a
/// property key, values stay sealed also where the file is open.
///
/// ```swift
/// var options = DatabaseOptions()
/// options.propertyKey = .key(bytes)                        // 32 random bytes, from a key store
/// ```
///
/// It counts for the life of a database, which knows a wrong one from the right one. A lost key is lost values. Needs the package trait
/// `Encryption`. Values of this type keep a secret in memory, and never show it.
public struct PropertyKey: Sendable {
    let encryption: Encryption

    /// - Parameter bytes: 32 bytes that nobody can guess, as a random number generator makes them. Not a passphrase.
    public static func key(_ bytes: [UInt8]) -> PropertyKey { PropertyKey(encryption: .key(bytes)) }

    /// - Parameters:
    ///   - text: taken as its UTF-8 bytes.
    ///   - rounds: how much work one guess takes, when this is first used with a database: scrypt's cost, a power of two from 1,024 to
    ///     262,144. Each takes 1 KiB of memory and some microseconds, once after opening.
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

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why an encrypted value cannot be sealed or opened.
public enum PropertyKeyProblem: Error, Sendable, Hashable {
    /// The database was opened without a property key.
    case missing
    /// The property key is not the one that the database's values are sealed with.
    case wrong(reason: String)
    /// The stored bytes are not what was sealed there.
    case damaged
    /// What the database holds of its property key cannot be read.
    case unreadable(reason: String)
    /// This build of Mako was made without the package trait `Encryption`.
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
