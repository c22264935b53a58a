import MakoStorage
import MakoTestSupport
import Testing

/// A process that dies leaves the system's cache as it is: the next one sees writes that no sync has made durable.
@Suite struct ProcessDeathTests {
    /// The open files of one process on a disk that outlives it.
    private final class ProcessFiles: FileSystem {
        private let disk: SimulatedDisk
        private let lock = Lock()
        nonisolated(unsafe) private var open: [any MakoStorage.File] = []

        init(_ disk: SimulatedDisk) { self.disk = disk }

        /// Closes every file under the process's hands.
        func die() { lock.withLock { for file in open { file.close() } } }

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
            let file = try disk.open(path, mode)
            lock.withLock { open.append(file) }
            return file
        }

        func remove(_ path: String) throws(FileError) { try disk.remove(path) }
        func rename(_ from: String, to: String) throws(FileError) { try disk.rename(from, to: to) }
        func list(directory: String) throws(FileError) -> [String] { try disk.list(directory: directory) }
        func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
        func isDirectory(_ path: String) -> Bool { disk.isDirectory(path) }
        func exists(_ path: String) -> Bool { disk.exists(path) }
    }

    private static let path = "d/s.mako"

    private func open(_ fileSystem: any FileSystem) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = fileSystem
        options.background = .manual
        options.logSegmentBytes = 32 << 10
        options.cacheBytes = 1 << 20
        return try Store(at: ProcessDeathTests.path, options: options)
    }

    /// A power cut must not take back what the second process has read, because others may have learnt of it.
    @Test(arguments: [1, 4, 12]) func whatTheNextProcessSawSurvivesAPowerCut(commits: UInt64) throws {
        let disk = SimulatedDisk(seed: commits)
        let first = ProcessFiles(disk)
        let store = try open(first)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 1...commits {
            try store.write(durability: .ordered) { try $0.put([UInt8](repeating: 1, count: 900), for: key, in: tree) }
        }
        first.die()

        let second = ProcessFiles(disk)
        let next = try open(second)
        let seen = try next.read { try ModelStore(reading: $0) }
        #expect(seen.trees["t"]?.count == Int(commits))
        for image in disk.crashState().images(CrashChoice(exhaustiveBits: 8, sampled: 32, torn: 32)) {
            let after = try open(SimulatedDisk(image))
            #expect(try after.read { try ModelStore(reading: $0) } == seen)
            #expect(try after.verify().isClean)
            try after.close()
        }
        second.die()
        withExtendedLifetime((store, next)) {}
    }

    /// The same where a transaction goes to the data file instead of the log: at whichever call a device error, and then the process, ends it.
    @Test func whatIsSeenOfALargeCommitSurvivesAPowerCut() throws {
        let first = SimulatedDisk()
        let store = try open(first)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.close()
        let image = first.settledImage()
        var seenStates = Set<Int>()
        for call in 0..<200 {
            let disk = SimulatedDisk(image, seed: UInt64(call))
            let store = try open(disk)
            let place = disk.callCount + call
            disk.inject(.persistentError(28), atCall: place)
            do {
                try store.write { tx in
                    for key in 0..<60 as Range<UInt64> {
                        try tx.put([UInt8](repeating: 7, count: 900), for: key, in: tree)
                    }
                }
            } catch is StorageError {}
            let isOver = disk.callCount <= place
            disk.endProcess()
            disk.clearFaults()
            let next = try open(disk)
            let seen = try next.read { try ModelStore(reading: $0) }
            seenStates.insert(seen.trees["t"]?.count ?? 0)
            for image in disk.crashState().images(CrashChoice(exhaustiveBits: 4, sampled: 8, torn: 4)) {
                let after = try open(SimulatedDisk(image))
                #expect(try after.read { try ModelStore(reading: $0) } == seen, "call \(call)")
                try after.close()
            }
            disk.endProcess()
            withExtendedLifetime((store, next)) {}
            if isOver { break }
        }
        #expect(seenStates == [0, 60])
    }
}
