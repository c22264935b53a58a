// The only file that uses a library of ciphers. Without the package trait `Encryption` there are no keys and no
// encryption.

#if Encryption
    import Crypto
    import CryptoExtras

    // The standard library has Unicode normal forms, but no public access to them on Apple platforms.
    #if canImport(Darwin)
        import Foundation
    #else
        @_spi(_Unicode) import Swift

        import struct FoundationEssentials.Data
    #endif

    /// A secret key of 256 bits, with its operations.
    struct CipherKey: Sendable {
        static let isAvailable = true
        static let nonceBytes = 12
        static let tagBytes = 16

        let cipher: Encryption.Cipher
        private let key: SymmetricKey

        private init(_ key: SymmetricKey, _ cipher: Encryption.Cipher) {
            self.key = key
            self.cipher = cipher
        }

        /// Nil unless there are 32 bytes.
        init?(_ bytes: [UInt8], _ cipher: Encryption.Cipher) {
            guard bytes.count == KeyRecord.keyBytes else { return nil }
            self.init(SymmetricKey(data: bytes), cipher)
        }

        init?(passphrase: [UInt8], salt: [UInt8], rounds: Int, _ cipher: Encryption.Cipher) {
            guard
                let key = try? KDF.Scrypt.deriveKey(
                    from: passphrase, salt: salt, outputByteCount: KeyRecord.keyBytes, rounds: rounds,
                    blockSize: Int(KeyRecord.Derivation.blockSize),
                    parallelism: Int(KeyRecord.Derivation.parallelism))
            else { return nil }
            self.init(key, cipher)
        }

        /// Returns a passphrase as bytes: first the composed form, which is the same for every keyboard, then other
        /// forms in which it may have been typed.
        static func forms(of passphrase: String) -> [[UInt8]] {
            #if canImport(Darwin)
                let composed = passphrase.precomposedStringWithCanonicalMapping
                let decomposed = passphrase.decomposedStringWithCanonicalMapping
            #else
                let composed = String(String.UnicodeScalarView(passphrase._nfc))
                let decomposed = String(String.UnicodeScalarView(passphrase._nfd))
            #endif
            var forms = [Array(composed.utf8)]
            for form in [Array(passphrase.utf8), Array(decomposed.utf8)] where !forms.contains(form) {
                forms.append(form)
            }
            return forms
        }

        /// Derives a key for one purpose.
        func derived(salt: [UInt8], info: String) -> CipherKey {
            CipherKey(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: key, salt: salt, info: Array(info.utf8), outputByteCount: KeyRecord.keyBytes),
                cipher)
        }

        /// Calls `body` with the bytes of the key, to encrypt it with another key.
        func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { key.withUnsafeBytes(body) }

        /// Encrypts a message, and authenticates it together with unencrypted data.
        ///
        /// The library fails only for keys and nonces of a wrong size, which cannot occur here. If it did, the output
        /// would be zeros, which cannot be decrypted, but never the message.
        ///
        /// - Parameters:
        ///   - nonce: twelve bytes that were never used before with this key.
        ///   - ciphertext: memory for as many bytes as the message has; may be that of the message.
        ///   - tag: memory for sixteen bytes.
        func seal(
            _ message: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, authenticating: UnsafeRawBufferPointer,
            ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
        ) {
            do {
                switch cipher {
                case .aesGCM:
                    let box = try AES.GCM.seal(
                        message, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: authenticating)
                    box.ciphertext.withUnsafeBytes { ciphertext.copyMemory(from: $0) }
                    box.tag.withUnsafeBytes { tag.copyMemory(from: $0) }
                case .chaChaPoly:
                    let box = try ChaChaPoly.seal(
                        message, using: key, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: authenticating)
                    box.ciphertext.withUnsafeBytes { ciphertext.copyMemory(from: $0) }
                    box.tag.withUnsafeBytes { tag.copyMemory(from: $0) }
                }
            } catch {
                ciphertext.initializeMemory(as: UInt8.self, repeating: 0)
                tag.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }

        /// Decrypts a box: nonce, ciphertext and tag, in this order.
        ///
        /// - Returns: false if the box was not encrypted with this key and data; nothing is written then.
        func open(
            _ box: UnsafeMutableRawBufferPointer, authenticating: UnsafeRawBufferPointer,
            into message: UnsafeMutableRawBufferPointer
        ) -> Bool {
            guard let base = box.baseAddress else { return false }
            // Borrowed, not copied; it ends before this returns.
            let bytes = Data(bytesNoCopy: base, count: box.count, deallocator: .none)
            do {
                let plain =
                    switch cipher {
                    case .aesGCM:
                        try AES.GCM.open(
                            AES.GCM.SealedBox(combined: bytes), using: key, authenticating: authenticating)
                    case .chaChaPoly:
                        try ChaChaPoly.open(
                            ChaChaPoly.SealedBox(combined: bytes), using: key, authenticating: authenticating)
                    }
                guard plain.count == message.count else { return false }
                plain.withUnsafeBytes { message.copyMemory(from: $0) }
                return true
            } catch { return false }
        }
    }
#else
    /// The stand-in for a build without encryption.
    struct CipherKey: Sendable {
        static let isAvailable = false
        static let nonceBytes = 12
        static let tagBytes = 16

        let cipher: Encryption.Cipher

        init?(_ bytes: [UInt8], _ cipher: Encryption.Cipher) { return nil }
        init?(passphrase: [UInt8], salt: [UInt8], rounds: Int, _ cipher: Encryption.Cipher) { return nil }
        static func forms(of passphrase: String) -> [[UInt8]] { [Array(passphrase.utf8)] }
        func derived(salt: [UInt8], info: String) -> CipherKey { self }
        func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
            body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        func seal(
            _ message: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, authenticating: UnsafeRawBufferPointer,
            ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
        ) {}
        func open(
            _ box: UnsafeMutableRawBufferPointer, authenticating: UnsafeRawBufferPointer,
            into message: UnsafeMutableRawBufferPointer
        ) -> Bool { false }
    }
#endif
