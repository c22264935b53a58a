import MakoTestSupport
import Testing

@testable import MakoStorage

#if canImport(Glibc)
    import Glibc
#endif

/// A full disk refuses what makes the database larger, and permits what makes it smaller.
@Suite struct DiskReserveTests {
    private static let path = "d/store.mako"

    private static func options(_ files: any FileSystem, log: Int = 32 << 10) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = log
        options.cacheBytes = 1 << 20
        return options
    }

    private static func value(_ key: UInt64) -> [UInt8] { ValueShape(bytes: 300).value(seed: key) }

    /// Puts so many at a time until the disk is full. Returns how many are there.
    private static func fill(_ store: Store, _ tree: Tree, from first: UInt64 = 0, batch: UInt64) throws -> UInt64 {
        var key = first
        while true {
            do {
                try store.write { tx in
                    for next in key..<key + batch { try tx.put(value(next), for: next, in: tree) }
                }
                key += batch
            } catch StorageError.diskFull(let path) {
                #expect(path.hasPrefix(Self.path) || path.contains("/full/"))
                return key
            }
        }
    }

    /// On a full disk: deletes entries, takes checkpoints and shrinks the file until there is space again.
    private static func makeRoomAgain(_ store: Store, _ tree: Tree, _ count: UInt64, step: UInt64) throws -> UInt64 {
        for key in stride(from: UInt64(0), to: count / 2, by: Int(step)) {
            // Small deletions and whole ranges.
            try store.write { tx in
                if step == 1 {
                    // Far from the one before: each copies a leaf of its own.
                    try #expect(tx.delete(key &* 7919 % (count / 2), in: tree))
                } else {
                    try #expect(tx.deleteRange(key...min(key + step, count / 2) - 1, in: tree) > 0)
                }
            }
        }
        try store.checkpoint()
        #expect(try store.snapshot().count(of: tree) == count - count / 2)
        try store.shrink()
        #expect(try store.verify().findings == [])
        return try fill(store, tree, from: count, batch: 10)
    }

    @Test(arguments: [1, 10, 40, 400], [1, 25]) func deletionsFreeSpace(batch: UInt64, step: UInt64) throws {
        for room in stride(from: UInt64(600), to: 700, by: 24) {
            let disk = SimulatedDisk()
            // Small deletions in a long log: no segment that begins brings a checkpoint in time.
            let options = Self.options(disk, log: step == 1 ? 256 << 10 : 32 << 10)
            var store = try Store(at: Self.path, options: options)
            var tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            disk.capacity = room << 10 + UInt64(options.logSegmentBytes)
            var count = try Self.fill(store, tree, batch: batch)
            #expect(count >= 600, "\(count) of \(room) KiB")
            // Again and again it is full, and nothing more happens but that the last gaps are filled.
            let before = count
            for _ in 0..<5 { count = try Self.fill(store, tree, from: count, batch: max(batch, 20)) }
            #expect(count < before + 100)
            #expect(try store.snapshot().count(of: tree) == count)
            if room % 48 == 0 {
                try store.close()
                store = try Store(at: Self.path, options: options)
                tree = try #require(try store.snapshot().tree(named: "t"))
            }
            let more = try Self.makeRoomAgain(store, tree, count, step: step)
            #expect(more > count)
            #expect(try store.verify().findings == [])
            disk.endProcess()
            let again = try Store(at: Self.path, options: options)
            #expect(try again.verify().findings == [])
            #expect(try again.snapshot().count(of: tree) == more - count / 2)
            for key in count..<more { #expect(try again.snapshot().get(key, in: tree) == Self.value(key)) }
            try again.close()
            withExtendedLifetime(store) {}
        }
    }

    /// Without a reserve the last pages go to insertions.
    @Test func theReserveIsKeptFromInsertions() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        disk.capacity = 600 << 10
        _ = try Self.fill(store, tree, batch: 3)
        let (free, reserve) = store.versions.lock.withLock {
            (
                store.versions.space.freeCount(below: store.versions.room.pages),
                store.reservePages(of: store.versions.room.pages)
            )
        }
        #expect(reserve >= 8)
        #expect(free >= Int(reserve) - 4)
        // Replacing a value by one of the same length needs no further space.
        try store.write { try $0.put(Self.value(1), for: 0, in: tree) }
        #expect(try store.snapshot().get(0, in: tree) == Self.value(1))
        try store.close()
    }

    /// The file has space for a commit before the commit is acknowledged: no checkpoint needs more.
    @Test func aCheckpointNeedsNoMoreSpace() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for round in 0..<20 as Range<UInt64> {
            try store.write { tx in
                for key in 0..<20 as Range<UInt64> { try tx.put(Self.value(key), for: round * 20 + key, in: tree) }
            }
            let data = try disk.open(Self.path, .readOnly).size()
            #expect(data >= store.versions.lock.withLock { store.versions.space.top } * 4096)
            // The device is full from here on, for the moment.
            disk.capacity = disk.usedBytes
            try store.checkpoint()
            disk.capacity = nil
        }
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// A transaction that was too large for the disk leaves neither pages nor numbers of pages behind.
    @Test func aTransactionTooLargeForTheDiskIsForgotten() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { tx in for key in 0..<50 as Range<UInt64> { try tx.put(Self.value(key), for: key, in: tree) } }
        disk.capacity = 600 << 10
        for _ in 0..<3 {
            #expect(throws: StorageError.self) {
                try store.write { tx in
                    for key in 100..<9000 as Range<UInt64> { try tx.put(Self.value(key), for: key, in: tree) }
                }
            }
            #expect(throws: StorageError.self) {
                try store.write { tx in
                    try tx.putBlob(for: 7, in: tree) { blob in
                        for _ in 0..<1000 { try blob.append([UInt8](repeating: 1, count: 4000)) }
                    }
                }
            }
            try store.write { try $0.put(Self.value(1), for: 0, in: tree) }
        }
        #expect(try store.snapshot().count(of: tree) == 50)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// Deletions of any size, all over the tree, leave what the checkpoints need that give the pages back: one entry at a time goes always.
    @Test(arguments: [3, 30, 300]) func noDeletionTakesTheCheckpointsPages(batch: UInt64) throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        disk.capacity = 800 << 10
        let count = try Self.fill(store, tree, batch: batch)
        var (next, size) = (UInt64(0), UInt64(64))
        while next < count {
            let end = min(next + size, count)
            do {
                try store.write { tx in
                    for key in next..<end { try #expect(tx.delete(key &* 7919 % count, in: tree)) }
                }
                (next, size) = (end, size + 1)
            } catch StorageError.diskFull {
                if size == 1 {
                    Issue.record("\(next) of \(count) are gone, and no more can be deleted")
                    return
                }
                size -= 1
            }
        }
        #expect(try store.snapshot().count(of: tree) == 0)
        try store.checkpoint()
        #expect(try Self.fill(store, tree, batch: batch) > count / 2)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    @Test func aFileThatWasMadeShorterKeepsItsReserve() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk, log: 256 << 10))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { tx in
            for key in 0..<2000 as Range<UInt64> { try tx.put(Self.value(key), for: key, in: tree) }
        }
        _ = try store.write { try $0.deleteRange(500...2000, in: tree) }
        try store.shrink()
        let size = try disk.open(Self.path, .readOnly).size()
        #expect(size < 400 << 10)
        disk.capacity = disk.usedBytes
        for key in 0..<40 as Range<UInt64> { try #expect(store.write { try $0.delete(key, in: tree) }) }
        try store.checkpoint()
        #expect(try disk.open(Self.path, .readOnly).size() == size)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    @Test func aSmallDatabaseStaysSmall() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<20 as Range<UInt64> { try store.write { try $0.put(Self.value(key), for: key, in: tree) } }
        try store.close()
        #expect(try disk.open(Self.path, .readOnly).size() < 256 << 10)
    }

    #if canImport(Glibc)
        /// The same on a file system that is really full, where this user may make one.
        @Test func aRealDiskThatIsFull() throws {
            let folder = "/tmp/mako-\(getpid())/full/"
            _ = mkdir("/tmp/mako-\(getpid())", 0o700)
            _ = mkdir(folder, 0o700)
            defer {
                _ = rmdir(folder)
                _ = rmdir("/tmp/mako-\(getpid())")
            }
            guard mount("tmpfs", folder, "tmpfs", 0, "size=1500k") == 0 else {
                print("aRealDiskThatIsFull: this user cannot mount a file system; left out")
                return
            }
            defer { _ = umount2(folder, Int32(MNT_DETACH)) }
            let options = Self.options(POSIXFileSystem())
            let store = try Store(at: folder + "store.mako", options: options)
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            // A value that is too large fails, and its checkpoint leaves no holes behind the allocated pages: the next
            // opening would count them as free space.
            var count: UInt64 = 0
            for batch in [5000, 200, 100, 50, 15] as [UInt64] {
                count = try Self.fill(store, tree, from: count, batch: batch)
                var status = stat()
                #expect(stat(folder + "store.mako", &status) == 0)
                #expect(Int(status.st_blocks) * 512 >= Int(status.st_size))
            }
            #expect(count > 1000)
            let more = try Self.makeRoomAgain(store, tree, count, step: 25)
            #expect(more > count)
            try store.close()
            let again = try Store(at: folder + "store.mako", options: options)
            #expect(try again.verify().findings == [])
            #expect(try again.snapshot().count(of: tree) == more - count / 2)
            try again.close()
        }
    #endif
}
