import MakoStorage
import MakoTestSupport
import Testing

/// Foreign files under the names of a database's files, and changes of its files by other programs.
@Suite struct ForeignFileTests {
    private static let path = "d/s.mako"

    private func options(_ files: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.entropy = SeededEntropy(seed: 4)
        options.logSegmentBytes = 32 << 10
        options.checkpointBytes = 48 << 10
        options.cacheBytes = 1 << 20
        return options
    }

    private func fill(_ store: Store, _ keys: Range<UInt64>) throws {
        for key in keys {
            try store.write { tx in
                let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
                try tx.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree)
            }
        }
    }

    private func keys(_ store: Store) throws -> UInt64 {
        try store.read { view in try view.tree(named: "t").map { try view.count(of: $0) } ?? 0 }
    }

    /// Files whose names only look like those of log segments are ignored.
    @Test(arguments: ["007", "+7", "18446744073709551615", "1073741824", "", "x", "1 ", "-1"])
    func namesThatLookLikeSegmentsAreLeftAlone(name: String) throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        try fill(store, 0..<20)
        var image = disk.settledImage()
        disk.cutPower()
        withExtendedLifetime(store) {}
        let stray = Self.path + "-wal-" + name
        image.files[stray] = ByteImage(Array("not a log".utf8))
        for round in UInt64(1)...3 {
            let disk = SimulatedDisk(image)
            let store = try Store(at: Self.path, options: options(disk))
            #expect(try keys(store) == round * 20)
            try fill(store, round * 20..<round * 20 + 20)
            image = disk.settledImage()
            if round == 3 { try store.close() }
            #expect(disk.contents(of: stray) == Array("not a log".utf8))
            disk.cutPower()
            withExtendedLifetime(store) {}
        }
    }

    /// A file of another program under the name of a segment is neither reused nor removed.
    @Test(arguments: ["not a log", String(repeating: "a longer text ", count: 4000)], ["2", "9", "spare"])
    func aForeignFileUnderTheNameOfASegmentStays(text: String, name: String) throws {
        try checkForeignFile(text, name, isLate: false)
        try checkForeignFile(text, name, isLate: true)
    }

    /// - Parameter isLate: whether it is created while the database is open.
    private func checkForeignFile(_ text: String, _ name: String, isLate: Bool) throws {
        let disk = SimulatedDisk()
        var store = try Store(at: Self.path, options: options(disk))
        try fill(store, 0..<1)
        try store.close()
        let stray = Self.path + "-wal-" + name
        if !isLate { disk.setContents(of: stray, to: Array(text.utf8)) }
        for round in UInt64(1)...3 {
            store = try Store(at: Self.path, options: options(disk))
            if round == 1 { disk.setContents(of: stray, to: Array(text.utf8)) }
            try fill(store, round * 60..<round * 60 + 20)
            // The segment that it would make ready has another file's name.
            do { _ = try store.step() } catch { #expect(name == "spare") }
            try fill(store, round * 60 + 20..<round * 60 + 60)
            try store.suspend()
            try store.resume()
            try fill(store, 0..<1)
            if round == 2 { try store.checkpoint() }
            try store.close()
            #expect(disk.contents(of: stray) == Array(text.utf8))
        }
        #expect(try disk.list(directory: "d").filter { $0.contains("-wal-") } == ["s.mako-wal-" + name])
        #expect(try Store(at: Self.path, options: options(disk)).verify().isClean)
    }

    /// The file is truncated while it is open: reads of it report that.
    @Test func aFileThatIsCutMeanwhileIsNamed() throws {
        let disk = SimulatedDisk()
        var store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try $0.put(ValueShape(bytes: 40_000).value(seed: 1), for: 1, in: tree) }
        try store.write { try $0.put([2], for: 2, in: tree) }
        try store.close()
        store = try Store(at: Self.path, options: options(disk))
        // The leaf is in memory then.
        #expect(try store.read { try $0.get(2, in: tree) } == [2])
        let file = try disk.open(Self.path, .readWrite)
        try file.resize(to: 8 * UInt64(pageBytes))
        file.close()
        do {
            _ = try store.read { try $0.get(1, in: tree) }
            Issue.record("the value was read")
        } catch StorageError.corrupted(_, let reason) { #expect(reason.contains("the file ends before it")) }
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// Each number of the header set to an impossible value, under a valid checksum.
    @Test func headersOfImpossibleNumbersAreErrors() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        try fill(store, 0..<20)
        let image = disk.settledImage()
        disk.cutPower()
        withExtendedLifetime(store) {}
        let sound = try #require(disk.contents(of: Self.path))
        var refused = 0
        for offset in stride(from: 40, to: 120, by: 8) {
            for number in [0, 1, 2, 4096, 5000, 1 << 30, 1 << 32, 1 << 32 + 4096, 1 << 62, .max] as [UInt64] {
                // Segments are written whole before their first use, and these would fill the memory.
                if offset == 96, number % 4096 == 0, (16 << 10...1 << 32).contains(number) { continue }
                var bytes = sound
                for copy in 0..<2 {
                    bytes.withUnsafeMutableBytes {
                        $0.storeBytes(of: number, toByteOffset: copy * pageBytes + offset, as: UInt64.self)
                    }
                    Self.seal(headerCopy: copy, of: &bytes)
                }
                var damaged = image
                damaged.files[Self.path] = ByteImage(bytes)
                do {
                    let store = try Store(at: Self.path, options: options(SimulatedDisk(damaged)))
                    try fill(store, 100..<110)
                    #expect(try keys(store) == 30)
                    try store.close()
                } catch is StorageError { refused += 1 }
            }
        }
        #expect(refused > 50)
    }

    private static func seal(headerCopy copy: Int, of bytes: inout [UInt8]) {
        let place = copy * pageBytes..<(copy + 1) * pageBytes
        var page = Array(bytes[place])
        ForgedChecksums.seal(page: &page, number: copy, header: page)
        bytes.replaceSubrange(place, with: page)
    }

    @Test func aDatabaseOfUnknownFeaturesIsNotTouched() throws {
        let disk = SimulatedDisk()
        try Store(at: Self.path, options: options(disk)).close()
        let sound = try #require(disk.contents(of: Self.path))
        for (offset, readOnly, mayOpen) in [
            (79, false, false), (79, true, false), (80, false, false), (80, true, true),
        ] {
            var bytes = sound
            for copy in 0..<2 {
                bytes[copy * pageBytes + offset] = offset == 79 ? 1 : 0x80
                Self.seal(headerCopy: copy, of: &bytes)
            }
            disk.setContents(of: Self.path, to: bytes)
            var options = options(disk)
            options.readOnly = readOnly
            if mayOpen {
                try Store(at: Self.path, options: options).close()
            } else {
                let bits: UInt64 = offset == 79 ? 1 << 56 : 1 << 7
                #expect(throws: StorageError.unsupportedFeatures(path: Self.path, bits: bits)) {
                    _ = try Store(at: Self.path, options: options)
                }
            }
            #expect(disk.contents(of: Self.path) == bytes)
        }
    }

    // MARK: Others at the same time

    @Test func aFileThatGoesBeforeItIsOpenedIsMissed() throws {
        let files = WatchedFileSystem()
        try Store(at: Self.path, options: options(files)).close()
        files.before = { [files] operation, path in
            if operation == "open", path == Self.path { try? files.base.remove(path) }
        }
        #expect(throws: StorageError.notFound(path: Self.path)) {
            _ = try Store(at: Self.path, options: options(files))
        }
    }

    @Test func twoDoNotMakeTheSameDatabase() throws {
        let files = WatchedFileSystem()
        // A file of the same sort that another process is making stays that process's.
        let other = try files.base.open(Self.path + "-new-0123456789abcdef", .create)
        #expect(try other.lock(exclusive: true))
        try Store(at: Self.path, options: options(files)).close()
        #expect(try other.isNamed(other.path))
        other.close()
    }

    @Test func aDatabaseThatOthersMadeMeanwhileIsTheOneOpened() throws {
        let files = WatchedFileSystem()
        files.before = { [files] operation, path in
            guard operation == "open", path.hasPrefix(Self.path + "-new-") else { return }
            files.before = { _, _ in }
            // Under another name, so that it does not collide with the new file.
            do {
                let store = try Store(at: "d/theirs.mako", options: options(files.base))
                try fill(store, 0..<5)
                try store.close()
                try files.base.rename("d/theirs.mako", to: Self.path)
            } catch { Issue.record(error) }
        }
        let store = try Store(at: Self.path, options: options(files))
        #expect(try keys(store) == 5)
        try store.close()
    }
}

/// A file system in memory on which something happens before calls.
private final class WatchedFileSystem: FileSystem, @unchecked Sendable {
    let base = MemoryFileSystem()
    var before: (_ operation: String, _ path: String) -> Void = { _, _ in }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
        before("open", path)
        return try base.open(path, mode)
    }

    func remove(_ path: String) throws(FileError) { try base.remove(path) }
    func rename(_ from: String, to: String) throws(FileError) { try base.rename(from, to: to) }
    func list(directory: String) throws(FileError) -> [String] { try base.list(directory: directory) }
    func syncDirectory(_ path: String) throws(FileError) { try base.syncDirectory(path) }
    func isDirectory(_ path: String) -> Bool { base.isDirectory(path) }
    func exists(_ path: String) -> Bool { base.exists(path) }
}
