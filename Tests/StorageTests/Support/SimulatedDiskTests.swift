import MakoStorage
import MakoTestSupport
import Testing

@Suite struct SimulatedDiskTests {
    private func bytes(_ value: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }

    private func write(_ bytes: [UInt8], at offset: UInt64, to file: any File) throws {
        try bytes.withUnsafeBytes { buffer throws in try file.write(buffer, at: offset) }
    }

    private func read(_ count: Int, at offset: UInt64, from file: any File) throws -> [UInt8] {
        var result = [UInt8](repeating: 0xee, count: count)
        let got = try result.withUnsafeMutableBytes { buffer throws in try file.read(into: buffer, at: offset) }
        return Array(result.prefix(got))
    }

    /// A disk with a durable file of one value.
    private func disk(_ count: Int, sectorBytes: Int = 4096) throws -> (SimulatedDisk, any File) {
        let disk = SimulatedDisk(DiskImage(files: ["d/f": ByteImage(bytes(1, count))]), sectorBytes: sectorBytes)
        return (disk, try disk.open("d/f", .readWrite))
    }

    @Test func readsWhatWasWrittenAndEndsShortAtTheEnd() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("d/f", .createNew)
        try write(bytes(7, 5000), at: 100, to: file)
        #expect(try file.size() == 5100)
        #expect(try read(100, at: 0, from: file) == bytes(0, 100))
        #expect(try read(6000, at: 4000, from: file) == bytes(7, 1100))
        #expect(try read(10, at: 9000, from: file).isEmpty)
        try file.resize(to: 200)
        try file.resize(to: 300)
        #expect(try read(300, at: 0, from: file) == bytes(0, 100) + bytes(7, 100) + bytes(0, 100))
    }

    @Test func everySubsetOfPendingSectorsCanSurvive() throws {
        let (disk, file) = try disk(4 * 4096)
        try write(bytes(2, 4096), at: 0, to: file)
        try write(bytes(3, 4096), at: 8192, to: file)
        try write(bytes(4, 4096), at: 8192, to: file)
        let images = disk.crashState().images(CrashChoice(torn: 0))
        let found = Set(images.compactMap { $0.files["d/f"] }.map { [$0.bytes[0], $0.bytes[8192]] })
        #expect(found == [[1, 1], [2, 1], [1, 3], [2, 3], [1, 4], [2, 4]])
        #expect(images.count == 6)
    }

    @Test func durableWritesVouchForThemselvesAlone() throws {
        let (disk, file) = try disk(4 * 4096)
        try write(bytes(2, 4096), at: 0, to: file)
        try bytes(3, 4096).withUnsafeBytes { buffer throws in try file.writeDurably(buffer, at: 8192) }
        let images = disk.crashState().images(CrashChoice(torn: 0))
        #expect(
            Set(images.compactMap { $0.files["d/f"] }.map { [$0.bytes[0], $0.bytes[8192]] }) == [[1, 3], [2, 3]])
        try file.sync()
        #expect(disk.crashState().isSettled)
    }

    @Test func syncedDataIsNeverLost() throws {
        let (disk, file) = try disk(4096)
        try write(bytes(2, 3 * 4096), at: 0, to: file)
        try file.sync()
        #expect(disk.crashState().isSettled)
        try write(bytes(3, 4096), at: 4096, to: file)
        for image in disk.crashState().images(CrashChoice()) {
            let content = try #require(image.files["d/f"])
            #expect(content.size == 3 * 4096)
            #expect(content.bytes(at: 0, count: 4096) == bytes(2, 4096))
            #expect(content.bytes(at: 8192, count: 4096) == bytes(2, 4096))
        }
    }

    @Test func tornSectorsMixOldAndNewOrHoldGarbage() throws {
        let (disk, file) = try disk(4096, sectorBytes: 512)
        try write(bytes(2, 512), at: 512, to: file)
        var hasPrefix = false
        var hasGarbage = false
        for image in disk.crashState().images(CrashChoice(sampled: 0, torn: 200)) {
            let content = try #require(image.files["d/f"])
            #expect(content.bytes(at: 0, count: 512) == bytes(1, 512))
            #expect(content.bytes(at: 1024, count: 512) == bytes(1, 512))
            let sector = content.bytes(at: 512, count: 512)
            if sector.contains(where: { $0 != 1 && $0 != 2 }) {
                hasGarbage = true
            } else if sector[0] == 2, sector[511] == 1 {
                hasPrefix = true
            }
        }
        #expect(hasPrefix && hasGarbage)
    }

    @Test func sizeChangesAreLostWithoutSync() throws {
        let (disk, file) = try disk(4096)
        try file.resize(to: 3 * 4096)
        try write(bytes(5, 4096), at: 8192, to: file)
        let found = Set(
            disk.crashState().images(CrashChoice(torn: 0)).compactMap { $0.files["d/f"] }
                .map { [Int($0.size), Int($0.bytes(at: 8192, count: 1)[0])] })
        #expect(found == [[4096, 0], [12288, 0], [12288, 5]])
        try file.resize(to: 0)
        #expect(disk.crashState().images(CrashChoice(torn: 0)).contains { $0.files["d/f"]?.size == 0 })
    }

    @Test func namesAreLostWithoutDirectorySync() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("d/new", .create)
        try write(bytes(1, 10), at: 0, to: file)
        try file.sync()
        var names = Set(disk.crashState().images(CrashChoice()).map { $0.files.keys.sorted() })
        #expect(names == [[], ["d/new"]])
        try disk.syncDirectory("d")
        #expect(disk.crashState().isSettled)

        try disk.rename("d/new", to: "d/other")
        names = Set(disk.crashState().images(CrashChoice()).map { $0.files.keys.sorted() })
        #expect(names == [["d/new"], ["d/other"]])
        try disk.syncDirectory("d")
        try disk.remove("d/other")
        #expect(throws: FileError.self) { _ = try disk.open("d/other", .readWrite) }
        names = Set(disk.crashState().images(CrashChoice()).map { $0.files.keys.sorted() })
        #expect(names == [[], ["d/other"]])
        #expect(try disk.list(directory: "d").isEmpty)
    }

    @Test func errorsComeAtTheInjectedCall() throws {
        let (disk, file) = try disk(4096)
        disk.inject(.noSpace, atCall: disk.callCount + 1)
        try write(bytes(2, 10), at: 0, to: file)
        do {
            try write(bytes(3, 4 * 4096), at: 4096, to: file)
            Issue.record("the write did not fail")
        } catch let error as FileError {
            #expect(error.isNoSpace && error.operation == "write" && error.path == "d/f")
        }
        try write(bytes(4, 10), at: 0, to: file)
        disk.inject(.persistentError(28), atCall: disk.callCount)
        #expect(throws: FileError.self) { try write(bytes(3, 10), at: 0, to: file) }
        #expect(throws: FileError.self) { try write(bytes(3, 10), at: 0, to: file) }
        #expect(throws: FileError.self) { _ = try disk.open("d/g", .create) }
        #expect(try read(1, at: 0, from: file).count == 1)
        disk.clearFaults()
        try write(bytes(3, 10), at: 0, to: file)
    }

    @Test(arguments: SyncFailure.allCases) func eachKindOfSyncFailure(failure: SyncFailure) throws {
        var lost = false
        for seed in 0..<20 {
            let disk = SimulatedDisk(
                DiskImage(files: ["d/f": ByteImage(bytes(1, 2 * 4096))]), seed: UInt64(seed))
            let file = try disk.open("d/f", .readWrite)
            try write(bytes(2, 2 * 4096), at: 0, to: file)
            disk.inject(.syncFails(failure), atCall: disk.callCount)
            if failure == .reportsLate {
                try file.sync()
                #expect(throws: FileError.self) { try file.sync() }
            } else {
                #expect(throws: FileError.self) { try file.sync() }
            }
            let seen = try read(2 * 4096, at: 0, from: file)
            try file.sync()
            let left = try #require(disk.crashState().images(CrashChoice()).first?.files["d/f"]).bytes
            #expect(disk.crashState().isSettled)
            if left != bytes(2, 2 * 4096) { lost = true }
            #expect(seen == (failure == .restoresOldContent ? left : bytes(2, 2 * 4096)))
        }
        #expect(lost)
    }

    /// A failed sync may lose that a file has grown; one that succeeds later makes what was written since retrievable all the same.
    @Test func aSyncAfterAFailedOneKeepsWhatWasWrittenSince() throws {
        for seed in 0..<20 {
            let disk = SimulatedDisk(DiskImage(files: ["d/f": ByteImage(bytes(1, 4096))]), seed: UInt64(seed))
            let file = try disk.open("d/f", .readWrite)
            try write(bytes(2, 3 * 4096), at: 4096, to: file)
            disk.inject(.syncFails(.keepsNewContent), atCall: disk.callCount)
            #expect(throws: FileError.self) { try file.sync() }
            try write(bytes(3, 4096), at: 2 * 4096, to: file)
            try file.sync()
            let left = try #require(disk.crashState().image([]).files["d/f"]).bytes
            #expect(Array(left.dropFirst(2 * 4096).prefix(4096)) == bytes(3, 4096))
        }
    }

    @Test func aLyingSyncMakesNothingDurableAndALaterOneDoes() throws {
        let (disk, file) = try disk(4096)
        try write(bytes(2, 4096), at: 0, to: file)
        disk.inject(.syncLies, atCall: disk.callCount)
        try file.sync()
        #expect(disk.crashState().image([]).files["d/f"]?.bytes == bytes(1, 4096))
        try file.sync()
        #expect(disk.crashState().image([]).files["d/f"]?.bytes == bytes(2, 4096))
    }

    @Test func aLyingSyncOfADirectoryMakesNoNameDurable() throws {
        let disk = SimulatedDisk()
        _ = try disk.open("d/new", .create)
        disk.inject(.syncLies, atCall: disk.callCount)
        try disk.syncDirectory("d")
        #expect(disk.crashState().image([]).files.isEmpty)
        try disk.syncDirectory("d")
        #expect(disk.crashState().image([]).files.keys.sorted() == ["d/new"])
    }

    /// A pending write to one sector may arrive at another pending one; durable sectors stay.
    @Test func aCrashLeadsWritesAstray() throws {
        let (disk, file) = try disk(4 * 4096)
        try write(bytes(2, 4096), at: 0, to: file)
        try write(bytes(3, 4096), at: 2 * 4096, to: file)
        let images = disk.crashState().images(CrashChoice(torn: 200)).compactMap { $0.files["d/f"]?.bytes }
        #expect(images.contains { Array($0[(2 * 4096)..<(3 * 4096)]) == bytes(2, 4096) })
        #expect(images.contains { Array($0[..<4096]) == bytes(3, 4096) })
        #expect(images.allSatisfy { Array($0[4096..<(2 * 4096)]) == bytes(1, 4096) })
        #expect(images.allSatisfy { Array($0[(3 * 4096)...]) == bytes(1, 4096) })
    }

    @Test func shortAndInterruptedCallsAreCalledAgain() throws {
        let (disk, file) = try disk(2 * 4096)
        let before = disk.callCount
        disk.inject(.short(100), atCall: before)
        disk.inject(.interrupted, atCall: before + 1)
        disk.inject(.short(5000), atCall: before + 2)
        try write(bytes(2, 2 * 4096), at: 0, to: file)
        #expect(Array(disk.callLog[before...]) == [.write, .write, .write, .write])
        disk.inject(.short(1), atCall: disk.callCount)
        #expect(try read(2 * 4096, at: 0, from: file) == bytes(2, 2 * 4096))
        disk.inject(.interrupted, atCall: disk.callCount)
        try file.resize(to: 10)
        #expect(disk.callLog.suffix(2) == [.resize, .resize])
        disk.inject(.interrupted, atCall: disk.callCount)
        try file.sync()
        #expect(disk.callLog.suffix(2) == [.sync, .sync])
        #expect(disk.crashImages().allSatisfy { $0.contents(of: "d/f")?.count == 10 })
    }

    @Test func betweenTheCallsOfAShortWriteThePowerCanGo() throws {
        let (disk, file) = try disk(4096, sectorBytes: 512)
        disk.startRecording()
        disk.inject(.short(512), atCall: disk.callCount)
        try write(bytes(2, 1024), at: 0, to: file)
        let found = disk.crashPoints().map { $0.state.images(CrashChoice(torn: 0)).count }
        #expect(found == [1, 2, 4])
    }

    @Test func aCrashEndsAllCalls() throws {
        let (disk, file) = try disk(4096)
        disk.inject(.crashAfter, atCall: disk.callCount)
        #expect(throws: FileError.self) { try write(bytes(2, 4096), at: 0, to: file) }
        #expect(disk.hasCrashed)
        #expect(throws: FileError.self) { try file.sync() }
        #expect(disk.crashState().images(CrashChoice(torn: 0)).count == 2)

        let (other, second) = try self.disk(4096)
        other.inject(.crashBefore, atCall: other.callCount)
        #expect(throws: FileError.self) { try write(bytes(2, 4096), at: 0, to: second) }
        #expect(other.crashState().isSettled)
    }

    @Test func writesAreLostAndMisdirectedReadsStaleAndFlipped() throws {
        let (disk, file) = try disk(4 * 4096)
        disk.inject(.loseWrite, atCall: disk.callCount)
        try write(bytes(2, 10), at: 0, to: file)
        #expect(try read(1, at: 0, from: file) == [1])
        disk.inject(.misdirectWrite(by: 4096), atCall: disk.callCount)
        try write(bytes(2, 10), at: 0, to: file)
        #expect(try read(1, at: 0, from: file) == [1])
        #expect(try read(1, at: 4096, from: file) == [2])
        try file.sync()
        disk.inject(.staleRead, atCall: disk.callCount)
        #expect(try read(1, at: 4096, from: file) == [1])
        disk.inject(.flipBit(9), atCall: disk.callCount)
        #expect(try read(2, at: 0, from: file) == [1, 3])
        #expect(try read(2, at: 0, from: file) == [1, 1])
    }

    @Test func theSameSeedGivesTheSameDisk() throws {
        func run(_ seed: UInt64) throws -> [[UInt8]] {
            let disk = SimulatedDisk(seed: seed)
            let file = try disk.open("d/f", .create)
            try disk.syncDirectory("d")
            for block in 0..<8 { try write(bytes(UInt8(block), 4096), at: UInt64(block * 4096), to: file) }
            disk.inject(.syncFails(.keepsNewContent), atCall: disk.callCount)
            try? file.sync()
            try write(bytes(9, 20000), at: 0, to: file)
            var random = SplitMix(seed: seed)
            return (0..<10).compactMap { _ in disk.crashState().randomImage(&random).files["d/f"]?.bytes }
        }
        #expect(try run(3) == run(3))
        #expect(try run(3) != run(4))
    }

    @Test func recordedMomentsAreThoseBetweenCalls() throws {
        let (disk, file) = try disk(4096)
        disk.startRecording()
        try write(bytes(2, 4096), at: 0, to: file)
        disk.tag = 5
        try file.sync()
        let points = disk.crashPoints()
        #expect(points.map(\.tag) == [0, 5, 5])
        #expect(points.map { $0.state.images(CrashChoice(torn: 0)).count } == [1, 2, 1])
        #expect(disk.callLog == [.open, .write, .sync])
    }

    @Test func locksExcludeOtherHandles() throws {
        let (disk, file) = try disk(10)
        let other = try disk.open("d/f", .readWrite)
        #expect(try file.lock(exclusive: true))
        #expect(try !other.lock(exclusive: false))
        file.close()
        #expect(try other.lock(exclusive: false))
        #expect(throws: FileError.self) { _ = try file.size() }
    }

    @Test func manyPendingSectorsAreSampledByStructure() throws {
        let (disk, file) = try disk(40 * 4096)
        try write(bytes(2, 40 * 4096), at: 0, to: file)
        let images = disk.crashState().images(.structured)
        #expect(images.count == 82)
        let sampled = disk.crashState().images(CrashChoice(exhaustiveBits: 0, sampled: 50, torn: 0))
        #expect(sampled.count > 110)
    }
}
