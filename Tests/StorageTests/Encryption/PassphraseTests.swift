import MakoTestSupport
import Testing

@testable import MakoStorage

/// Passphrases as they are typed, and how well they are locked.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct PassphraseTests {
    private static let composed = "caf\u{e9} \u{d55c}"
    private static let decomposed = "cafe\u{301} \u{1112}\u{1161}\u{11ab}"

    private func open(_ disk: any FileSystem, _ encryption: Encryption) throws {
        let store = try Store(at: EncryptionTests.path, options: EncryptionTests.options(disk, encryption))
        try store.close()
    }

    private func passphrase(_ text: String, rounds: Int = 1024) -> Encryption { .passphrase(text, rounds: rounds) }

    @Test func aPassphraseIsTheSameComposedAndDecomposed() throws {
        for (first, second) in [(Self.composed, Self.decomposed), (Self.decomposed, Self.composed)] {
            let disk = SimulatedDisk()
            for (count, text) in zip((0 as UInt64)..., [first, second, first]) {
                let store = try Store(
                    at: EncryptionTests.path, options: EncryptionTests.options(disk, passphrase(text)))
                #expect(store.isEncrypted)
                if count > 0 { try EncryptionTests.check(store, 0..<count) }
                try EncryptionTests.fill(store, count..<count + 1)
                try store.close()
            }
        }
    }

    /// Earlier versions locked with the bytes as they were typed.
    @Test func filesLockedWithTheBytesAsTypedOpen() throws {
        for typed in [Self.composed, Self.decomposed] {
            let disk = SimulatedDisk()
            let former = Encryption(
                cipher: .aesGCM,
                secret: .init(.passphrase(forms: [SecretBytes(Array(typed.utf8))], rounds: 1024)))
            try open(disk, former)
            for text in [Self.composed, Self.decomposed] { try open(disk, passphrase(text)) }
            #expect(throws: StorageError.self) { try open(disk, passphrase("cafe")) }
        }
    }

    /// Property keys, too.
    @Test func propertyKeysOfTheBytesAsTypedOpen() throws {
        let entropy = SeededEntropy(seed: 3)
        for typed in [Self.composed, Self.decomposed] {
            let former = PropertyKey(
                encryption: Encryption(
                    cipher: .aesGCM,
                    secret: .init(.passphrase(forms: [SecretBytes(Array(typed.utf8))], rounds: 1024))))
            let (cipher, lock) = try ValueCipher.make(for: former, entropy: entropy)
            let sealed = cipher.seal([1, 2, 3], context: [4])
            for text in [Self.composed, Self.decomposed] {
                let again = try ValueCipher(
                    opening: lock, with: .passphrase(text, rounds: 1024), entropy: entropy)
                #expect(try again.open(sealed, context: [4]) == [1, 2, 3])
            }
            #expect(throws: PropertyKeyProblem.wrong(reason: "it is another passphrase")) {
                try ValueCipher(opening: lock, with: .passphrase("cafe", rounds: 1024), entropy: entropy)
            }
        }
    }

    @Test func thereAreAsManyFormsAsThereAreSpellings() {
        #expect(CipherKey.forms(of: "plain") == [Array("plain".utf8)])
        #expect(CipherKey.forms(of: Self.composed) == [Self.composed, Self.decomposed].map { Array($0.utf8) })
        #expect(CipherKey.forms(of: Self.decomposed) == [Self.composed, Self.decomposed].map { Array($0.utf8) })
        let mixed = "\u{e9}e\u{301}"
        #expect(
            CipherKey.forms(of: mixed) == ["\u{e9}\u{e9}", mixed, "e\u{301}e\u{301}"].map { Array($0.utf8) })
    }

    @Test func fewRoundsAreReported() throws {
        for (rounds, isWeak) in [(1024, true), (1 << 14, true), (1 << 15, false)] {
            let disk = SimulatedDisk()
            let notified = Notified()
            var options = EncryptionTests.options(disk, passphrase("x", rounds: rounds))
            options.eventHandler = { notified.note($0) }
            var store = try Store(at: EncryptionTests.path, options: options)
            #expect(notified.rounds == (isWeak ? [rounds] : []))
            try store.close()
            store = try Store(at: EncryptionTests.path, options: options)
            #expect(notified.rounds == (isWeak ? [rounds, rounds] : []))
            try store.changeKey(to: .key([UInt8](repeating: 1, count: 32)))
            #expect(notified.rounds.count == (isWeak ? 2 : 0))
            try store.changeKey(to: passphrase("y"))
            #expect(notified.rounds.last == 1024)
            try store.close()
        }
    }

    private final class Notified: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var all: [Int] = []

        var rounds: [Int] { lock.withLock { all } }

        func note(_ event: StoreEvent) {
            if case .weakPassphrase(let rounds) = event { lock.withLock { all.append(rounds) } }
        }
    }

    @Test func aSecretIsOverwrittenWhenItIsForgotten() {
        var bytes: [UInt8] = [1, 2, 3]
        let others = bytes
        forget(&bytes)
        #expect(bytes == [0, 0, 0] && others == [1, 2, 3])
        let secret = SecretBytes(others)
        #expect(secret.bytes == others)
    }
}
