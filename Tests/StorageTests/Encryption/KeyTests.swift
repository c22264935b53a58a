import MakoTestSupport
import Testing

@testable import MakoStorage

/// Which key opens a database, and the errors of a wrong one.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct KeyTests {
    private static let path = EncryptionTests.path

    private static func sample(_ encryption: Encryption?, closing: Bool = true) throws -> DiskImage {
        let disk = SimulatedDisk()
        let store = try Store(at: path, options: EncryptionTests.options(disk, encryption))
        try EncryptionTests.fill(store, 0..<300)
        if !closing {
            try store.checkpoint()
            try EncryptionTests.fill(store, 300..<310)
            let image = disk.settledImage()
            disk.cutPower()
            return image
        }
        try store.close()
        return disk.settledImage()
    }

    /// The error that opening throws; the files must stay unchanged.
    private static func refusal(_ image: DiskImage, _ encryption: Encryption?, readOnly: Bool = false) -> StorageError?
    {
        let disk = SimulatedDisk(image)
        var options = EncryptionTests.options(disk, encryption)
        options.readOnly = readOnly
        do throws(StorageError) {
            _ = try Store(at: path, options: options)
            return nil
        } catch {
            #expect(disk.settledImage().fingerprint == image.fingerprint)
            return error
        }
    }

    // MARK: The wrong key

    @Test(arguments: [true, false]) func aWrongKeyIsAnErrorThatSaysSo(closing: Bool) throws {
        let image = try KeyTests.sample(TestKeys.encryption(0), closing: closing)
        for readOnly in [true, false] {
            #expect(KeyTests.refusal(image, nil, readOnly: readOnly) == .encrypted(path: KeyTests.path))
            let other = KeyTests.refusal(image, TestKeys.encryption(1), readOnly: readOnly)
            #expect(other == .wrongKey(path: KeyTests.path, reason: "it is another key"))
            let text = KeyTests.refusal(image, .passphrase("abc", rounds: 1024), readOnly: readOnly)
            #expect(text == .wrongKey(path: KeyTests.path, reason: "it was locked with a key, not with a passphrase"))
            let short = KeyTests.refusal(image, .key([1, 2, 3]), readOnly: readOnly)
            #expect(short == .wrongKey(path: KeyTests.path, reason: "a key has 32 bytes, not 3"))
            #expect(KeyTests.refusal(image, TestKeys.encryption(0), readOnly: readOnly) == nil)
        }
        let passphrase = try KeyTests.sample(.passphrase("open sesame", rounds: 1024))
        let other = KeyTests.refusal(passphrase, .passphrase("open sesam", rounds: 1024))
        #expect(other == .wrongKey(path: KeyTests.path, reason: "it is another passphrase"))
        // The number of rounds is in the file.
        #expect(KeyTests.refusal(passphrase, .passphrase("open sesame", rounds: 4096)) == nil)
        let key = KeyTests.refusal(passphrase, TestKeys.encryption(0))
        #expect(key == .wrongKey(path: KeyTests.path, reason: "it was locked with a passphrase, not with a key"))
        for error in [
            StorageError.encrypted(path: "p"), .wrongKey(path: "p", reason: "r"), .notEncrypted(path: "p"),
            .encryptionUnavailable(path: "p"),
        ] {
            #expect(error.description.contains("p") && error.description.count > 30)
        }
    }

    @Test func aKeyForAPlainDatabaseIsAnError() throws {
        let image = try KeyTests.sample(nil)
        #expect(KeyTests.refusal(image, TestKeys.encryption(0)) == .notEncrypted(path: KeyTests.path))
        let store = try Store(at: KeyTests.path, options: EncryptionTests.options(SimulatedDisk(image), nil))
        #expect(!store.isEncrypted)
        #expect(throws: StorageError.notEncrypted(path: KeyTests.path)) {
            try store.changeKey(to: TestKeys.encryption(0))
        }
    }

    @Test func whatIsNoKeyMakesNoDatabase() throws {
        for encryption in [
            Encryption.key([]), .key([UInt8](repeating: 1, count: 33)), .passphrase(""), .passphrase("a", rounds: 1000),
            .passphrase("a", rounds: 512), .passphrase("a", rounds: 1 << 19), .passphrase("a", rounds: 0),
            .passphrase("a", rounds: -1024),
        ] {
            let disk = SimulatedDisk()
            #expect {
                _ = try Store(at: KeyTests.path, options: EncryptionTests.options(disk, encryption))
            } throws: {
                if case StorageError.invalidArgument = $0 { true } else { false }
            }
            #expect(try disk.list(directory: "d").isEmpty)
        }
    }

    // MARK: The header

    /// A file made to exhaust memory and time when it is opened.
    @Test func parametersOfTheDerivationAreBounded() throws {
        let image = try KeyTests.sample(.passphrase("open sesame", rounds: 1024))
        for (offset, value) in [(4, UInt8(200)), (3, 255), (2, 3), (2, 63), (2, 24)] {
            var forged = image
            try KeyTests.changeHeader(&forged) { $0[KeyRecord.offset + offset] = value }
            let begin = ContinuousClock.now
            let error = KeyTests.refusal(forged, .passphrase("open sesame"))
            guard case .corrupted(page: 0, let reason)? = error else {
                Issue.record("\(offset) = \(value): \(String(describing: error))")
                return
            }
            #expect(reason.contains("time or memory"))
            #expect(ContinuousClock.now - begin < .seconds(60))
        }
    }

    /// Whatever of the lock is changed under a right checksum: another key, not another database.
    @Test func everyByteOfTheLockCounts() throws {
        let image = try KeyTests.sample(TestKeys.encryption(0))
        for place in 0..<KeyRecord.bytes {
            var forged = image
            try KeyTests.changeHeader(&forged) { $0[KeyRecord.offset + place] ^= 1 }
            let error = KeyTests.refusal(forged, TestKeys.encryption(0))
            // Bytes 5 to 7 say nothing.
            if (5..<8).contains(place) { continue }
            #expect(error != nil, "byte \(place)")
        }
        // Another database's lock.
        var mixed = image
        let other = try #require(try KeyTests.sample(TestKeys.encryption(0)).files[KeyTests.path])
        let lock = other.bytes(at: UInt64(KeyRecord.offset), count: KeyRecord.bytes)
        try KeyTests.changeHeader(&mixed) {
            $0.replaceSubrange(KeyRecord.offset..<KeyRecord.offset + KeyRecord.bytes, with: lock)
        }
        #expect(
            KeyTests.refusal(mixed, TestKeys.encryption(0))
                == .wrongKey(path: KeyTests.path, reason: "it is another key"))
        // A file that pretends that it is not encrypted.
        var pretending = image
        try KeyTests.changeHeader(&pretending) { $0[72] &= ~4 }
        #expect(KeyTests.refusal(pretending, TestKeys.encryption(0)) == .notEncrypted(path: KeyTests.path))
        #expect(KeyTests.refusal(pretending, nil) != nil)
    }

    private static func changeHeader(_ image: inout DiskImage, _ change: (inout [UInt8]) -> Void) throws {
        for copy in 0..<FileHeader.copies {
            let place = UInt64(copy * pageBytes)
            var page = try #require(image.files[path]).bytes(at: place, count: pageBytes)
            change(&page)
            page.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { Page.seal(base, page: UInt64(copy), seed: 0) }
            }
            image.files[path]?.replace(at: place, with: page)
        }
    }

    // MARK: Pages in other places

    @Test func aPageOfAnotherPlaceOrDatabaseIsNotTaken() throws {
        let image = try KeyTests.sample(TestKeys.encryption(0))
        let file = try #require(image.files[KeyTests.path])
        let disk = SimulatedDisk(image)
        let data = try DataFile.open(disk.open(KeyTests.path, .readOnly), .secret(TestKeys.encryption(0)))
        var page = file.bytes(at: 10 * UInt64(pageBytes), count: pageBytes)
        func opens(_ number: UInt64, _ codec: PageCodec) -> Bool {
            var copy = page
            return copy.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { codec.open($0, number: number) } ?? false
            }
        }
        #expect(opens(10, data.codec))
        #expect(!opens(11, data.codec))
        let twin = DatabaseID(high: data.header.id.high, low: data.header.id.low ^ 1)
        #expect(!opens(10, PageCodec(of: twin, keys: data.keys)) || data.keys?.database == data.header.id)
        page[100] ^= 1
        #expect(!opens(10, data.codec))
    }

    /// The header of a log frame cannot be changed, even with valid checksums.
    @Test func theHeaderOfAFrameIsAuthenticated() throws {
        let image = try KeyTests.sample(TestKeys.encryption(0), closing: false)
        let log = try #require(image.files.keys.filter { $0.contains("-wal-") && !$0.hasSuffix("spare") }.max())
        let file = try #require(image.files[log])
        var bytes = file.bytes(at: 0, count: Int(file.size))
        // A frame changed into the mark of a commit that is stored elsewhere: its operations would be skipped.
        let place = try #require(
            stride(from: SegmentHeader.blockBytes, to: bytes.count, by: SegmentHeader.blockBytes).reversed().first {
                bytes[$0] != 0 && bytes[$0 + 32] == 1
            })
        bytes[place + 24] ^= 1
        ForgedChecksums.seal(log: &bytes)
        var forged = image
        forged.files[log]?.replace(at: 0, with: bytes)
        let error = KeyTests.refusal(forged, TestKeys.encryption(0))
        guard case .logDamaged(_, let reason)? = error, reason.contains("was not encrypted with this database's key")
        else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// Each use of a segment's file has a key of its own: its places are nonces, and they come again.
    @Test func eachUseOfASegmentHasItsOwnKey() throws {
        let id = DatabaseID(high: 1, low: 2)
        let (keys, _) = try DatabaseKeys.make(
            for: TestKeys.encryption(0), database: id, path: "", entropy: SeededEntropy(seed: 3))
        func sealed(_ number: UInt64, _ salt: UInt64) -> [UInt8] {
            let header = SegmentHeader(
                database: id, number: number, salt: salt, previousEnd: 0, chain: 0, segmentBytes: 1 << 20)
            var frame = [UInt8](repeating: 1, count: LogFrame.headerBytes + 40)
            frame.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { keys.segment(header).seal(base, stored: 40) }
            }
            return frame
        }
        #expect(sealed(1, 5) == sealed(1, 5))
        #expect(sealed(1, 5) != sealed(1, 6))
        #expect(sealed(1, 5) != sealed(2, 5))
    }

    /// A page as it was before, put back in its place.
    @Test func aPageOfBeforeIsFoundByItsWriteID() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: KeyTests.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
        try EncryptionTests.fill(store, 0..<2000)
        try store.checkpoint()
        let before = disk.settledImage()
        try EncryptionTests.fill(store, 0..<2000)
        try store.checkpoint()
        try EncryptionTests.fill(store, 0..<2000)
        try store.close()
        let after = disk.settledImage()
        let old = try #require(before.files[KeyTests.path])
        var refused = 0
        for page in UInt64(9)..<old.size / UInt64(pageBytes) {
            var image = after
            image.files[KeyTests.path]?.replace(
                at: page * UInt64(pageBytes), with: old.bytes(at: page * UInt64(pageBytes), count: pageBytes))
            guard image.fingerprint != after.fingerprint else { continue }
            do {
                let store = try Store(
                    at: KeyTests.path, options: EncryptionTests.options(SimulatedDisk(image), TestKeys.encryption(0)))
                try EncryptionTests.check(store, 0..<2000)
            } catch is StorageError { refused += 1 }
        }
        #expect(refused > 0)
    }

    // MARK: Another key

    @Test func theKeyCanBeChanged() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: KeyTests.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
        try EncryptionTests.fill(store, 0..<300)
        try store.backup(to: "d/old.mako")
        let pages = disk.settledImage().files[KeyTests.path]?.bytes(at: 8192, count: 20 * pageBytes)
        try store.changeKey(to: TestKeys.encryption(2))
        #expect(disk.settledImage().files[KeyTests.path]?.bytes(at: 8192, count: 20 * pageBytes) == pages)
        try EncryptionTests.fill(store, 300..<400)
        // Copies made from now on open with the new key.
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/new.mako")
        try store.close()
        let image = disk.settledImage()
        #expect(
            KeyTests.refusal(image, TestKeys.encryption(0))
                == .wrongKey(path: KeyTests.path, reason: "it was locked with a passphrase, not with a key"))
        for (path, number, count) in [
            (KeyTests.path, 2, 400), ("d/copy.mako", 2, 400), ("d/new.mako", 2, 400), ("d/old.mako", 0, 300),
        ] {
            let store = try Store(
                at: path, options: EncryptionTests.options(SimulatedDisk(image), TestKeys.encryption(number)))
            try EncryptionTests.check(store, 0..<UInt64(count))
            #expect(try store.verify().isClean)
        }
    }

    @Test func aPlainDatabaseIsEncryptedByCopyingAndBack() throws {
        let disk = SimulatedDisk()
        let plain = try Store(at: "d/plain.mako", options: EncryptionTests.options(disk, nil))
        try EncryptionTests.fill(plain, 0..<500)
        try plain.copy(to: KeyTests.path, encryption: TestKeys.encryption(0, .chaChaPoly))
        try plain.close()
        let store = try Store(at: KeyTests.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
        #expect(store.isEncrypted)
        try EncryptionTests.check(store, 0..<500)
        try store.copy(to: "d/back.mako", encryption: nil)
        try store.close()
        try EncryptionTests.check(try Store(at: "d/back.mako", options: EncryptionTests.options(disk, nil)), 0..<500)
        // In its place: with a key, with another one, and without.
        for (from, to) in [(nil, 1), (1, 0), (0, nil)] as [(Int?, Int?)] {
            let options = EncryptionTests.options(disk, from.map { TestKeys.encryption($0) })
            try Store.compact(at: "d/plain.mako", options: options, encryption: to.map { TestKeys.encryption($0) })
            let own = EncryptionTests.options(disk, to.map { TestKeys.encryption($0) })
            let store = try Store(at: "d/plain.mako", options: own)
            #expect(store.isEncrypted == (to != nil))
            try EncryptionTests.check(store, 0..<500)
            try store.close()
        }
    }

    // MARK: Backups, other processes, damage

    @Test func partsOfABackupArePutTogetherWithTheKeyOfTheNewest() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: KeyTests.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
        try EncryptionTests.fill(store, 0..<300)
        try store.backup(to: "d/base")
        try EncryptionTests.fill(store, 300..<400)
        try store.changeKey(to: TestKeys.encryption(1))
        #expect(throws: StorageError.encrypted(path: "d/base")) { try BackupPoint(of: "d/base", fileSystem: disk) }
        try store.backup(
            to: "d/part", since: BackupPoint(of: "d/base", encryption: TestKeys.encryption(0), fileSystem: disk))
        try EncryptionTests.fill(store, 400..<450)
        // An incremental backup identifies itself without a key.
        try store.backup(to: "d/part2", since: BackupPoint(of: "d/part", fileSystem: disk))
        try store.close()
        func restore(_ parts: [String], _ number: Int) throws -> Store {
            try? disk.remove("d/whole")
            try Store.restore(
                "d/base", applying: parts, to: "d/whole",
                options: EncryptionTests.options(disk, TestKeys.encryption(number)))
            return try Store(at: "d/whole", options: EncryptionTests.options(disk, TestKeys.encryption(number)))
        }
        try EncryptionTests.check(restore([], 0), 0..<300)
        try EncryptionTests.check(restore(["d/part"], 1), 0..<400)
        try EncryptionTests.check(restore(["d/part", "d/part2"], 1), 0..<450)
        #expect(throws: StorageError.wrongKey(path: "d/part2", reason: "it is another key")) {
            try restore(["d/part", "d/part2"], 0)
        }
        #expect(!disk.exists("d/whole"))
        let other = try Store(at: "d/other", options: EncryptionTests.options(disk, TestKeys.encryption(1)))
        try other.backup(to: "d/otherbase")
        try other.close()
        #expect(
            throws: StorageError.wrongBase(
                path: "d/otherbase", reason: "it is of another database than what is to be put onto it")
        ) {
            try Store.restore(
                "d/otherbase", applying: ["d/part"], to: "d/whole",
                options: EncryptionTests.options(disk, TestKeys.encryption(1)))
        }
        // The list of pages has the place of each.
        let part = try #require(disk.contents(of: "d/part"))
        for place in [part.count - 8, part.count - 1] {
            disk.flipBit(0, inByte: place, of: "d/part")
            #expect(throws: StorageError.wrongBase(path: "d/part", reason: "the list of its pages is damaged")) {
                try restore(["d/part"], 1)
            }
            disk.flipBit(0, inByte: place, of: "d/part")
        }
        disk.setContents(of: "d/part", to: Array(part.dropLast(8)))
        #expect(throws: StorageError.wrongBase(path: "d/part", reason: "it is cut short")) {
            try restore(["d/part"], 1)
        }
    }

    @Test func readersInOtherProcessesFollow() throws {
        let disk = SimulatedDisk()
        let options = EncryptionTests.options(disk, TestKeys.encryption(0))
        let store = try Store(at: KeyTests.path, options: options)
        try EncryptionTests.fill(store, 0..<100)
        var reading = options
        reading.readOnly = true
        let reader = try Store(at: KeyTests.path, options: reading)
        try EncryptionTests.check(reader, 0..<100)
        for round in UInt64(1)...6 {
            try EncryptionTests.fill(store, 100 * round..<100 * round + 100)
            if round % 2 == 0 { try store.checkpoint() }
            #expect(try reader.refresh())
            try EncryptionTests.check(reader, 0..<100 * round + 100)
        }
        // A backup made by a reader has pages of its own under the same key.
        try reader.backup(to: "d/by-reader.mako")
        try EncryptionTests.check(try Store(at: "d/by-reader.mako", options: options), 0..<700)
    }

    @Test func whatIsDamagedIsSalvaged() throws {
        for closing in [true, false] {
            let image = try KeyTests.sample(TestKeys.encryption(0), closing: closing)
            let count = closing ? 300 : 310
            for lost in [[0], [1], [2, 3], [2, 3, 4, 5]] as [[Int]] {
                var damaged = image
                for page in lost {
                    damaged.files[KeyTests.path]?.replace(
                        at: UInt64(page * pageBytes), with: [UInt8](repeating: 7, count: pageBytes))
                }
                let disk = SimulatedDisk(damaged)
                let options = EncryptionTests.options(disk, TestKeys.encryption(0))
                let report = try Store.salvage(from: KeyTests.path, to: "d/new.mako", options: options)
                #expect(report.trees.reduce(0) { $0 + $1.records } == UInt64(count), "\(lost)")
                let store = try Store(at: "d/new.mako", options: options)
                #expect(store.isEncrypted)
                if lost.count < 4 { try EncryptionTests.check(store, 0..<UInt64(count)) }
            }
            // Both copies of the header, but not all of them: the lock is still there.
            var damaged = image
            for copy in 0..<2 {
                damaged.files[KeyTests.path]?.replace(at: UInt64(copy * pageBytes + 88), with: [9, 9, 9])
            }
            let disk = SimulatedDisk(damaged)
            let options = EncryptionTests.options(disk, TestKeys.encryption(0))
            _ = try Store.salvage(from: KeyTests.path, to: "d/new.mako", options: options)
            try EncryptionTests.check(try Store(at: "d/new.mako", options: options), 0..<UInt64(count))
            // Both copies as a whole: nothing can be read, and the error reports it.
            for copy in 0..<2 {
                damaged.files[KeyTests.path]?.replace(
                    at: UInt64(copy * pageBytes), with: [UInt8](repeating: 0, count: pageBytes))
            }
            #expect(throws: StorageError.self) {
                try Store.salvage(
                    from: KeyTests.path, to: "d/new.mako",
                    options: EncryptionTests.options(SimulatedDisk(damaged), TestKeys.encryption(0)))
            }
        }
        let image = try KeyTests.sample(TestKeys.encryption(0))
        for (encryption, error) in [
            (nil, StorageError.encrypted(path: KeyTests.path)),
            (TestKeys.encryption(1), .wrongKey(path: KeyTests.path, reason: "it is another key")),
        ] {
            #expect(throws: error) {
                try Store.salvage(
                    from: KeyTests.path, to: "d/new.mako",
                    options: EncryptionTests.options(SimulatedDisk(image), encryption))
            }
        }
    }

    /// With the right key, damage is damage.
    @Test func damageIsNotTakenForAWrongKey() throws {
        var image = try KeyTests.sample(TestKeys.encryption(0))
        let pages = try #require(image.files[KeyTests.path]).size / UInt64(pageBytes)
        for page in 9..<pages {
            image.files[KeyTests.path]?.replace(at: page * UInt64(pageBytes) + 50, with: [1, 2, 3, 4])
        }
        let error = KeyTests.refusal(image, TestKeys.encryption(0))
        guard case .corrupted? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func pagesAndLogAreShownWithTheKey() throws {
        let image = try KeyTests.sample(TestKeys.encryption(0), closing: false)
        let disk = SimulatedDisk(image)
        let inspection = try PageInspection(path: KeyTests.path, encryption: TestKeys.encryption(0), fileSystem: disk)
        var entries = 0
        for page in 9..<inspection.pageCount {
            let found = try inspection.page(page)
            if found.problem == nil && found.use == .inUse {
                entries += found.header.typeName == "integerLeaf" ? found.entries.count : 0
            }
        }
        #expect(entries == 300)
        #expect(throws: StorageError.encrypted(path: KeyTests.path)) {
            try PageInspection(path: KeyTests.path, fileSystem: disk)
        }
        func frames(_ encryption: Encryption?, operations: Bool) throws -> [FrameDescription] {
            var frames: [FrameDescription] = []
            try LogInspection.log(
                of: KeyTests.path, encryption: encryption, fileSystem: disk, operations: operations, segment: { _ in },
                frame: { frames.append($0) })
            return frames
        }
        let read = try frames(TestKeys.encryption(0), operations: true)
        #expect(read.last?.operations?.count == 10)
        let blind = try frames(nil, operations: false)
        #expect(blind.count == read.count && blind.allSatisfy { $0.isWhole && $0.operations == nil })
        #expect(throws: StorageError.encrypted(path: KeyTests.path)) { try frames(nil, operations: true) }
    }

    /// Numbers that keep nonces apart do not begin again.
    @Test func writeIDsEndBeforeTheyRepeat() throws {
        var image = try KeyTests.sample(TestKeys.encryption(0))
        try KeyTests.changeHeader(&image) { bytes in
            bytes.withUnsafeMutableBytes {
                $0.storeBytes(of: PageCipher.writeIDLimit - 10, toByteOffset: 88, as: UInt64.self)
            }
        }
        let store = try Store(
            at: KeyTests.path, options: EncryptionTests.options(SimulatedDisk(image), TestKeys.encryption(0)))
        try EncryptionTests.check(store, 0..<300)
        #expect {
            try EncryptionTests.fill(store, 0..<10)
        } throws: {
            if case StorageError.invalidArgument = $0 { true } else { false }
        }
    }
}

/// Errors of a build without the trait.
@Suite(.enabled(if: !Encryption.isAvailable, "needs a build without the trait Encryption"))
struct WithoutEncryptionTests {
    @Test func encryptionWithoutTheTraitIsAnError() throws {
        let disk = SimulatedDisk()
        var options = EncryptionTests.options(disk, TestKeys.encryption(0))
        #expect(throws: StorageError.encryptionUnavailable(path: EncryptionTests.path)) {
            try Store(at: EncryptionTests.path, options: options)
        }
        options.encryption = nil
        try Store(at: EncryptionTests.path, options: options).close()
        options.encryption = TestKeys.encryption(0)
        #expect(throws: StorageError.notEncrypted(path: EncryptionTests.path)) {
            try Store(at: EncryptionTests.path, options: options)
        }
    }
}
