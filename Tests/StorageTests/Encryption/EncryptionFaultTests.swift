import MakoTestSupport
import Testing

@testable import MakoStorage

/// Encryption where something is missing or fails: keys, bytes, calls of the system.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptionFaultTests {
    private static let path = EncryptionTests.path

    private func key(_ cipher: Encryption.Cipher) throws -> CipherKey {
        try #require(CipherKey((0..<32).map { UInt8($0) }, cipher))
    }

    @Test func anInvalidNumberOfRoundsMakesNoKey() {
        // A number of rounds is a power of two.
        #expect(CipherKey(passphrase: [1, 2], salt: [3, 4], rounds: 3, .aesGCM) == nil)
        #expect(CipherKey(passphrase: [1, 2], salt: [3, 4], rounds: 1024, .aesGCM) != nil)
    }

    /// A page that cannot be encrypted is written as zeros, never as plain text.
    @Test(arguments: Encryption.Cipher.allCases) func whatCannotBeSealedIsNotShown(cipher: Encryption.Cipher) throws {
        let key = try key(cipher)
        var text = [UInt8](repeating: 7, count: 40)
        var tag = [UInt8](repeating: 9, count: CipherKey.tagBytes)
        let nonce: [UInt8] = [1, 2, 3]
        text.withUnsafeMutableBytes { text in
            tag.withUnsafeMutableBytes { tag in
                nonce.withUnsafeBytes { nonce in
                    key.seal(
                        UnsafeRawBufferPointer(text), nonce: nonce,
                        authenticating: UnsafeRawBufferPointer(start: nil, count: 0), ciphertext: text, tag: tag)
                }
            }
        }
        #expect(text.allSatisfy { $0 == 0 } && tag.allSatisfy { $0 == 0 })
    }

    /// A box is opened whole or not at all, into as many bytes as it holds.
    @Test(arguments: Encryption.Cipher.allCases) func boxesOfAnotherLengthStayClosed(cipher: Encryption.Cipher) throws {
        let key = try key(cipher)
        let nonce = [UInt8](repeating: 5, count: CipherKey.nonceBytes)
        var box = nonce + [UInt8](repeating: 7, count: 40) + [UInt8](repeating: 0, count: CipherKey.tagBytes)
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        box.withUnsafeMutableBytes { box in
            let text = UnsafeMutableRawBufferPointer(rebasing: box[CipherKey.nonceBytes..<CipherKey.nonceBytes + 40])
            nonce.withUnsafeBytes { nonce in
                key.seal(
                    UnsafeRawBufferPointer(text), nonce: nonce, authenticating: nothing, ciphertext: text,
                    tag: UnsafeMutableRawBufferPointer(rebasing: box[(CipherKey.nonceBytes + 40)...]))
            }
        }
        func opened(_ count: Int) -> [UInt8]? {
            var message = [UInt8](repeating: 1, count: count)
            let isOpen = box.withUnsafeMutableBytes { box in
                message.withUnsafeMutableBytes { key.open(box, authenticating: nothing, into: $0) }
            }
            return isOpen ? message : nil
        }
        #expect(opened(40) == [UInt8](repeating: 7, count: 40))
        #expect(opened(39) == nil && opened(41) == nil && opened(0) == nil)
        let empty = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        #expect(!key.open(empty, authenticating: nothing, into: empty))
    }

    @Test func framesThatAreTooShortHoldNothing() throws {
        let cipher = SegmentCipher(key: try key(.aesGCM))
        for count in [0, 8, LogFrame.headerBytes - 1, LogFrame.headerBytes, LogFrame.headerBytes + 15] {
            #expect(cipher.open([UInt8](repeating: 0, count: count)) == nil)
        }
    }

    @Test func aKeyIsOnlyChangedWhereWritingIsAllowed() throws {
        let disk = SimulatedDisk()
        let options = EncryptionTests.options(disk, TestKeys.encryption(0))
        let store = try Store(at: Self.path, options: options)
        try EncryptionTests.fill(store, 0..<10)
        try store.close()
        #expect(throws: StorageError.closed(path: Self.path)) { try store.changeKey(to: TestKeys.encryption(1)) }
        var reading = options
        reading.readOnly = true
        let reader = try Store(at: Self.path, options: reading)
        let error = #expect(throws: StorageError.self) { try reader.changeKey(to: TestKeys.encryption(1)) }
        if case .readOnly? = error {} else { Issue.record("\(String(describing: error))") }
        try reader.close()
        try EncryptionTests.check(Store(at: Self.path, options: options), 0..<10)
    }

    /// Whichever call fails while the key is changed: the file opens with the old one or with the new.
    @Test func aChangeThatFailsLeavesOneOfTheKeys() throws {
        func made() throws -> (SimulatedDisk, Store) {
            let disk = SimulatedDisk()
            let store = try Store(at: Self.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
            try EncryptionTests.fill(store, 0..<10)
            return (disk, store)
        }
        let (whole, other) = try made()
        let begin = whole.callCount
        try other.changeKey(to: TestKeys.encryption(1))
        let calls = whole.callCount - begin
        #expect(calls > 1)
        for call in 0..<calls {
            let (disk, store) = try made()
            disk.inject(.inputOutput, atCall: disk.callCount + call)
            let error = #expect(throws: StorageError.self) { try store.changeKey(to: TestKeys.encryption(1)) }
            if case .io? = error {} else { Issue.record("call \(call): \(String(describing: error))") }
            disk.clearFaults()
            disk.endProcess()
            let (again, _) = try TestKeys.open(
                with: [0, 1], .aesGCM, EncryptionTests.options(disk, nil)
            ) { try Store(at: Self.path, options: $0) }
            try EncryptionTests.check(again, 0..<10)
            try again.close()
            withExtendedLifetime(store) {}
        }
    }

    /// An encrypted file takes the name of the one that a reader follows without a key.
    @Test func aReaderWithoutAKeyStopsAtAnEncryptedFile() throws {
        let disk = SimulatedDisk()
        let writer = try Store(at: Self.path, options: EncryptionTests.options(disk, nil))
        try EncryptionTests.fill(writer, 0..<10)
        var reading = EncryptionTests.options(disk, nil)
        reading.readOnly = true
        let reader = try Store(at: Self.path, options: reading)
        try writer.close()
        let other = try Store(at: "d/other.mako", options: EncryptionTests.options(disk, TestKeys.encryption(0)))
        try EncryptionTests.fill(other, 0..<20)
        try other.close()
        try disk.rename("d/other.mako", to: Self.path)
        #expect(throws: StorageError.encrypted(path: Self.path)) { try reader.refresh() }
        try EncryptionTests.check(reader, 0..<10)
    }

    /// Both copies of the header are damaged, and the lock of the key is not: the right key opens it, another does not.
    @Test func salvageTriesTheLockOfADamagedHeader() throws {
        let disk = SimulatedDisk()
        let options = EncryptionTests.options(disk, TestKeys.encryption(0))
        let store = try Store(at: Self.path, options: options)
        try EncryptionTests.fill(store, 0..<300)
        try store.close()
        for copy in 0..<FileHeader.copies { disk.flipBit(0, inByte: copy * pageBytes + 97, of: Self.path) }
        let wrong = EncryptionTests.options(disk, TestKeys.encryption(1))
        #expect(throws: StorageError.self) {
            try Store.salvage(from: Self.path, to: "d/saved.mako", options: wrong)
        }
        #expect(!disk.exists("d/saved.mako"))
        _ = try Store.salvage(from: Self.path, to: "d/saved.mako", options: options)
        try EncryptionTests.check(Store(at: "d/saved.mako", options: options), 0..<300)
    }
}

/// In any build: errors for the key of encrypted properties.
@Suite struct PropertyKeyTests {
    @Test func eachProblemSaysWhatToDo() {
        let problems: [(PropertyKeyProblem, String)] = [
            (.missing, "give it as DatabaseOptions.propertyKey"), (.wrong(reason: "it is short"), "it is short"),
            (.damaged, "restore a backup"), (.unreadable(reason: "it ends early"), "cannot be read: it ends early"),
            (.unavailable, "the package trait Encryption"),
        ]
        for (problem, words) in problems { #expect("\(problem)".contains(words)) }
    }
}
