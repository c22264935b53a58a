import MakoTestSupport
import Testing

@testable import MakoStorage

/// Files that come into being, and others that want the same name at the same moment.
@Suite struct NewFileTests {
    private static let path = "d/s.mako"

    private func options(_ files: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.logSegmentBytes = 32 << 10
        options.cacheBytes = 1 << 20
        return options
    }

    private func put(_ key: UInt64, _ store: Store) throws {
        try store.write { tx in
            let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
            try tx.put([UInt8](repeating: 1, count: 500), for: key, in: tree)
        }
    }

    private func keys(_ files: any FileSystem, _ path: String = path) throws -> [UInt64] {
        let store = try Store(at: path, options: options(files))
        defer { try? store.close() }
        return try store.read { view in
            guard let tree = view.tree(named: "t") else { return [] }
            return try (0..<100).filter { try view.get(UInt64($0), in: tree) != nil }.map { UInt64($0) }
        }
    }

    #if os(Linux) || os(macOS)
        /// A process that is about to end makes no more files of what it has not finished, and others as before.
        @Test func noFileIsMadeBehindTheRemoval() async {
            await #expect(processExitsWith: .success) {
                let files = MemoryFileSystem()
                let unfinished = try TemporaryFile.make(for: "d/s.mako", on: files, access: nil)
                UnfinishedFiles.removeAtEnd()
                for name in [unfinished.path + "-wal-1", "d/s.mako-wal-1"] {
                    do throws(FileError) {
                        _ = try UnfinishedFiles.whileUnfinished(name) { () throws(FileError) in
                            try files.open(name, .create)
                        }
                    } catch { #expect(name.hasPrefix(unfinished.path)) }
                }
                #expect(try files.list(directory: "d") == ["s.mako-wal-1"])
                #expect(throws: StorageError.self) {
                    try TemporaryFile.make(for: "d/t.mako", on: files, access: nil)
                }
            }
        }
    #endif

    /// Makes a database with one row, which another process closed.
    private func make(_ files: any FileSystem, _ path: String = path, row: UInt64 = 1) throws {
        let store = try Store(at: path, options: options(files))
        try put(row, store)
        try store.close()
    }

    private func temporaryFiles(_ files: any FileSystem) throws -> [String] {
        try files.list(directory: "d").filter { $0.contains("-new-") }
    }

    // MARK: Replaced files

    /// A database that was cut to nothing stays what it is: only opening makes a new one of an empty file.
    @Test func anEmptyFileIsNotCompacted() throws {
        let files = MemoryFileSystem()
        try files.open(Self.path, .create).close()
        #expect(throws: StorageError.notADatabase(path: Self.path, reason: "it is empty")) {
            try Store.compact(at: Self.path, options: self.options(files))
        }
        #expect(try files.list(directory: "d") == ["s.mako"])
        #expect(try files.open(Self.path, .readOnly).size() == 0)
        try make(files)
        #expect(try keys(files) == [1])
    }

    @Test func aWriterThatWaitedForACompactionWritesToTheNewFile() throws {
        let files = HookedFiles()
        try make(files.inner)
        files.once("lock", Self.path) { try Store.compact(at: Self.path, options: self.options(files.inner)) }
        let store = try Store(at: Self.path, options: options(files))
        #expect(files.hasRun)
        try put(2, store)
        try store.close()
        #expect(try keys(files.inner) == [1, 2])
    }

    @Test func aReaderThatOpensDuringACompactionReadsTheNewFile() throws {
        let files = HookedFiles()
        try make(files.inner)
        files.once("pin", Self.path) {
            try Store.compact(at: Self.path, options: self.options(files.inner))
            try self.make(files.inner, row: 2)
        }
        var reading = options(files)
        reading.readOnly = true
        let store = try Store(at: Self.path, options: reading)
        #expect(files.hasRun)
        #expect(try store.read { try $0.get(2, in: #require($0.tree(named: "t"))) } != nil)
        try store.close()
    }

    @Test func anEmptyFileThatBecameADatabaseMeanwhileIsNotReplaced() throws {
        let files = HookedFiles()
        try files.inner.open(Self.path, .create).close()
        files.once("lock", Self.path) { try self.make(files.inner) }
        let store = try Store(at: Self.path, options: options(files))
        try put(2, store)
        try store.close()
        #expect(try keys(files.inner) == [1, 2])
    }

    // MARK: Created files

    @Test(arguments: ["open", "rename"])
    func aDatabaseThatAnotherProcessMadeMeanwhileIsOpened(operation: String) throws {
        let files = HookedFiles()
        files.once(operation, Self.path + "-new-") { try self.make(files.inner) }
        let store = try Store(at: Self.path, options: options(files))
        #expect(files.hasRun)
        try put(2, store)
        try store.close()
        #expect(try keys(files.inner) == [1, 2])
        #expect(try temporaryFiles(files.inner).isEmpty)
    }

    enum Result: String, CaseIterable, CustomTestStringConvertible {
        case backup, part, copy, restore, salvage
        var testDescription: String { rawValue }
    }

    private func make(_ result: Result, at path: String, _ files: any FileSystem) throws {
        switch result {
        case .backup, .part, .copy:
            let store = try Store(at: "d/source.mako", options: options(files))
            defer { try? store.close() }
            switch result {
            case .part: try store.backup(to: path, since: BackupPoint(of: "d/base.mako", fileSystem: files))
            case .copy: try store.copy(to: path)
            default: try store.backup(to: path)
            }
        case .restore: try Store.restore("d/base.mako", applying: [], to: path, options: options(files))
        case .salvage: _ = try Store.salvage(from: "d/source.mako", to: path, options: options(files))
        }
    }

    private func makeSources(_ files: any FileSystem) throws {
        let store = try Store(at: "d/source.mako", options: options(files))
        try put(1, store)
        try store.backup(to: "d/base.mako")
        try store.close()
    }

    @Test(arguments: Result.allCases)
    func aResultReplacesNoFileThatAppearedMeanwhile(result: Result) throws {
        let files = HookedFiles()
        try makeSources(files.inner)
        try make(result, at: "d/first", files)
        #expect(files.inner.exists("d/first"))
        files.once("rename", "d/second-new-") {
            let file = try files.inner.open("d/second", .createNew)
            try writeBytes(file, Array("another's".utf8), count: 9, at: 0)
            file.close()
        }
        do {
            try make(result, at: "d/second", files)
            Issue.record("the file was replaced")
        } catch { #expect("\(error)".contains("exists already"), "\(error)") }
        #expect(files.hasRun)
        let file = try files.inner.open("d/second", .readOnly)
        #expect(try file.size() == 9)
        #expect(try temporaryFiles(files.inner).isEmpty)
    }

    @Test func whatACrashLeftIsRemovedAndNothingElse() throws {
        let files = MemoryFileSystem()
        let left = ["-new-0123456789abcdef", "-new-0123456789abcdef-wal-3", "-new-fedcba9876543210-wal-spare"]
        let others = [
            "-new", "-new-1", "-new-notes", "-new-0123456789ABCDEF", "-new-0123456789abcdef0",
            "-new-0123456789abcdef.txt",
            "x-new-0123456789abcdef", "-salvage", "-new-00000000000000aa", "-new-00000000000000aa-wal-1",
        ]
        for name in left + others { try files.open(Self.path + name, .create).close() }
        let running = try files.open(Self.path + "-new-00000000000000aa", .readWrite)
        #expect(try running.lock(exclusive: true))
        try make(files)
        #expect(left.allSatisfy { !files.exists(Self.path + $0) })
        #expect(others.allSatisfy { files.exists(Self.path + $0) })
        running.close()
    }

    // MARK: Paths

    @Test func anEmptyPathIsAnError() throws {
        let files = MemoryFileSystem()
        #expect(throws: StorageError.invalidArgument("the path of a database file is empty; give the file a name")) {
            _ = try Store(at: "", options: options(files))
        }
        #expect(try files.list(directory: ".").isEmpty)
    }

    @Test func aZeroByteInAPathIsAnError() throws {
        let refused = StorageError.invalidArgument(
            "the path of a database file has a zero byte; give a path without it")
        let files = MemoryFileSystem()
        #expect(throws: refused) { _ = try Store(at: "s.mako\0.old", options: options(files)) }
        let store = try Store.inMemory()
        #expect(throws: refused) { _ = try store.copy(to: "copy.mako\0.old", on: files, progress: { _ in }) }
        #expect(throws: refused) { _ = try Store.compact(at: "s.mako\0.old", options: options(files)) }
        #expect(try files.list(directory: ".").isEmpty)
        try store.close()
    }

    @Test func aTildeThatNoShellReplacedGetsAHint() throws {
        do {
            _ = try Store(at: "~/no such directory/s.mako")
            Issue.record("it was opened")
        } catch { #expect("\(error)".contains("'~' means the home directory in shells alone"), "\(error)") }
    }

    // MARK: Remaining files

    /// Killed before each call of a first commit, then opened and closed: only the data file is left.
    @Test func openingAndClosingAfterACrashLeavesNoLog() throws {
        var call = 0
        var logs = 0
        while true {
            let disk = SimulatedDisk()
            try make(disk)
            let store = try Store(at: Self.path, options: options(disk))
            let start = disk.callCount
            disk.inject(.crashBefore, atCall: start + call)
            try? put(2, store)
            let isOver = disk.callCount <= start + call
            let image = disk.settledImage()
            withExtendedLifetime(store) { disk.cutPower() }
            let after = SimulatedDisk(image)
            if image.files.count > 1 { logs += 1 }
            try Store(at: Self.path, options: options(after)).close()
            #expect(try after.list(directory: "d") == ["s.mako"], "killed before call \(call)")
            if isOver { break }
            call += 1
        }
        #expect(logs > 0)
    }
}

/// Files in memory at one of whose calls something else happens first.
private final class HookedFiles: PassingFileSystem, @unchecked Sendable {
    let inner: any FileSystem = MemoryFileSystem()
    // Used by one thread.
    private var hook: (operation: String, prefix: String, body: () throws -> Void)?
    private(set) var hasRun = false

    /// Has something done before the first call of a kind for a path that begins so.
    func once(_ operation: String, _ prefix: String, _ body: @escaping () throws -> Void) {
        hasRun = false
        hook = (operation, prefix, body)
    }

    fileprivate func pass(_ operation: String, _ path: String) {
        guard let hook, hook.operation == operation, path.hasPrefix(hook.prefix) else { return }
        self.hook = nil
        hasRun = true
        do { try hook.body() } catch { Issue.record(error) }
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        pass("open", path)
        return HookedFile(files: self, inner: try inner.open(path, mode))
    }

    func rename(_ from: String, to: String) throws(FileError) {
        pass("rename", from)
        try inner.rename(from, to: to)
    }

    func renameExclusively(_ from: String, to: String) throws(FileError) {
        pass("rename", from)
        try inner.renameExclusively(from, to: to)
    }
}

private final class HookedFile: PassingFile {
    private let files: HookedFiles
    let inner: any File

    init(files: HookedFiles, inner: any File) {
        self.files = files
        self.inner = inner
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool {
        files.pass("lock", path)
        return try inner.lock(exclusive: exclusive)
    }

    func pin(_ number: UInt64) throws(FileError) -> Bool {
        files.pass("pin", path)
        return try inner.pin(number)
    }
}
