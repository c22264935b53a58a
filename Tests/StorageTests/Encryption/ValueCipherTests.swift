import MakoStorage
import Testing

/// Single values as sealed boxes, under keys that a database knows again.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct ValueCipherTests {
    private static let entropy = SeededEntropy(seed: 7)
    private static let keys: [PropertyKey] = [
        .key([UInt8](repeating: 1, count: 32)), .key([UInt8](repeating: 2, count: 32)),
        .passphrase("one", rounds: 1024), .passphrase("two", rounds: 1024),
    ]

    private static func made(_ key: PropertyKey) throws -> (cipher: ValueCipher, lock: [UInt8]) {
        try ValueCipher.make(for: key, entropy: entropy)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000, 100_000]) func aValueComesBack(_ count: Int) throws {
        let (cipher, lock) = try Self.made(Self.keys[0])
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let sealed = cipher.seal(value, context: [1, 2])
        #expect(sealed.count == count + ValueCipher.overhead)
        #expect(try cipher.open(sealed, context: [1, 2]) == value)
        let again = try ValueCipher(opening: lock, with: Self.keys[0], entropy: Self.entropy)
        #expect(try again.open(sealed, context: [1, 2]) == value)
        if count > 15 {
            let isPlain = sealed.indices.dropLast(8).contains { sealed[$0..<$0 + 8].elementsEqual(value[8..<16]) }
            #expect(!isPlain)
        }
    }

    @Test func noTwoSealsAreAlike() throws {
        let (cipher, _) = try Self.made(Self.keys[0])
        let sealed = (0..<200).map { _ in cipher.seal([1, 2, 3], context: []) }
        #expect(Set(sealed).count == 200)
        #expect(Set(sealed.map { Array($0.dropFirst().prefix(12)) }).count == 200)
    }

    @Test func aValueOpensInItsPlaceOnly() throws {
        let (cipher, _) = try Self.made(Self.keys[0])
        let sealed = cipher.seal([1, 2, 3], context: [1, 0, 2, 0])
        for context in [[], [1], [1, 0, 2, 1], [1, 0, 2, 0, 0]] as [[UInt8]] {
            #expect(throws: PropertyKeyProblem.damaged) { try cipher.open(sealed, context: context) }
        }
    }

    @Test func everyBitCounts() throws {
        let (cipher, _) = try Self.made(Self.keys[0])
        let sealed = cipher.seal([1, 2, 3], context: [4])
        for bit in 0..<sealed.count * 8 {
            var bytes = sealed
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: PropertyKeyProblem.damaged, "bit \(bit)") { try cipher.open(bytes, context: [4]) }
        }
        for count in 0..<sealed.count {
            #expect(throws: PropertyKeyProblem.damaged) { try cipher.open(Array(sealed[..<count]), context: [4]) }
        }
    }

    @Test func aLockOpensWithItsKeyOnly() throws {
        for (number, key) in Self.keys.enumerated() {
            let (cipher, lock) = try Self.made(key)
            let sealed = cipher.seal([9], context: [])
            for (other, wrong) in Self.keys.enumerated() where other != number {
                do throws(PropertyKeyProblem) {
                    _ = try ValueCipher(opening: lock, with: wrong, entropy: Self.entropy)
                    Issue.record("\(wrong) opened what \(key) had locked")
                } catch {
                    guard case .wrong = error else { throw error }
                }
            }
            // Another database, another key.
            let second = try Self.made(key)
            #expect(second.lock != lock)
            #expect(throws: PropertyKeyProblem.damaged) { try second.cipher.open(sealed, context: []) }
        }
    }

    @Test func aDamagedLockOpensNothing() throws {
        let (_, lock) = try Self.made(Self.keys[2])
        for place in 0..<lock.count {
            var bytes = lock
            bytes[place] ^= 0x20
            #expect(throws: PropertyKeyProblem.self, "byte \(place)") {
                try ValueCipher(opening: bytes, with: Self.keys[2], entropy: Self.entropy)
            }
        }
        for count in 0..<lock.count {
            #expect(throws: PropertyKeyProblem.damaged) {
                try ValueCipher(opening: Array(lock[..<count]), with: Self.keys[2], entropy: Self.entropy)
            }
        }
        // One that would take gigabytes of memory.
        var greedy = lock
        greedy[2] = 30
        #expect(throws: PropertyKeyProblem.damaged) {
            try ValueCipher(opening: greedy, with: Self.keys[2], entropy: Self.entropy)
        }
    }

    @Test func aKeyIsNotShown() {
        #expect("\(Self.keys[0])" == "PropertyKey(key)" && "\(Self.keys[2])" == "PropertyKey(passphrase)")
        var text = ""
        for key in Self.keys { dump(key, to: &text) }
        #expect(!text.contains("one") && !text.contains("two") && !text.contains("1, 1"))
    }
}

@Suite(.enabled(if: !Encryption.isAvailable, "needs a build without the trait Encryption"))
struct UnavailableValueCipherTests {
    @Test func theTraitIsNamed() {
        do throws(PropertyKeyProblem) {
            _ = try ValueCipher.make(for: .key([UInt8](repeating: 1, count: 32)), entropy: SystemEntropy())
            Issue.record("a cipher was made")
        } catch { #expect(error == .unavailable && "\(error)".contains("trait Encryption")) }
    }
}
