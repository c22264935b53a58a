import MakoTestSupport
import Synchronization
import Testing

@testable import MakoStorage

/// Files of more than one region: each region has a bitmap of its own, and only those that changed are written.
@Suite(.serialized) struct RegionTests {
    /// Memory whose writes can be made to fail.
    private final class FailingFiles: FileSystem {
        private let inner = MemoryFileSystem()
        let fails = Atomic<Bool>(false)

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
            FailingFile(try inner.open(path, mode), self)
        }
        func remove(_ path: String) throws(FileError) { try inner.remove(path) }
        func rename(_ from: String, to: String) throws(FileError) { try inner.rename(from, to: to) }
        func list(directory: String) throws(FileError) -> [String] { try inner.list(directory: directory) }
        func syncDirectory(_ path: String) throws(FileError) {}
        func isDirectory(_ path: String) -> Bool { inner.isDirectory(path) }
        func exists(_ path: String) -> Bool { inner.exists(path) }
    }

    private final class FailingFile: File {
        private let inner: any File
        private let owner: FailingFiles

        init(_ inner: any File, _ owner: FailingFiles) {
            self.inner = inner
            self.owner = owner
        }

        var path: String { inner.path }
        func size() throws(FileError) -> UInt64 { try inner.size() }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
            try inner.read(into: buffer, at: offset)
        }
        func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
            if owner.fails.load(ordering: .relaxed) { throw FileError(operation: "write", path: path, code: 28) }
            try inner.write(buffer, at: offset)
        }
        func resize(to size: UInt64) throws(FileError) { try inner.resize(to: size) }
        func sync() throws(FileError) { try inner.sync() }
        func lock(exclusive: Bool) throws(FileError) -> Bool { try inner.lock(exclusive: exclusive) }
        func close() { inner.close() }
    }

    private static func noise(_ bytes: Int, seed: UInt64) -> [UInt8] {
        var random = SplitMix(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
            for place in stride(from: 0, to: bytes & ~7, by: 8) {
                UnsafeMutableRawBufferPointer(buffer).storeBytes(
                    of: random.next(), toByteOffset: place, as: UInt64.self)
            }
            count = bytes & ~7
        }
    }

    /// The checkpoint after a failed one writes every region that the failed one would have written.
    @Test func whatAFailedCheckpointLeftIsWrittenByTheNext() throws {
        let files = FailingFiles()
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        var store = try Store(at: "r.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        // Three values fill the first region, and the fourth lies in the second.
        for key in UInt64(0)..<4 {
            try store.write { try $0.put(RegionTests.noise(40 << 20, seed: key), for: key, in: tree) }
        }
        #expect(store.versions.lock.withLock { store.versions.space.regionCount } == 2)
        try store.checkpoint()
        // Now the second region changes, and the checkpoint that should say so fails.
        try store.write { _ = try $0.delete(3, in: tree) }
        files.fails.store(true, ordering: .relaxed)
        #expect(throws: StorageError.self) { try store.checkpoint() }
        files.fails.store(false, ordering: .relaxed)
        try store.checkpoint()
        #expect(try store.verify().findings == [])
        try store.close()
        store = try Store(at: "r.mako", options: options)
        #expect(try store.verify().findings == [])
        #expect(try store.read { try $0.count(of: tree) } == 3)
        try store.close()
    }

    /// While a retained checkpoint names a region its bitmap stays, though the checkpoints that were to release it
    /// fail.
    @Test func noRegionThatACheckpointNamesIsCutOff() throws {
        let files = FailingFiles()
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.diskReserveBytes = 0
        let store = try Store(at: "r.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in UInt64(0)..<4 {
            try store.write { try $0.put(RegionTests.noise(40 << 20, seed: key), for: key, in: tree) }
        }
        try store.checkpoint()
        try store.write { transaction in
            for key in UInt64(1)..<4 { _ = try transaction.delete(key, in: tree) }
        }
        var failures = 0
        for _ in 0..<20_000 {
            // Writes during a checkpoint fail twice after the map has given up the region.
            let isGivenUp = store.versions.lock.withLock { store.versions.space.regionCount } == 1
            let fails = isGivenUp && store.checkpointer.isRunning && failures < 2
            files.fails.store(fails, ordering: .relaxed)
            do throws(StorageError) { _ = try store.step() } catch { failures += 1 }
            files.fails.store(false, ordering: .relaxed)
            let named = max(store.checkpointer.last.regions.count, store.checkpointer.previous?.regions.count ?? 0)
            let bytes = try store.dataFile.file.size()
            try #require(bytes > SpaceMap.bitmapPage(region: named - 1, copy: 2) * UInt64(pageBytes))
            if bytes < UInt64(SpaceMap.pagesPerRegion * pageBytes) { break }
        }
        #expect(failures == 2)
        #expect(try store.dataFile.file.size() < UInt64(SpaceMap.pagesPerRegion * pageBytes))
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// Of a file of two regions one bitmap is lost, and the root of a tree that lies in both; more values than one part holds.
    @Test func aSalvageFindsWhatLiesInEveryRegion() throws {
        let disk = SimulatedDisk()
        let options = SalvageSample.options(disk)
        let store = try Store(at: SalvageSample.path, options: options)
        let (rows, values) = try store.write { tx in
            let trees = (
                try tx.createTree(named: "rows", keys: .integer), try tx.createTree(named: "values", keys: .integer)
            )
            for key in UInt64(0)..<600 { try tx.put(RegionTests.noise(80, seed: key), for: key, in: trees.0) }
            return trees
        }
        for key in UInt64(0)..<130 {
            try store.write { try $0.put(RegionTests.noise(1 << 20, seed: key), for: key, in: values) }
        }
        try store.write { tx in
            for key in UInt64(600)..<1200 { try tx.put(RegionTests.noise(80, seed: key), for: key, in: rows) }
            _ = try tx.deleteRange(0...93, in: values)
        }
        #expect(store.versions.space.regionCount == 2)
        let version = store.newest
        let root = try #require((0..<version.treeCount).map { version.trees[$0] }.first { $0.id == rows.id }).root.page
        try store.close()
        var image = disk.settledImage()
        let nothing = [UInt8](repeating: 0xa5, count: pageBytes)
        for page in [root] + (0..<3).map({ SpaceMap.bitmapPage(region: 1, copy: $0) }) {
            image.files[SalvageSample.path]?.replace(at: page * UInt64(pageBytes), with: nothing)
        }
        let outcome = try SalvageSample.salvage(image)
        for key in UInt64(0)..<1200
        where outcome.found.trees["rows"]?[.integer(key)] != RegionTests.noise(80, seed: key) {
            Issue.record("row \(key)")
        }
        #expect(outcome.found.trees["rows"]?.count == 1200)
        #expect(outcome.found.trees["values"]?.count == 36)
        for key in UInt64(94)..<130 {
            #expect(outcome.found.trees["values"]?[.integer(key)] == RegionTests.noise(1 << 20, seed: key))
        }
        #expect(outcome.report.trees.first { $0.name == "values" }?.isComplete == true)
    }

    /// A backup of a store that has outgrown its region since the last checkpoint.
    @Test func aRegionThatNoCheckpointKnowsIsBackedUp() throws {
        let files = MemoryFileSystem()
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        let store = try Store(at: "r.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.checkpoint()
        for key in UInt64(0)..<4 {
            try store.write { try $0.put(RegionTests.noise(40 << 20, seed: key), for: key, in: tree) }
        }
        #expect(store.versions.lock.withLock { store.versions.space.regionCount } == 2)
        try store.backup(to: "b.mako")
        try store.close()
        let backup = try Store(at: "b.mako", options: options)
        #expect(try backup.verify().findings == [])
        #expect(try backup.read { try $0.count(of: tree) } == 4)
        #expect(try backup.read { try $0.get(3, in: tree) } == RegionTests.noise(40 << 20, seed: 3))
        try backup.close()
    }
}
