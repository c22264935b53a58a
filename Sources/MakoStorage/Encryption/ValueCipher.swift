// A sealed value:
//
//        0  1  format  1
//        1 12  nonce   random
//       13  n  value   encrypted
//   13 + n 16  tag
//
// The lock, a database's record of its property key:
//
//        0  1  format       1
//        1  1  derivation   1: of a key, by HKDF-SHA256; 2: of a passphrase, by scrypt
//        2  1  rounds       scrypt's N, as a power of two; 0 for a key
//        3  1  block size   scrypt's r: 8; 0 for a key
//        4  1  parallelism  scrypt's p: 1; 0 for a key
//        5 32  salt         of the derivation
//       37 12  nonce        of a sealed empty value, which verifies the key
//       49 16  tag

/// Seals and opens single values with AES-256-GCM.
///
/// Two seals of the same value differ, because each has its own nonce. The key is derived from the user's secret and a
/// random salt of the database, so that the same secret gives different keys in different databases, and is never used
/// itself.
package struct ValueCipher: Sendable {
    private static let format: UInt8 = 1
    private static let prefixBytes = 1 + CipherKey.nonceBytes
    private static let saltAt = 5
    private static let lockBytes = saltAt + KeyRecord.saltBytes + CipherKey.nonceBytes + CipherKey.tagBytes
    private static let valueContext = Array("mako value".utf8)
    private static let lockContext = Array("mako property key".utf8)

    /// The number of bytes that sealing adds to a value.
    package static let overhead = prefixBytes + CipherKey.tagBytes

    private let key: CipherKey
    private let entropy: any Entropy

    private init(
        _ secret: PropertyKey, _ derivation: KeyRecord.Derivation, form: Int = 0, _ entropy: any Entropy
    ) throws(PropertyKeyProblem) {
        guard Encryption.isAvailable else { throw .unavailable }
        guard let key = secret.encryption.secret.key(derivation, .aesGCM, form: form) else {
            throw .wrong(reason: secret.encryption.secret.mismatch(derivation.kind))
        }
        self.key = key.derived(salt: [], info: "mako property values")
        self.entropy = entropy
    }

    /// Returns a cipher for a database without sealed values, and the lock that verifies the key later.
    package static func make(
        for secret: PropertyKey, entropy: any Entropy
    ) throws(PropertyKeyProblem) -> (cipher: ValueCipher, lock: [UInt8]) {
        let derivation: KeyRecord.Derivation
        do throws(StorageError) {
            derivation = try KeyRecord.Derivation(for: secret.encryption, salt: entropy.bytes(KeyRecord.saltBytes))
        } catch { throw .wrong(reason: "\(error)") }
        let cipher = try ValueCipher(secret, derivation, entropy)
        let head =
            [
                format, derivation.kind.rawValue, derivation.logRounds, derivation.blockSize, derivation.parallelism,
            ] + derivation.salt
        return (cipher, head + cipher.box([], lockContext + head, nonce: entropy.bytes(CipherKey.nonceBytes)))
    }

    /// Returns the cipher of a database with this lock.
    package init(
        opening lock: [UInt8], with secret: PropertyKey, entropy: any Entropy
    ) throws(PropertyKeyProblem) {
        let boxAt = ValueCipher.saltAt + KeyRecord.saltBytes
        guard lock.count == ValueCipher.lockBytes, lock[0] == ValueCipher.format, lock[2] < 64,
            let kind = KeyRecord.Derivation.Kind(rawValue: lock[1])
        else { throw .damaged }
        let derivation = KeyRecord.Derivation(
            kind: kind, logRounds: lock[2], blockSize: lock[3], parallelism: lock[4],
            salt: Array(lock[ValueCipher.saltAt..<boxAt]))
        // A lock with larger parameters could exhaust time and memory.
        guard derivation.isPossible else { throw .damaged }
        // Earlier versions made the key of the passphrase as it was typed.
        for form in 0..<secret.encryption.secret.forms {
            let cipher = try ValueCipher(secret, derivation, form: form, entropy)
            if cipher.opened(Array(lock[boxAt...]), ValueCipher.lockContext + lock[..<boxAt]) != nil {
                self = cipher
                return
            }
        }
        throw .wrong(reason: secret.encryption.secret.mismatch(kind))
    }

    /// Encrypts a value.
    ///
    /// - Parameter context: the place of the value. It can be opened with the same context only.
    package func seal(_ value: [UInt8], context: [UInt8]) -> [UInt8] {
        let nonce = entropy.bytes(CipherKey.nonceBytes)
        return [ValueCipher.format] + box(value, bound(context), nonce: nonce)
    }

    /// Decrypts a value.
    package func open(_ sealed: [UInt8], context: [UInt8]) throws(PropertyKeyProblem) -> [UInt8] {
        guard sealed.first == ValueCipher.format else { throw .damaged }
        guard let value = opened(Array(sealed.dropFirst()), bound(context)) else { throw .damaged }
        return value
    }

    private func bound(_ context: [UInt8]) -> [UInt8] {
        ValueCipher.valueContext + [ValueCipher.format] + context
    }

    /// Returns nonce, encrypted message and tag.
    private func box(_ message: [UInt8], _ context: [UInt8], nonce: [UInt8]) -> [UInt8] {
        var box = nonce + message + [UInt8](repeating: 0, count: CipherKey.tagBytes)
        let end = nonce.count + message.count
        box.withUnsafeMutableBytes { box in
            message.withUnsafeBytes { message in
                nonce.withUnsafeBytes { nonce in
                    context.withUnsafeBytes { context in
                        key.seal(
                            message, nonce: nonce, authenticating: context,
                            ciphertext: .init(rebasing: box[nonce.count..<end]), tag: .init(rebasing: box[end...]))
                    }
                }
            }
        }
        return box
    }

    /// Returns the message of a box; nil if it was not sealed with this key and context.
    private func opened(_ box: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        guard box.count >= CipherKey.nonceBytes + CipherKey.tagBytes else { return nil }
        var box = box
        var message = [UInt8](repeating: 0, count: box.count - CipherKey.nonceBytes - CipherKey.tagBytes)
        let isOpen = context.withUnsafeBytes { context in
            box.withUnsafeMutableBytes { box in
                message.withUnsafeMutableBytes { key.open(box, authenticating: context, into: $0) }
            }
        }
        return isOpen ? message : nil
    }
}
