import MakoStorage

/// The keys and passphrases of encrypted test databases, any number of them, by a number.
package enum TestKeys {
    /// Every third is a passphrase, at the least work there is.
    package static func encryption(_ number: Int, _ cipher: Encryption.Cipher = .aesGCM) -> Encryption {
        if number % 3 == 2 { return .passphrase("passphrase \(number)", rounds: 1024, cipher: cipher) }
        return .key((0..<32).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number &* 31 &+ 1) }, cipher: cipher)
    }

    /// Opens with the newest of some keys that fits; another than the one the store is locked with must not.
    package static func open<R>(
        with numbers: [Int], _ cipher: Encryption.Cipher?, _ options: StoreOptions, _ body: (StoreOptions) throws -> R
    ) throws -> (result: R, number: Int) {
        guard let cipher else { return (try body(options), 0) }
        for number in numbers.dropLast() {
            var options = options
            options.encryption = encryption(number, cipher)
            do { return (try body(options), number) } catch StorageError.wrongKey { continue }
        }
        var options = options
        options.encryption = encryption(numbers.last ?? 0, cipher)
        return (try body(options), numbers.last ?? 0)
    }
}
