import MakoTestSupport
import Testing

@testable import MakoStorage

/// A reader that follows its writer, in the moments between, where the log is no longer what it should be, and on a disk that fails.
@Suite struct FollowerTests {
    private static let path = "d/s.mako"
    private static let metas = Meta.firstPage * UInt64(pageBytes)..<6 * UInt64(pageBytes)

    private func options(_ files: any FileSystem, readOnly: Bool = false, log: Int = 64 << 10) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.readOnly = readOnly
        options.logSegmentBytes = log
        options.cacheBytes = 1 << 20
        options.entropy = SeededEntropy(seed: 5)
        return options
    }

    private func writer(_ files: any FileSystem, log: Int = 64 << 10) throws -> Store {
        try Store(at: Self.path, options: options(files, log: log))
    }

    private func reader(_ files: any FileSystem) throws -> Store {
        try Store(at: Self.path, options: options(files, readOnly: true))
    }

    private func put(_ store: Store, _ key: UInt64, bytes: Int = 100) throws {
        try store.write { transaction in
            let tree = try transaction.view.tree(named: "t") ?? transaction.createTree(named: "t", keys: .integer)
            try transaction.put(ValueShape(bytes: bytes).value(seed: key), for: key, in: tree)
        }
    }

    private func count(_ store: Store) throws -> UInt64 {
        try store.read { view in
            guard let tree = view.tree(named: "t") else { return 0 }
            return try view.count(of: tree)
        }
    }

    private func content(_ store: Store) throws -> ModelStore { try store.read { try ModelStore(reading: $0) } }

    // MARK: Moments between

    /// A commit that is too large for the log is recorded in both meta pages, written one after the other behind its
    /// mark in the log.
    @Test func aLargeCommitIsSeenWholeOrNotAtAll() throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try writer(files)
        try put(writer, 0)
        try writer.checkpoint()
        try put(writer, 1)
        let reader = try reader(disk)
        nonisolated(unsafe) var seen: [UInt64] = []
        files.meddle { (call, path, bytes) throws(FileError) in
            guard call == .write, path == Self.path, Self.metas.overlaps(bytes) else { return }
            do {
                try reader.refresh()
                seen.append(try self.count(reader))
            } catch { Issue.record(error) }
        }
        try writer.write { transaction in
            let tree = try #require(transaction.view.tree(named: "t"))
            for key in 2..<400 as Range<UInt64> {
                try transaction.put(ValueShape(bytes: 300).value(seed: key), for: key, in: tree)
            }
        }
        files.meddle(nil)
        #expect(seen.first == 2 && Set(seen).isSubset(of: [2, 400]), "\(seen)")
        try reader.refresh()
        #expect(try count(reader) == 400)
        try put(writer, 500)
        #expect(try reader.refresh())
        #expect(try content(reader) == content(writer))
        #expect(try reader.verify().isClean)
    }

    /// A refresh that opens the file again, between the beginning of a copy and its snapshot, changes what is copied: all
    /// of the copy is of one commit.
    @Test(arguments: ["backup", "copy"]) func aCopyBesideARefreshIsOfOneCommit(kind: String) throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try writer(disk)
        for key in 0..<50 as Range<UInt64> { try put(writer, key) }
        try writer.checkpoint()
        let reader = try reader(files)
        nonisolated(unsafe) var isDone = false
        files.meddle { (call, _, _) throws(FileError) in
            guard call == .list, !isDone else { return }
            isDone = true
            do {
                for round in 1...3 as ClosedRange<UInt64> {
                    for key in 0..<50 as Range<UInt64> { try self.put(writer, round * 100 + key, bytes: 900) }
                    try writer.checkpoint()
                }
                #expect(try reader.refresh())
                #expect(reader.follower?.successor != nil)
            } catch { Issue.record(error) }
        }
        let report = kind == "backup" ? try reader.backup(to: "d/copy.mako") : try reader.copy(to: "d/copy.mako")
        #expect(isDone)
        files.meddle(nil)
        #expect(report.commitNumber == writer.newest.commit)
        let copy = try Store(at: "d/copy.mako", options: options(disk))
        #expect(copy.newest.commit == report.commitNumber)
        #expect(try content(copy) == content(writer))
        #expect(try copy.verify().isClean)
        try copy.close()
        try reader.close()
    }

    // MARK: The file of a follower

    /// A file of another program under the name of the next segment is not overwritten.
    @Test func aFollowerLeavesFilesOfOthersAlone() throws {
        let disk = SimulatedDisk()
        let store = try writer(disk)
        try put(store, 1)
        try store.checkpointer.lock.withLock { () throws(StorageError) in try store.finish() }
        let place = LogPlace(store.newest)
        try store.markFollower(true)
        store.abandon()
        let file = try FollowerFile(at: Self.path, place: place, options: options(disk))
        let (frames, end) = try file.promotion()
        let header = try #require(SegmentHeader(encoded: frames.header))
        let segment = LogFile.segmentPath(Self.path, header.number)
        let verified = try #require(try file.verify([frames], from: place, to: end))
        try disk.open(segment, .create).write(Array("a letter".utf8), at: 0)
        do {
            try file.append(verified)
            Issue.record("it wrote over a file of another program")
        } catch {
            guard case .logDamaged(let path, let reason) = error else { throw error }
            #expect(path == Self.path && reason.hasPrefix(segment))
        }
        #expect(disk.contents(of: segment) == Array("a letter".utf8))
        try disk.remove(segment)
        try file.append(verified)
        #expect(file.place == end)
        file.close()
    }

    /// Commits longer than one read, and commits that end exactly at their segment's end.
    @Test func framesOfEveryLengthAreFollowed() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk, log: 1 << 20)
        try put(writer, 0)
        let reader = try reader(disk)
        for (key, bytes) in [(1, 100_000), (2, 50), (3, 200_000), (4, 70_000), (5, 66_000)] as [(UInt64, Int)] {
            try put(writer, key, bytes: bytes)
            #expect(try reader.refresh())
            #expect(try content(reader) == content(writer), "\(bytes)")
        }
        for (key, bytes) in [(6, 90_000), (7, 30), (8, 150_000)] as [(UInt64, Int)] {
            try put(writer, key, bytes: bytes)
        }
        #expect(try reader.refresh())
        #expect(try content(reader) == content(writer))
    }

    /// The last frame of a segment may end with it.
    @Test func aSegmentThatIsFullToTheLastByteIsFollowed() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk, log: 1)
        let segmentBytes = writer.dataFile.header.segmentBytes
        try put(writer, 0)
        let reader = try reader(disk)
        var full = 0
        for key in 1..<400 as Range<UInt64> where full < 2 {
            let position = writer.newest.log.lsn
            let block = UInt64(SegmentHeader.blockBytes)
            let left = segmentBytes - (position + block - 1) / block * block % segmentBytes
            // The rest of the segment, without the frame's header and that of the operation.
            let bytes = left <= 2 * block ? Int(left) - LogFrame.headerBytes - 17 : 500
            try put(writer, key, bytes: bytes)
            if writer.newest.log.lsn % segmentBytes == 0 { full += 1 }
            #expect(try reader.refresh())
            #expect(try count(reader) == key + 1)
            #expect(try !reader.refresh())
        }
        #expect(full == 2)
        #expect(try content(reader) == content(writer))
    }

    /// Each time that the reader has found a checkpoint, the writer has replaced it: the reader gives up in the end,
    /// and reports that the file is in use.
    @Test func aWriterThatIsAlwaysFasterIsWaitedForNotForEver() throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try writer(disk)
        try put(writer, 0)
        try writer.checkpoint()
        files.meddle { (call, _, _) throws(FileError) in
            guard call == .pin else { return }
            do {
                for key in 1...2 as ClosedRange<UInt64> {
                    try self.put(writer, key)
                    try writer.checkpoint()
                }
            } catch { Issue.record(error) }
        }
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) { _ = try self.reader(files) }
        files.meddle(nil)
        #expect(try count(reader(files)) == 3)
    }

    /// What one attempt to open misses, because the writer removes it meanwhile, the next one may miss, too.
    @Test func aReaderThatIsTooSlowTwiceTriesAgain() throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try writer(disk)
        try put(writer, 0)
        nonisolated(unsafe) var missing = 0
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .open, path.contains("-wal-"), missing < 2 else { return }
            missing += 1
            // The first segment goes after its checkpoint, which the reader has seen; the second one with another.
            if missing == 2 {
                do {
                    try self.put(writer, 1)
                    try writer.checkpoint()
                } catch { Issue.record(error) }
            }
            throw FileError(operation: "open", path: path, code: 2)
        }
        #expect(try count(reader(files)) == 2)
        #expect(missing == 2)
    }

    /// Both copies of the header look damaged to a reader that reads one while it is written, and then the other.
    @Test func aHeaderThatIsBeingWrittenIsReadAgain() throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try writer(disk)
        try put(writer, 0)
        let reader = try reader(files)
        try put(writer, 1)
        let whole = try #require(disk.contents(of: Self.path))
        nonisolated(unsafe) var openings = 0
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .open, path == Self.path else { return }
            openings += 1
            var bytes = whole
            if openings == 1 { for copy in 0..<FileHeader.copies { bytes[copy * pageBytes + 60] ^= 0x55 } }
            disk.setContents(of: path, to: bytes)
        }
        #expect(try reader.refresh())
        #expect(try count(reader) == 2 && openings > 1)
        files.meddle(nil)
        try put(writer, 2)
        #expect(try reader.refresh())
        #expect(try count(reader) == 3)
    }

    // MARK: A log that is not what it should be

    /// Whatever is missing or wrong behind the commit that the reader shows: it reopens the file, which reports the
    /// fault, and keeps its state.
    @Test(arguments: ["gone", "garbled", "both gone"]) func aLogThatBreaksOffIsReported(damage: String) throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk, log: 1)
        try put(writer, 0)
        let reader = try reader(disk)
        let first = writer.newest.log.lsn / writer.dataFile.header.segmentBytes
        var key: UInt64 = 1
        while writer.newest.log.lsn / writer.dataFile.header.segmentBytes < first + 3 {
            try put(writer, key, bytes: 900)
            key += 1
        }
        let names = disk.settledImage().files.keys.filter { $0.contains("-wal-") }
            .sorted { ($0.count, $0) < ($1.count, $1) }
        try #require(names.count >= 4)
        let kept = names.map { ($0, disk.contents(of: $0)) }
        switch damage {
        case "gone": disk.setContents(of: names[1], to: nil)
        case "both gone": for name in names { disk.setContents(of: name, to: nil) }
        default:
            var bytes = try #require(disk.contents(of: names[1]))
            for place in bytes.indices.dropFirst(SegmentHeader.blockBytes) where place % 64 == 9 {
                bytes[place] ^= 0x55
            }
            disk.setContents(of: names[1], to: bytes)
        }
        let error = #expect(throws: StorageError.self) { _ = try reader.refresh() }
        guard case .logDamaged? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try count(reader) == 1)
        for (name, bytes) in kept { disk.setContents(of: name, to: bytes) }
        #expect(try reader.refresh())
        #expect(try content(reader) == content(writer))
    }

    /// The writer has closed its file and removed the log.
    @Test func aWriterThatClosesIsFollowed() throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        try put(writer, 0)
        try writer.checkpoint()
        try put(writer, 1)
        let reader = try reader(disk)
        try put(writer, 2)
        try writer.close()
        #expect(try reader.refresh())
        #expect(try count(reader) == 3)
        #expect(try !reader.refresh())
        writer = try self.writer(disk)
        try writer.close()
        #expect(try !reader.refresh())
        #expect(try count(reader) == 3)
    }

    // MARK: A disk that fails

    /// Each call of a refresh fails in turn: the refresh throws, the reader keeps its state, and the next refresh
    /// succeeds.
    @Test(arguments: [false, true]) func anyCallOfARefreshMayFail(isLeftBehind: Bool) throws {
        func prepared() throws -> (SimulatedDisk, Store, Store) {
            let disk = SimulatedDisk()
            let writer = try writer(disk, log: 1)
            try put(writer, 0)
            let reader = try reader(disk)
            for key in 1..<40 as Range<UInt64> { try put(writer, key, bytes: 900) }
            if isLeftBehind { for _ in 0..<3 { try writer.checkpoint(); try put(writer, 40) } }
            return (disk, writer, reader)
        }
        let (whole, other, healthy) = try prepared()
        let begin = whole.callCount
        #expect(try healthy.refresh())
        let calls = whole.callCount - begin
        withExtendedLifetime(other) {}
        var failures = 0
        for call in 0..<calls {
            for fault in [Fault.inputOutput, .error(2)] {
                let (disk, writer, reader) = try prepared()
                disk.inject(fault, atCall: disk.callCount + call)
                do throws(StorageError) { _ = try reader.refresh() } catch {
                    failures += 1
                    #expect(try count(reader) == 1, "call \(call): \(error)")
                }
                disk.clearFaults()
                try reader.refresh()
                #expect(try content(reader) == content(writer), "call \(call), \(fault)")
                disk.cutPower()
            }
        }
        #expect(failures > calls / 2, "\(failures) of \(calls)")
    }

    /// A read-only medium needs no sync; elsewhere a failed sync is reported.
    @Test(arguments: [true, false]) func aMediumWithoutWritesNeedsNoSync(isReadOnly: Bool) throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try put(writer, 0)
        let files = MeddledDisk(disk)
        nonisolated(unsafe) var refused = 0
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .sync || call == .syncDirectory else { return }
            refused += 1
            throw FileError(operation: "sync", path: path, code: isReadOnly ? Self.readOnlyMedium : Self.inputOutput)
        }
        guard isReadOnly else {
            let error = #expect(throws: StorageError.self) { _ = try self.reader(files) }
            if case .io? = error {} else { Issue.record("\(String(describing: error))") }
            return
        }
        let reader = try reader(files)
        try put(writer, 1)
        #expect(try reader.refresh())
        #expect(try count(reader) == 2 && refused > 1)
    }

    /// The name of a segment that the header does not know yet is made durable, too.
    @Test(arguments: [true, false]) func aSegmentNameThatCannotBeMadeDurableIsReported(isReadOnly: Bool) throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        try put(writer, 0)
        try writer.close()
        writer = try self.writer(disk)
        try writer.write(durability: .ordered) { try $0.put([1], for: 7, in: #require($0.view.tree(named: "t"))) }
        let files = MeddledDisk(disk)
        nonisolated(unsafe) var refused = 0
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .syncDirectory else { return }
            refused += 1
            throw FileError(operation: "sync", path: path, code: isReadOnly ? Self.readOnlyMedium : Self.inputOutput)
        }
        do throws(StorageError) {
            let reader = try Store(at: Self.path, options: options(files, readOnly: true))
            #expect(isReadOnly)
            #expect(throws: Never.self) { try #expect(self.count(reader) == 2) }
        } catch {
            #expect(!isReadOnly)
            if case .io = error {} else { Issue.record(error) }
        }
        #expect(refused > 0)
    }

    private static let readOnlyMedium: Int32 = 30
    private static let inputOutput: Int32 = 5

    // MARK: What a reader hands on

    /// A reader that had to reopen the file copies and backs up its newest state.
    @Test func aReaderThatWasLeftBehindCopiesWhatItShows() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try put(writer, 0)
        try writer.checkpoint()
        try writer.backup(to: "d/base.mako")
        let reader = try reader(disk)
        for key in 1..<5 as Range<UInt64> {
            try put(writer, key)
            try writer.checkpoint()
        }
        #expect(try reader.refresh())
        #expect(reader.follower?.successor != nil)
        #expect(try count(reader) == 5)
        try reader.copy(to: "d/copy.mako")
        try reader.backup(to: "d/part", since: BackupPoint(of: "d/base.mako", fileSystem: disk))
        try Store.restore("d/base.mako", applying: ["d/part"], to: "d/whole.mako", options: options(disk))
        for name in ["d/copy.mako", "d/whole.mako"] {
            let store = try Store(at: name, options: options(disk, readOnly: true))
            #expect(try content(store) == content(writer), "\(name)")
        }
    }
}
