import MakoTestSupport
import Testing

@testable import MakoStorage

/// Files put together as no engine writes them, whose checksums are right: what they say is followed, or refused.
@Suite struct CraftedFileTests {
    private static let path = SalvageSample.path

    // MARK: Leaves

    private func sample() throws -> (store: Store, integers: Tree, bytes: Tree) {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        let trees = try store.write { tx in
            let trees = (
                try tx.createTree(named: "i", keys: .integer), try tx.createTree(named: "b", keys: .bytes)
            )
            for key in UInt64(0)..<400 {
                try tx.put(ValueShape(bytes: 100).value(seed: key), for: key * 10, in: trees.0)
                try tx.put(ValueShape(bytes: 100).value(seed: key), for: Array("key \(1000 + key)".utf8), in: trees.1)
            }
            return trees
        }
        try store.checkpoint()
        return (store, trees.0, trees.1)
    }

    private func root(_ store: Store, _ tree: Tree) throws -> UnsafeMutableRawPointer {
        let version = store.newest
        let state = try #require((0..<version.treeCount).map { version.trees[$0] }.first { $0.id == tree.id })
        let type: PageType = tree.keys == .integer ? .integerInner : .byteInner
        return try store.frames.resolve(state.root, type: type, level: state.levels - 1).base
    }

    private func leaf(_ store: Store, _ tree: Tree, _ slot: Int) throws -> UnsafeMutableRawPointer {
        let isInteger = tree.keys == .integer
        let page = try root(store, tree)
        let child = isInteger ? IntegerLayout.child(Page(page), at: slot) : ByteNode.child(page, slot)
        return try store.frames.resolve(child, type: isInteger ? .integerLeaf : .byteLeaf, level: 0).base
    }

    /// One entry that nearly fills its leaf, larger than any that is written: what comes beside it gets a leaf of its own.
    @Test(arguments: [20, 80] as [UInt64]) func aLoneLargeEntryIsMoved(key: UInt64) throws {
        let (store, tree, _) = try sample()
        let page = try leaf(store, tree, 0)
        let large = 3500
        Page(page).count = 1
        Page(page).heap = pageBytes - large - 2
        Page(page).garbage = 0
        IntegerNode.keys(page)[0] = 50
        IntegerNode.slots(page, count: 1)[0] = UInt16(pageBytes - large - 2)
        page.storeBytes(of: UInt16(large), toByteOffset: pageBytes - large - 2, as: UInt16.self)
        try PageCheck.validate(page)
        let value = try #require(try store.read { try $0.get(50, in: tree) })
        #expect(value.count == large)
        try store.write { try $0.put([UInt8](repeating: 7, count: 900), for: key, in: tree) }
        #expect(try store.read { try $0.get(50, in: tree) } == value)
        #expect(try store.read { try $0.get(key, in: tree) } == [UInt8](repeating: 7, count: 900))
        #expect(try store.read { try $0.get(3990, in: tree) } == ValueShape(bytes: 100).value(seed: 399))
    }

    /// A leaf without entries and without free space: the change is refused, and the store continues.
    @Test(arguments: [KeyKind.integer, .bytes]) func anEmptyLeafWithoutSpaceIsRefused(kind: KeyKind) throws {
        let (store, integers, bytes) = try sample()
        let page = try leaf(store, kind == .integer ? integers : bytes, 1)
        let key = kind == .integer ? IntegerNode.keys(page)[0] : 0
        let word = kind == .integer ? [] : [UInt8](ByteNode.lower(page)) + [1]
        Page(page).count = 0
        Page(page).heap = kind == .integer ? IntegerNode.keysOffset : ByteNode.headsOffset
        Page(page).garbage = 0
        try PageCheck.validate(page)
        let error = #expect(throws: StorageError.self) {
            try store.write { tx in
                if kind == .integer {
                    try tx.put([1], for: key, in: integers)
                } else {
                    try tx.put([1], for: word, in: bytes)
                }
            }
        }
        if case .corrupted = error {} else { Issue.record("\(String(describing: error))") }
        try store.write { try $0.put([2], for: 3991, in: integers) }
        #expect(try store.read { try $0.get(3991, in: integers) } == [2])
    }

    /// A root with a single child, which a tree only has for moments: entries can be removed until none is left.
    @Test func aRootWithOneChildCanBeEmptied() throws {
        let (store, tree, _) = try sample()
        Page(try root(store, tree)).count = 1
        let page = try leaf(store, tree, 0)
        let keys = (0..<Page(page).count).map { IntegerNode.keys(page)[$0] }
        for (index, key) in keys.enumerated() {
            #expect(try store.write { try $0.delete(key, in: tree) })
            for left in keys[(index + 1)...] {
                #expect(try store.read { try $0.get(left, in: tree) } == ValueShape(bytes: 100).value(seed: left / 10))
            }
        }
        #expect(try store.read { try $0.get(keys[0], in: tree) } == nil)
    }

    // MARK: Values

    /// A compressed value whose block does not decompress: the reader gets an error, and the value can be replaced.
    @Test func aBlockThatDoesNotUnpackIsRefused() throws {
        let sample = try SalvageSample(closing: true, "tree t int\nput t 1..20 50b\nput t 30 30000z")
        let place = try #require(try sample.layout().places.first { $0.key == .integer(30) })
        let broken = sample.changing(place.pages.dropFirst()) { page in
            (page + Page.bodyOffset).initializeMemory(as: UInt8.self, repeating: 0xff, count: 40)
        }
        let options = SalvageSample.options(SimulatedDisk(broken.image))
        let store = try Store(at: Self.path, options: options)
        let tree = try #require(try store.read { $0.tree(named: "t") })
        let error = #expect(throws: StorageError.self) { try store.read { try $0.get(30, in: tree) } }
        #expect("\(try #require(error))".contains("does not unpack"))
        #expect(try !store.verify().isClean)
        try store.write { try $0.put([3], for: 30, in: tree) }
        #expect(try store.read { try $0.get(30, in: tree) } == [3])
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// The list of runs on an overflow page, if it holds one.
    private func list(_ page: Int, of sample: SalvageSample) -> ValueExtents? {
        let body = sample.file.bytes(at: UInt64(page * pageBytes + Page.bodyOffset), count: Overflow.payloadBytes)
        return body.withUnsafeBytes { body in
            (2..<20).lazy.compactMap { count in
                ValueExtents(
                    UnsafeRawBufferPointer(
                        rebasing: body[..<(ValueExtents.headerBytes + count * ValueExtents.runBytes)]))
            }.first
        }
    }

    /// A list of extents behind the end of the file, for millions of pages, is refused before they are scanned.
    @Test func runsBehindTheFileAreRefused() throws {
        let sample = try SalvageSample(
            closing: true, "options log 16384\ntree t int\nput t 1..20 50b\nstream t 30 30000b")
        let place = try #require(sample.pages(of: .overflow).first { list($0, of: sample) != nil })
        var forged = try #require(list(place, of: sample))
        #expect(forged.length == 30000)
        for index in forged.runs.indices { forged.runs[index].count = 0xff_ffff }
        forged.stored = UInt64(forged.runs.count * 0xff_ffff * Overflow.payloadBytes)
        forged.length = forged.stored
        let bytes = forged.encoded()
        let broken = sample.changing([place]) { page in
            (page + Page.bodyOffset).copyMemory(from: bytes, byteCount: bytes.count)
        }
        let store = try Store(at: Self.path, options: SalvageSample.options(SimulatedDisk(broken.image)))
        let tree = try #require(try store.read { $0.tree(named: "t") })
        #expect(try !store.verify().isClean)
        for use in [
            { tx in _ = try tx.view.get(30, in: tree) },
            { tx in _ = try tx.view.blob(of: 30, in: tree) },
            { tx in _ = try tx.delete(30, in: tree) },
            { tx in _ = try tx.deleteRange(30...40, in: tree) },
            { tx in try tx.put([1], for: 30, in: tree) },
        ] as [(borrowing WriteTransaction) throws -> Void] {
            let error = #expect(throws: StorageError.self) { try store.write(use) }
            if case .corrupted = error {} else { Issue.record("\(String(describing: error))") }
        }
        try store.write { try $0.put([2], for: 31, in: tree) }
        try store.close()
    }

    // MARK: Checkpoints

    /// A directory outside the regions of the file must be refused: no bitmap says whether its pages are in use.
    @Test func aDirectoryOutsideTheRegionsIsRefused() throws {
        let sample = try SalvageSample(closing: true, "tree t int\nput t 1..300 90b")
        let disk = SimulatedDisk(sample.image)
        let file = try disk.open(Self.path, .readWrite)
        let dataFile = try DataFile.open(file)
        var meta = try #require(try dataFile.readMetas().first)
        let content = sample.file.bytes(
            at: meta.directory.firstPage * UInt64(pageBytes) + UInt64(Page.bodyOffset), count: meta.directory.length)
        meta.directory = Overflow(
            firstPage: 40_000, firstWriteID: meta.directory.firstWriteID, length: content.count, stored: content.count,
            isCompressed: false)
        try DataFile.write(directory: content, meta.directory, to: file, PageCodec(seed: sample.seed))
        for _ in 0..<2 {
            try dataFile.write(meta)
            meta.number -= 1
        }
        file.close()
        let error = #expect(throws: StorageError.self) {
            let store = try Store(at: Self.path, options: SalvageSample.options(disk))
            let tree = try store.write { try $0.createTree(named: "new", keys: .integer) }
            for round in UInt64(0)..<3 {
                try store.write { try $0.put([1], for: round, in: tree) }
                try store.checkpoint()
            }
            try store.close()
        }
        #expect("\(try #require(error))".contains("directory"))
        let outcome = try SalvageSample.salvage(disk.settledImage())
        #expect(outcome.found == sample.latest)
    }

    /// A tree with a wrong number of entries in the directory.
    @Test(arguments: [3, .max] as [UInt64]) func entriesThatWereNotCountedRightCanGo(count: UInt64) throws {
        let sample = try SalvageSample(closing: true, "tree t int\nput t 1..300 90b\ntree u bytes\nput u 1..300 90b")
        let directory = try sample.layout().directory[0]
        // Behind one region, in the entry of the first tree and in that of the second.
        let broken = sample.changing([directory]) { page in
            for place in [9 + 16, 9 + 25 + 16] {
                page.storeBytes(of: count, toByteOffset: Page.bodyOffset + place, as: UInt64.self)
            }
        }
        let store = try Store(at: Self.path, options: SalvageSample.options(SimulatedDisk(broken.image)))
        let trees = try store.read { $0.trees }
        #expect(trees.map(\.count) == [count, count])
        #expect(try store.verify().findings.count == 2)
        try store.copy(to: "d/copy.mako")
        let removed = try store.write { tx in
            let bounds = (ScriptRun.bytes(11, length: 0), ScriptRun.bytes(201, length: 0))
            return [
                try tx.deleteRange(11...200, in: trees[0].tree),
                try tx.deleteRange(from: bounds.0, to: bounds.1, in: trees[1].tree),
            ]
        }
        #expect(removed == [190, 190])
        #expect(try store.read { try $0.get(10, in: trees[0].tree) } != nil)
        #expect(try store.read { try $0.get(11, in: trees[0].tree) } == nil)
        try store.close()
    }

    /// Numbers that no checkpoint has.
    @Test(arguments: [true, false]) func aCheckpointOfNothingIsRefusedOrCopied(isPoint: Bool) throws {
        let sample = try SalvageSample(
            closing: true, "options log 16384\ntree t int\nput t 1..20 50b\nstream t 30 30000b")
        let disk = SimulatedDisk(sample.image)
        let file = try disk.open(Self.path, .readWrite)
        let dataFile = try DataFile.open(file)
        var meta = try #require(try dataFile.readMetas().first)
        if isPoint { meta.point = 0 } else { meta.commit = 0 }
        for _ in 0..<2 {
            try dataFile.write(meta)
            meta.number -= 1
        }
        file.close()
        do {
            let store = try Store(at: Self.path, options: SalvageSample.options(disk))
            #expect(!isPoint)
            try store.copy(to: "d/copy.mako")
            let tree = try #require(try store.read { $0.tree(named: "t") })
            try store.write { _ = try $0.delete(30, in: tree) }
            try store.close()
            let copy = try Store(at: "d/copy.mako", options: SalvageSample.options(disk))
            #expect(try copy.read { try $0.get(20, in: tree) } != nil)
            try copy.close()
        } catch StorageError.corrupted { #expect(isPoint) }
    }

    // MARK: Logs

    private func options(_ image: DiskImage) -> StoreOptions {
        var options = SalvageSample.options(SimulatedDisk(image))
        options.logSegmentBytes = 1
        return options
    }

    /// The data file was restored from an older copy, and the log beside it is newer: without the log the copy would
    /// look complete.
    @Test func anOlderCopyBesideANewerLogIsRefused() throws {
        let older = try SalvageSample(closing: true, "tree t int\nput t 1..20 90b")
        let disk = SimulatedDisk(older.image)
        var options = SalvageSample.options(disk)
        options.logSegmentBytes = 1
        let store = try Store(at: Self.path, options: options)
        let tree = try #require(try store.read { $0.tree(named: "t") })
        for round in UInt64(0)..<60 {
            for key in round * 10..<round * 10 + 10 {
                try store.write { try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
            }
            if round % 10 == 0 { try store.checkpoint() }
        }
        var mixed = disk.settledImage()
        disk.cutPower()
        withExtendedLifetime(store) {}
        mixed.files[Self.path] = older.file
        let error = #expect(throws: StorageError.self) { _ = try Store(at: Self.path, options: self.options(mixed)) }
        #expect("\(try #require(error))".contains("is newer than the data file, which is an older copy"))
    }

    /// A truncated segment of another database is neither used nor overwritten.
    @Test func aCutSegmentOfAnotherDatabaseIsNotTaken() throws {
        let ours = try SalvageSample(closing: true, "tree t int\nput t 1..20 90b")
        let disk = SimulatedDisk()
        var options = SalvageSample.options(disk)
        options.entropy = SeededEntropy(seed: 77)
        let theirs = try Store(at: Self.path, options: options)
        try theirs.write { _ = try $0.createTree(named: "t", keys: .integer) }
        let name = try #require(disk.settledImage().files.keys.first { $0.contains("-wal-") })
        var segment = try #require(disk.settledImage().files[name])
        disk.cutPower()
        withExtendedLifetime(theirs) {}
        segment.resize(to: 12_000)
        var mixed = ours.image
        mixed.files[name] = segment
        let beside = SimulatedDisk(mixed)
        let error = #expect(throws: StorageError.self) {
            _ = try Store(at: Self.path, options: SalvageSample.options(beside))
        }
        #expect("\(try #require(error))".contains("belongs to another database; move it away"))
        #expect(beside.settledImage().files[name] == segment)
    }

    /// The header of a segment of a few blocks claims the largest size of a segment.
    @Test(arguments: [false, true]) func aSegmentTakesTheMemoryOfItsFile(isSalvaging: Bool) throws {
        let sample = try SalvageSample(closing: false, "tree t int\nput t 1..20 90b")
        let name = try #require(sample.image.files.keys.first { $0.contains("-wal-") })
        var bytes = try #require(sample.image.files[name]).bytes
        bytes.removeLast(bytes.count - 3 * SegmentHeader.blockBytes)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt64(SegmentHeader.largestSegment), toByteOffset: 64, as: UInt64.self)
        }
        ForgedChecksums.seal(log: &bytes)
        let header = try #require(bytes.withUnsafeBytes { $0.baseAddress.flatMap { SegmentHeader($0) } })
        #expect(header.segmentBytes == UInt64(SegmentHeader.largestSegment))
        let reader = LogReader(
            fileSystem: SimulatedDisk(DiskImage(files: [name: ByteImage(bytes)])), path: Self.path,
            database: header.database, readOnly: true, required: 0, isSalvaging: isSalvaging)
        let segment = try reader.open(header.number, whole: true)
        #expect((segment?.bytes.capacity ?? 0) <= 2 * bytes.count)
        #expect(segment?.bytes == (isSalvaging ? bytes : nil))
        let file = try SimulatedDisk(DiskImage(files: [name: ByteImage(bytes)])).open(name, .readOnly)
        #expect(try reader.read(file, from: 4096, count: 1 << 40) == Array(bytes[4096...]))
        #expect(try reader.read(file, from: 1 << 41, count: 1 << 40).isEmpty)
    }
}
