import Foundation
import MakoStorage
import MakoTestSupport
import Testing

/// Files that are not what they should be: a typed error or the right data, never a trap, never a wrong answer.
@Suite struct DamageTests {
    private static let path = ScriptRun.path
    private static let metaPages = 2..<6

    /// A database after a few commits and checkpoints, with what it may show: its latest state last.
    private struct Sample {
        var image: DiskImage
        var states: [ModelStore]
        var latest: ModelStore { states[states.count - 1] }
    }

    /// - Parameter closing: false leaves the log behind, as a process that was killed.
    private static func sample(closing: Bool, _ text: String = sampleText) throws -> Sample {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "sample", text), on: disk)
        try run.run(closing: closing)
        let image = disk.settledImage()
        run.abandon()
        return Sample(image: image, states: run.states)
    }

    private static let sampleText = """
        options log 32768
        tree t int
        put t 1..40 100b
        checkpoint
        tree u bytes
        put u 1..30 60b
        put t 50 9000b
        checkpoint
        put t 60..70 100b
        delete u 3
        """

    private enum Answer: Equatable {
        case state(ModelStore)
        case refusal(StorageError)
    }

    /// Opens the store on an image and reads everything twice over, by cursor and by `verify`.
    private static func open(_ image: DiskImage, path: String = path, readOnly: Bool = false) throws -> Answer {
        var options = StoreOptions()
        options.fileSystem = SimulatedDisk(image)
        options.background = .manual
        options.entropy = SeededEntropy(seed: 99)
        options.cacheBytes = 1 << 20
        options.readOnly = readOnly
        do {
            let store = try Store(at: path, options: options)
            let found = try store.read { try ModelStore(reading: $0) }
            _ = try store.verify()
            try store.close()
            return .state(found)
        } catch let error as StorageError {
            #expect(!error.description.isEmpty)
            return .refusal(error)
        }
    }

    private static func flip(_ image: DiskImage, _ file: String = path, byte: Int, mask: UInt8) -> DiskImage {
        var image = image
        var byteNow = image.files[file]?.bytes(at: UInt64(byte), count: 1) ?? [0]
        byteNow[0] ^= mask
        var content = image.files[file] ?? ByteImage()
        content.replace(at: UInt64(byte), with: byteNow)
        image.files[file] = content
        return image
    }

    /// Offsets in a page: all bytes with content, and every 37th of the zeros behind them. With full effort every byte.
    private static var offsets: [Int] {
        TestEffort.isFull ? Array(0..<pageBytes) : Array(0..<160) + Array(stride(from: 160, to: pageBytes, by: 37))
    }

    @Test(arguments: [true, false]) func aMetaPageDamagedInOneCopyIsSurvived(closing: Bool) throws {
        let sample = try DamageTests.sample(closing: closing)
        var wrong: [String] = []
        for page in DamageTests.metaPages {
            for offset in DamageTests.offsets {
                let byte = page * pageBytes + offset
                let damaged = DamageTests.flip(sample.image, byte: byte, mask: UInt8(1 << (offset % 8)))
                let answer = try DamageTests.open(damaged)
                if answer != .state(sample.latest) { wrong.append("page \(page), byte \(offset): \(answer)") }
                if wrong.count > 3 { break }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test(arguments: [true, false]) func aMetaPageDamagedInBothCopiesFallsBackOrIsRefused(closing: Bool) throws {
        let sample = try DamageTests.sample(closing: closing)
        var wrong: [String] = []
        var recovered = 0
        for slot in [2, 4] {
            for offset in DamageTests.offsets {
                var damaged = sample.image
                for page in [slot, slot + 1] {
                    damaged = DamageTests.flip(
                        damaged, byte: page * pageBytes + offset, mask: UInt8(1 << (offset % 8)))
                }
                switch try DamageTests.open(damaged) {
                case .state(let state):
                    // The older checkpoint with the log, or the other slot, gives the same state.
                    if state != sample.latest { wrong.append("slot \(slot), byte \(offset): an older state") }
                    recovered += 1
                case .refusal: break
                }
                if wrong.count > 3 { break }
            }
        }
        #expect(wrong.isEmpty)
        #expect(recovered > 0)
    }

    @Test(arguments: [true, false]) func bothMetaSlotsDamagedAreRefused(closing: Bool) throws {
        let sample = try DamageTests.sample(closing: closing)
        for offset in stride(from: 0, to: 120, by: 5) {
            var damaged = sample.image
            for page in DamageTests.metaPages {
                damaged = DamageTests.flip(damaged, byte: page * pageBytes + offset, mask: 0x10)
            }
            guard case .refusal = try DamageTests.open(damaged) else {
                Issue.record("byte \(offset): opened without a meta")
                return
            }
        }
    }

    @Test func theHeaderBlockIsKeptTwice() throws {
        let sample = try DamageTests.sample(closing: false)
        for offset in 0..<136 {
            for copy in 0..<2 {
                let damaged = DamageTests.flip(
                    sample.image, byte: copy * pageBytes + offset, mask: 1 << UInt8(offset % 8))
                #expect(try DamageTests.open(damaged) == .state(sample.latest), "copy \(copy), byte \(offset)")
            }
            var damaged = DamageTests.flip(sample.image, byte: offset, mask: 4)
            damaged = DamageTests.flip(damaged, byte: pageBytes + offset, mask: 4)
            guard case .refusal = try DamageTests.open(damaged) else {
                Issue.record("byte \(offset) of both copies: opened")
                return
            }
        }
    }

    @Test func everyPageDamagedIsFoundOrHarmless() throws {
        for closing in [true, false] {
            let sample = try DamageTests.sample(closing: closing)
            let size = Int(try #require(sample.image.files[DamageTests.path]).size)
            var refused = 0
            var random = SplitMix(seed: 11)
            for page in 0..<size / pageBytes {
                for _ in 0..<(TestEffort.isFull ? 200 : 12) {
                    let byte = page * pageBytes + random.below(pageBytes)
                    let damaged = DamageTests.flip(sample.image, byte: byte, mask: 1 << UInt8(random.below(8)))
                    switch try DamageTests.open(damaged) {
                    case .state(let state): #expect(state == sample.latest, "byte \(byte) gives another state")
                    case .refusal: refused += 1
                    }
                }
            }
            #expect(refused > 0)
        }
    }

    @Test func everyBlockOfTheLogDamagedIsFoundOrCostsTheLastGroupOnly() throws {
        let sample = try DamageTests.sample(closing: false)
        let logs = sample.image.files.keys.filter { $0.contains("-wal-") }.sorted()
        try #require(!logs.isEmpty)
        var random = SplitMix(seed: 12)
        var allowed = sample.states.suffix(2).map { Answer.state($0) }
        allowed.append(.state(sample.latest))
        for log in logs {
            let size = Int(try #require(sample.image.files[log]).size)
            for block in 0..<size / pageBytes {
                for _ in 0..<(TestEffort.isFull ? 300 : 40) {
                    let byte = block * pageBytes + random.below(random.chance(50) ? 200 : 4096)
                    let damaged = DamageTests.flip(sample.image, log, byte: byte, mask: 1 << UInt8(random.below(8)))
                    let answer = try DamageTests.open(damaged)
                    if case .refusal = answer { continue }
                    #expect(allowed.contains(answer), "\(log), byte \(byte)")
                }
            }
        }
    }

    /// Several groups in one segment: only the last may have been incomplete at the power cut.
    @Test func damageBeforeTheLastGroupIsNeverTakenForItsEnd() throws {
        let puts = (1...6).map { "put t \($0) 700b" }.joined(separator: "\n")
        let sample = try DamageTests.sample(closing: false, "options log 65536\ntree t int\n" + puts)
        let log = try #require(sample.image.files.keys.first { $0.contains("-wal-") })
        let bytes = try #require(sample.image.files[log]).bytes
        let blocks = (1..<bytes.count / pageBytes).filter { block in
            bytes[block * pageBytes..<(block + 1) * pageBytes].contains { $0 != 0 }
        }
        #expect(blocks.count == 7)
        var refused = 0
        for block in blocks.dropLast() {
            for byte in stride(from: 0, to: 900, by: 7) {
                let damaged = DamageTests.flip(sample.image, log, byte: block * pageBytes + byte, mask: 4)
                switch try DamageTests.open(damaged) {
                case .refusal: refused += 1
                case .state(let found): #expect(found == sample.latest, "block \(block), byte \(byte)")
                }
            }
        }
        #expect(refused > 400)
    }

    @Test func filesCutAtEveryPageAreRefusedOrWhole() throws {
        for closing in [true, false] {
            let sample = try DamageTests.sample(closing: closing)
            for file in sample.image.files.keys.sorted() {
                let size = Int(try #require(sample.image.files[file]).size)
                for length in stride(from: 0, to: size, by: pageBytes) {
                    var damaged = sample.image
                    damaged.files[file]?.resize(to: UInt64(length))
                    let answer = try DamageTests.open(damaged)
                    // An empty data file without its log cannot be distinguished from a new database.
                    if file == DamageTests.path, length == 0, damaged.files.count == 1 {
                        #expect(answer == .state(ModelStore()))
                    } else if case .state(let state) = answer {
                        #expect(
                            (state == sample.latest) as Bool,
                            "\(file) cut at \(length): \(state.difference(from: sample.latest) ?? "")")
                    }
                }
                for length in [1, 100, 4095, 4097, 8191, size - 1] {
                    var damaged = sample.image
                    damaged.files[file]?.resize(to: UInt64(length))
                    if case .state(let state) = try DamageTests.open(damaged) {
                        #expect((state == sample.latest) as Bool, "\(file) cut at \(length) gives another state")
                    }
                }
            }
        }
    }

    @Test func anEmptyFileIsANewDatabase() throws {
        #expect(try DamageTests.open(DiskImage(files: [DamageTests.path: ByteImage()])) == .state(ModelStore()))
        #expect(try DamageTests.open(DiskImage()) == .state(ModelStore()))
    }

    @Test func aMissingFileIsNotCreatedForReading() throws {
        #expect(
            try DamageTests.open(DiskImage(), readOnly: true) == .refusal(.notFound(path: DamageTests.path)))
    }

    @Test func otherFilesAreNamedForWhatTheyAreNot() throws {
        let text = Array(String(repeating: "Dear diary, nothing is a database. ", count: 300).utf8)
        for content in [text, Array(text.prefix(20)), [0], [UInt8](repeating: 0, count: 50_000)] {
            let image = DiskImage(files: [DamageTests.path: ByteImage(content)])
            guard case .refusal(.notADatabase(let path, let reason)) = try DamageTests.open(image) else {
                Issue.record("\(content.count) bytes of something else: \(try DamageTests.open(image))")
                continue
            }
            #expect(path == DamageTests.path && !reason.isEmpty)
        }
        // Nothing was written over.
        let disk = SimulatedDisk(DiskImage(files: [DamageTests.path: ByteImage(text)]))
        var options = StoreOptions()
        options.fileSystem = disk
        #expect(throws: StorageError.self) { _ = try Store(at: DamageTests.path, options: options) }
        #expect(disk.contents(of: DamageTests.path) == text)
    }

    @Test func aFileOfAnotherVersionIsNamedSo() throws {
        let sample = try DamageTests.sample(closing: true)
        var image = sample.image
        for copy in 0..<2 {
            var page = image.files[DamageTests.path]?.bytes(at: UInt64(copy * pageBytes), count: pageBytes) ?? []
            page.withUnsafeMutableBytes { $0.storeBytes(of: 7, toByteOffset: 48, as: UInt32.self) }
            ForgedChecksums.seal(page: &page, number: copy, header: page)
            image.files[DamageTests.path]?.replace(at: UInt64(copy * pageBytes), with: page)
        }
        #expect(
            try DamageTests.open(image)
                == .refusal(
                    .unsupportedVersion(path: DamageTests.path, found: 7, supported: 1)))
    }

    @Test func whatWasWrongAtOpeningIsReported() throws {
        let sample = try DamageTests.sample(closing: true)
        for page in 0..<6 {
            let damaged = DamageTests.flip(sample.image, byte: page * pageBytes + 60, mask: 1)
            var options = StoreOptions()
            options.fileSystem = SimulatedDisk(damaged)
            options.background = .manual
            let store = try Store(at: DamageTests.path, options: options)
            let findings = store.stats.recovery.findings
            #expect(findings.count == 1 && findings[0].contains("copy \(page % 2)"), "page \(page): \(findings)")
            try store.close()
        }
    }

    /// Mending writes over nothing that is the last of its kind: the power may go in the middle of it.
    @Test(arguments: 0..<6) func aPowerCutDuringTheRepairOfACopyLosesNothing(page: Int) throws {
        for closing in [true, false] {
            let sample = try DamageTests.sample(closing: closing)
            let damaged = DamageTests.flip(sample.image, byte: page * pageBytes + 60, mask: 1)
            let disk = SimulatedDisk(damaged)
            disk.startRecording()
            var options = StoreOptions()
            options.fileSystem = disk
            options.background = .manual
            options.entropy = SeededEntropy(seed: 99)
            let store = try Store(at: DamageTests.path, options: options)
            let points = disk.crashPoints()
            disk.cutPower()
            withExtendedLifetime(store) {}
            for point in points {
                for image in point.state.images(
                    CrashChoice(exhaustiveBits: 3, structuredUnits: 4, sampled: 0, torn: 60))
                {
                    let answer = try DamageTests.open(image)
                    guard answer == .state(sample.latest) else {
                        Issue.record("page \(page), power cut before call \(point.call): \(answer)")
                        return
                    }
                }
            }
        }
    }

    @Test func aDirectoryIsRefused() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for readOnly in [true, false] {
            var options = StoreOptions()
            options.readOnly = readOnly
            do throws(StorageError) {
                _ = try Store(at: directory.path, options: options)
                Issue.record("a directory was opened")
            } catch {
                switch error {
                case .notADatabase, .io: #expect(error.description.contains(directory.path))
                default: Issue.record("\(error)")
                }
            }
        }
        do throws(StorageError) {
            _ = try Store(at: directory.path + "/missing/x.mako")
            Issue.record("a database was made in a missing directory")
        } catch {
            #expect(error.description.contains("missing/x.mako cannot be created: its directory does not exist"))
        }
    }

    @Test func aForeignLogIsRefusedAndAMissingOneIsAnError() throws {
        let first = try DamageTests.sample(closing: false)
        let logs = first.image.files.keys.filter { $0 != DamageTests.path }
        try #require(!logs.isEmpty)

        var missing = first.image
        for log in logs { missing.files[log] = nil }
        guard case .refusal(.logDamaged) = try DamageTests.open(missing) else {
            Issue.record("a missing log was not missed: \(try DamageTests.open(missing))")
            return
        }

        // Another database of another seed, with a log of the same names.
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "other", DamageTests.sampleText), on: disk, seed: 5)
        try run.run(closing: false)
        let other = disk.settledImage()
        run.abandon()
        var foreign = first.image
        for log in logs { foreign.files[log] = other.files[log] }
        guard case .refusal(.logDamaged) = try DamageTests.open(foreign) else {
            Issue.record("a foreign log was taken: \(try DamageTests.open(foreign))")
            return
        }

        // A foreign log beside a database that was closed and has none is ignored, and not destroyed.
        var beside = try DamageTests.sample(closing: true).image
        let before = other.files
        for log in logs { beside.files[log] = other.files[log] }
        let quiet = SimulatedDisk(beside)
        var options = StoreOptions()
        options.fileSystem = quiet
        if (try? Store(at: DamageTests.path, options: options)) == nil {
            for log in logs { #expect(quiet.contents(of: log) == before[log]?.bytes) }
        } else {
            Issue.record("a database was opened beside a foreign log")
        }
    }

    @Test func anOlderDataFileWithANewerLogIsNotMixed() throws {
        // The data file of a moment before, put back beside the newer log.
        let disk = SimulatedDisk()
        disk.startRecording()
        let run = ScriptRun(try Script(name: "sample", DamageTests.sampleText), on: disk)
        try run.run(closing: false)
        let newest = disk.settledImage()
        var wrong: [String] = []
        for point in disk.crashPoints() {
            guard let older = point.state.image([]).files[DamageTests.path], older.size > 0 else { continue }
            var mixed = newest
            mixed.files[DamageTests.path] = older
            if case .state(let state) = try DamageTests.open(mixed), state != run.states[run.states.count - 1] {
                wrong.append(
                    "the data file of call \(point.call): \(state.difference(from: run.states[run.states.count - 1]) ?? "")"
                )
            }
        }
        run.abandon()
        #expect(wrong.prefix(3).isEmpty)
    }

    @Test func lostMisdirectedAndStalePagesAreFound() throws {
        var wrong: [String] = []
        let text = """
            options cache 65536 log 32768
            tree t int
            put t 1..60 300b
            checkpoint
            put t 1..60/3 310b
            checkpoint
            put t 61..90 300b
            delete t 5..20
            checkpoint
            reopen
            put t 1 5b
            """
        let script = try Script(name: "bad disk", text)
        let probe = SimulatedDisk(seed: 1)
        let healthy = ScriptRun(script, on: probe)
        healthy.verifies = false
        try healthy.run()
        let faults: [Fault] = [.loseWrite, .misdirectWrite(by: 4096), .misdirectWrite(by: -8192), .flipBit(1234)]
        var calls = probe.callLog.indices.filter { probe.callLog[$0] == .write || probe.callLog[$0] == .read }
        if !TestEffort.isFull { calls = calls.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) }
        for call in calls {
            for fault in probe.callLog[call] == .read ? [.staleRead, .flipBit(4321)] : faults {
                let disk = SimulatedDisk(seed: 1)
                disk.inject(fault, atCall: call)
                let run = ScriptRun(script, on: disk)
                run.verifies = false
                do {
                    try run.run()
                } catch is StorageError {
                    // Found while running: right.
                } catch {
                    wrong.append("\(fault) at call \(call): \(error)")
                }
                run.abandon()
                // A lost or misdirected log write may cost what it carried; data of no commit may never show.
                if case .state(let state) = try DamageTests.open(disk.settledImage()), !run.states.contains(state) {
                    wrong.append("\(fault) at call \(call): a state of its own")
                }
            }
        }
        #expect(wrong.prefix(3).isEmpty)
    }

    @Test func aDatabaseIsOpenForWritingOnce() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        let store = try Store(at: DamageTests.path, options: options)
        #expect(throws: StorageError.alreadyOpen(path: DamageTests.path)) {
            _ = try Store(at: DamageTests.path, options: options)
        }
        try store.close()
        let again = try Store(at: DamageTests.path, options: options)
        try again.close()
    }

    @Test func aReadOnlyStoreReadsAndRefusesToWrite() throws {
        let sample = try DamageTests.sample(closing: true)
        let disk = SimulatedDisk(sample.image)
        var options = StoreOptions()
        options.fileSystem = disk
        options.readOnly = true
        let store = try Store(at: DamageTests.path, options: options)
        #expect(try store.read { try ModelStore(reading: $0) } == sample.latest)
        do {
            _ = try store.beginWrite()
            Issue.record("a read-only store began to write")
        } catch {
            guard case .readOnly = error else {
                Issue.record("\(error)")
                return
            }
        }
        try store.close()
        #expect(disk.settledImage().fingerprint == sample.image.fingerprint)
    }
}
