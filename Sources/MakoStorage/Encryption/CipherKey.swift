// The one file that knows a library of ciphers. Without the package trait `Encryption` there is no key, and so nothing is encrypted.

#if Encryption
    import Crypto
    import CryptoExtras

    // Of Unicode's normal forms the standard library knows, but tells on other platforms than Apple's alone.
    #if canImport(Darwin)
        import Foundation
    #else
        @_spi(_Unicode) import Swift

        import struct FoundationEssentials.Data
    #endif

    /// A secret key of 256 bits, and what is done with one.
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

        /// Nil for any other number of bytes.
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

        /// A passphrase as bytes: the composed form, which is the same from every keyboard, and the others that one may have typed.
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

        /// A key of its own for one purpose.
        func derived(salt: [UInt8], info: String) -> CipherKey {
            CipherKey(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: key, salt: salt, info: Array(info.utf8), outputByteCount: KeyRecord.keyBytes),
                cipher)
        }

        /// For locking it up under another.
        func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { key.withUnsafeBytes(body) }

        /// Encrypts a message, and authenticates it together with what is not encrypted.
        ///
        /// The library fails for keys and nonces of a wrong size only, which these cannot have. Then zeros would be left, which nothing opens:
        /// never what was to be hidden.
        ///
        /// - Parameters:
        ///   - nonce: twelve bytes, never used before with this key for anything else.
        ///   - ciphertext: where as many bytes as the message has go. It may lie where the message does.
        ///   - tag: where sixteen bytes go.
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

        /// Decrypts a box: nonce, ciphertext and tag, one behind the other.
        ///
        /// - Returns: false when the box was not sealed so, with this key; nothing is written then.
        func open(
            _ box: UnsafeMutableRawBufferPointer, authenticating: UnsafeRawBufferPointer,
            into message: UnsafeMutableRawBufferPointer
        ) -> Bool {
            guard let base = box.baseAddress else { return false }
            // Lent, not copied: it is gone before this returns.
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
    /// There is none in this build.
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
