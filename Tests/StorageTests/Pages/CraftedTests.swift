import MakoTestSupport
import Testing

@testable import MakoStorage

/// Pages that no accident produces, each wrong in one thing, which the check of the page must name.
@Suite struct CraftedTests {
    private struct Sample {
        var store: Store
        var integers: Tree
        var bytes: Tree

        func root(_ tree: Tree) throws -> UnsafeMutableRawPointer {
            let version = store.newest
            let state = try #require((0..<version.treeCount).map { version.trees[$0] }.first { $0.id == tree.id })
            let type: PageType = tree.keys == .integer ? .integerInner : .byteInner
            return try store.frames.resolve(state.root, type: type, level: state.levels - 1).base
        }

        func leaf(_ tree: Tree, _ slot: Int) throws -> UnsafeMutableRawPointer {
            let reference =
                tree.keys == .integer
                ? IntegerLayout.child(Page(try root(tree)), at: slot) : ByteNode.child(try root(tree), slot)
            return try store.frames.resolve(
                reference, type: tree.keys == .integer ? .integerLeaf : .byteLeaf, level: 0
            ).base
        }
    }

    private func sample() throws -> Sample {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        let trees = try store.write { tx in
            let trees = (
                try tx.createTree(named: "i", keys: .integer), try tx.createTree(named: "b", keys: .bytes)
            )
            for key in UInt64(0)..<400 {
                let value = ValueShape(bytes: key == 3 ? 9000 : 100).value(seed: key)
                try tx.put(value, for: key * 10, in: trees.0)
                try tx.put(value, for: Array("key \(1000 + key)".utf8), in: trees.1)
            }
            return trees
        }
        try store.checkpoint()
        return Sample(store: store, integers: trees.0, bytes: trees.1)
    }

    // MARK: Pages

    private static let pages:
        [(reason: String, isInteger: Bool, isLeaf: Bool, damage: @Sendable (UnsafeMutableRawPointer) -> Void)] = [
            ("entry 1 lies outside the heap", true, true, { IntegerNode.slots($0, count: Page($0).count)[1] = 20 }),
            (
                "entry 1 runs over the end", true, true,
                {
                    let slot = IntegerNode.slots($0, count: Page($0).count)[1]
                    $0.storeBytes(of: 0x7fff, toByteOffset: Int(slot), as: UInt16.self)
                }
            ),
            (
                "entry 1 has a malformed overflow descriptor", true, true,
                {
                    let slot = IntegerNode.slots($0, count: Page($0).count)[1]
                    $0.storeBytes(of: 0x8000 | 20, toByteOffset: Int(slot), as: UInt16.self)
                }
            ),
            (
                "its counts do not fit the page", true, true,
                { $0.storeBytes(of: 4000, toByteOffset: 28, as: UInt16.self) }
            ),
            ("a leaf above the lowest level", true, true, { $0.storeBytes(of: 1, toByteOffset: 14, as: UInt8.self) }),
            (
                "an inner node at the lowest level", true, false,
                { $0.storeBytes(of: 0, toByteOffset: 14, as: UInt8.self) }
            ),
            ("it has 0 children", true, false, { $0.storeBytes(of: 0, toByteOffset: 28, as: UInt16.self) }),
            ("its type 9 is not one", true, true, { $0.storeBytes(of: 9, toByteOffset: 13, as: UInt8.self) }),
            ("entry 1 lies outside the heap", false, true, { ByteNode.slots($0, count: Page($0).count)[1] = 20 }),
            (
                "entry 1 has a malformed value", false, false,
                {
                    let slot = ByteNode.slots($0, count: Page($0).count)[1]
                    $0.storeBytes(of: 7, toByteOffset: Int(slot) + 2, as: UInt16.self)
                }
            ),
            (
                "an inner node at the lowest level", false, false,
                { $0.storeBytes(of: 0, toByteOffset: 14, as: UInt8.self) }
            ),
            ("a leaf above the lowest level", false, true, { $0.storeBytes(of: 1, toByteOffset: 14, as: UInt8.self) }),
            (
                "its prefix is not that of its fences", false, true,
                { $0.storeBytes(of: 1, toByteOffset: 30, as: UInt16.self) }
            ),
            (
                "its counts do not fit the page", false, true,
                { $0.storeBytes(of: 4000, toByteOffset: 28, as: UInt16.self) }
            ),
        ]

    @Test(arguments: pages.indices) func eachFaultOfAPageIsNamed(number: Int) throws {
        let (reason, isInteger, isLeaf, damage) = Self.pages[number]
        let sample = try sample()
        let tree = isInteger ? sample.integers : sample.bytes
        let page = isLeaf ? try sample.leaf(tree, 1) : try sample.root(tree)
        let copy = UnsafeMutableRawPointer.allocate(byteCount: pageBytes, alignment: 16)
        defer { copy.deallocate() }
        copy.copyMemory(from: page, byteCount: pageBytes)
        try PageCheck.validate(copy)
        damage(copy)
        let error = #expect(throws: StorageError.self) { try PageCheck.validate(copy) }
        guard case .corrupted(_, let found) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.hasPrefix(reason))
    }

    /// A parent that refers to a page which is not its child, in memory, where nothing else was checked again.
    @Test func childrenThatAreNotOnesAreRefused() throws {
        for (child, reason) in [
            (PageReference(page: pageNumberLimit - 1, writeID: 1), "beyond the largest file"),
            (PageReference.none, ""),
        ] {
            let sample = try sample()
            IntegerNode.children(try sample.root(sample.integers))[1] = child.raw
            let key = IntegerNode.keys(try sample.root(sample.integers))[1]
            try sample.store.read { view in
                for read in [
                    { _ = try view.get(key, in: sample.integers) },
                    { try view.forEach(in: sample.integers) { _, _ in true } },
                    { try view.withValues(of: [key, key + 10], in: sample.integers) { _, _ in } },
                ] {
                    let error = #expect(throws: StorageError.self) { try read() }
                    guard case .corrupted(_, let found) = error, found.hasSuffix(reason) else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                }
            }
            #expect(try !sample.store.verify().isClean)
            // Buffered puts are applied together, on another code path.
            let error = #expect(throws: StorageError.self) {
                try sample.store.write { tx in
                    for number in UInt64(0)..<40 where number * 41 % 400 > 100 {
                        try tx.put([9], for: number * 41 % 400 * 10, in: sample.integers)
                    }
                    try tx.put([9], for: key, in: sample.integers)
                }
            }
            if case .corrupted = error {} else { Issue.record("\(String(describing: error))") }
        }
        let sample = try sample()
        let root = try sample.root(sample.integers)
        let second = IntegerLayout.child(Page(root), at: 2)
        let key = IntegerNode.keys(root)[1]
        IntegerNode.children(root)[1] = PageReference(page: second.page, writeID: second.tag &+ 1).raw
        let stale = #expect(throws: StorageError.self) {
            try sample.store.read { _ = try $0.get(key, in: sample.integers) }
        }
        #expect("\(try #require(stale))".contains("a stale page"))
        let version = sample.store.newest
        let own = (0..<version.treeCount).map { version.trees[$0] }.first { $0.id == sample.integers.id }
        IntegerNode.children(root)[1] = try #require(own).root.raw
        let other = #expect(throws: StorageError.self) {
            try sample.store.read { _ = try $0.get(key, in: sample.integers) }
        }
        #expect("\(try #require(other))".contains("expected a page of type integerLeaf at level 0"))
    }

    /// Entries, or a fence and an entry, that share bytes, while as many bytes elsewhere belong to nothing, so that the
    /// sum fits: overwriting one entry in place would change the other.
    @Test(arguments: [KeyKind.integer, .bytes], [false, true]) func entriesThatShareBytesAreRefused(
        kind: KeyKind, isFence: Bool
    ) throws {
        if kind == .integer && isFence { return }
        try withUnsafeTemporaryAllocation(byteCount: 3 * pageBytes, alignment: pageBytes) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            let page = try #require(memory.baseAddress)
            let (scratch, bytes) = (page + pageBytes, UnsafeRawPointer(page + 2 * pageBytes))
            let value = RecordView(bytes: bytes, count: 20, isOverflow: false)
            switch kind {
            case .integer:
                Page(page).format(page: 1, type: .integerLeaf, level: 0, writeID: 1, tree: 1)
                for key in 1...3 as ClosedRange<UInt64> {
                    IntegerNode.insert(page, at: Int(key) - 1, key: key, value: value, scratch: scratch)
                }
            case .bytes:
                Page(page).format(page: 1, type: .byteLeaf, level: 0, writeID: 1, tree: 1)
                let fences = (Array("a".utf8), Array("zebra".utf8))
                fences.0.withUnsafeBytes { lower in
                    fences.1.withUnsafeBytes { ByteNode.setFences(page, lower: lower, upper: $0) }
                }
                for (slot, key) in ["b", "c", "d"].enumerated() {
                    Array(key.utf8).withUnsafeBytes {
                        ByteNode.insert(page, at: slot, key: $0, value: value, scratch: scratch)
                    }
                }
            }
            try PageCheck.validate(page)
            let slots =
                kind == .integer ? IntegerNode.slots(page, count: 3) : ByteNode.slots(page, count: 3)
            if isFence {
                page.storeBytes(of: slots[1] + 1, toByteOffset: ByteNode.upperFence, as: UInt16.self)
            } else {
                // Copies the third entry, unchanged, seven bytes into the second, where its bytes read as an entry of
                // the same size.
                let (from, to) = (page + Int(slots[2]), page + Int(slots[1]) + 7)
                to.copyMemory(from: from, byteCount: kind == .integer ? 22 : 25)
                slots[2] = slots[1] + 7
            }
            let error = #expect(throws: StorageError.self) { try PageCheck.validate(page) }
            #expect("\(try #require(error))".contains("its entries overlap"))
        }
    }

    /// The space of a missing fence would lie behind the page.
    @Test func aLeafWithoutItsUpperFenceTakesNothingFromItsNeighbour() throws {
        try withUnsafeTemporaryAllocation(byteCount: 4 * pageBytes, alignment: pageBytes) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            let left = try #require(memory.baseAddress)
            let right = left + 2 * pageBytes
            let scratch = left + 3 * pageBytes
            func make(_ page: UnsafeMutableRawPointer, _ lower: String, _ keys: [String]) {
                Page(page).format(page: 1, type: .byteLeaf, level: 0, writeID: 1, tree: 1)
                Array(lower.utf8).withUnsafeBytes { ByteNode.setFences(page, lower: $0, upper: nil) }
                for (slot, key) in keys.enumerated() {
                    Array(key.utf8).withUnsafeBytes {
                        let value = RecordView(bytes: UnsafeRawPointer(right), count: 8, isOverflow: false)
                        ByteNode.insert(page, at: slot, key: $0, value: value, scratch: scratch)
                    }
                }
            }
            make(left, "a", ["a", "b"])
            make(right, "m", ["m", "n", "o"])
            left.storeBytes(of: UInt16(pageBytes + 70), toByteOffset: ByteNode.upperFence, as: UInt16.self)
            try PageCheck.validate(left)
            let before = Array(memory.prefix(3 * pageBytes))
            let hasMoved = Array("n".utf8).withUnsafeBytes {
                ByteNode.shift(left, right, 0..<1, toRight: false, $0, scratch: scratch)
            }
            #expect(!hasMoved)
            let isUntouched = memory.prefix(3 * pageBytes).elementsEqual(before)
            #expect(isUntouched)
        }
    }

    /// A value with pages beyond the file: it cannot be read, but its entry can be removed.
    @Test(arguments: [pageNumberLimit - 9, pageNumberLimit, .max]) func valuesBeyondTheFileAreRefused(page: UInt64)
        throws
    {
        let sample = try sample()
        let leaf = try sample.leaf(sample.integers, 0)
        let record = IntegerNode.record(leaf, 3)
        #expect(record.isOverflow)
        UnsafeMutableRawPointer(mutating: record.bytes).storeBytes(of: page, as: UInt64.self)
        let error = #expect(throws: StorageError.self) {
            try sample.store.read { _ = try $0.get(30, in: sample.integers) }
        }
        guard case .corrupted = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try !sample.store.verify().isClean)
        do {
            try sample.store.write { _ = try $0.delete(30, in: sample.integers) }
            try sample.store.checkpoint()
            #expect(try sample.store.read { try $0.get(30, in: sample.integers) } == nil)
        } catch StorageError.corrupted {}
    }

    /// A value whose pages have write ids that no page ever gets, with the same effect as pages beyond the file.
    @Test(arguments: [.max, .max - 1, counterLimit] as [UInt64]) func writeIDsThatNoPageHasAreRefused(writeID: UInt64)
        throws
    {
        let sample = try sample()
        let record = IntegerNode.record(try sample.leaf(sample.integers, 0), 3)
        #expect(record.isOverflow)
        UnsafeMutableRawPointer(mutating: record.bytes).storeBytes(of: writeID, toByteOffset: 8, as: UInt64.self)
        for change in [
            { tx in _ = try tx.delete(30, in: sample.integers) },
            { tx in _ = try tx.deleteRange(20...40, in: sample.integers) },
            { tx in try tx.deleteAll(in: sample.integers) },
            { tx in try tx.put([1], for: 30, in: sample.integers) },
            { tx in _ = try tx.view.get(30, in: sample.integers) },
            { tx in _ = try tx.view.blob(of: 30, in: sample.integers)?.bytes(in: 0..<9000) },
        ] as [(borrowing WriteTransaction) throws -> Void] {
            let error = #expect(throws: StorageError.self) { try sample.store.write(change) }
            if case .corrupted = error {} else { Issue.record("\(String(describing: error))") }
        }
        #expect(try !sample.store.verify().isClean)
    }

    // MARK: The checkpoint's directory

    @Test func directoriesThatContradictThemselvesAreRefused() throws {
        var states: [TreeState] = []
        for (id, kind) in [(UInt32(1), KeyKind.integer), (4, .bytes)] {
            var state = TreeState(id: id, kind: kind)
            state.levels = 2
            state.count = 9
            states.append(state)
        }
        let regions = [SpaceMap.RegionState(copy: 1, writeID: 5), SpaceMap.RegionState(copy: 2, writeID: 6)]
        let whole = Directory(regions: regions, trees: states, names: TreeNames(["one": 1, "two": 4])).encoded()
        let read = try #require(Directory(whole, regions: 2))
        #expect(read.trees.map(\.id) == [1, 4] && read.regions.map(\.copy) == [1, 2] && read.names.id(of: "two") == 4)
        let ends = [18, 18 + 24 + 3, whole.count]
        for count in 0..<whole.count where !ends.contains(count) {
            #expect(Directory(Array(whole[..<count]), regions: 2) == nil, "cut after \(count) bytes")
        }
        var copy = whole
        copy[0] = UInt8(SpaceMap.bitmapCopies)
        #expect(Directory(copy, regions: 2) == nil)
        let twins = Directory(regions: regions, trees: states, names: TreeNames(["one": 1, "one ": 4])).encoded()
        var same = twins
        same[same.count - 5] = 3
        same.removeLast()
        #expect(Directory(same, regions: 2) == nil)
    }

    // MARK: The log

    private func bytes(_ parts: [any FixedWidthInteger]) -> [UInt8] {
        parts.flatMap { part in
            withUnsafeBytes(of: UInt64(truncatingIfNeeded: part)) { Array($0.prefix(part.bitWidth / 8)) }
        }
    }

    /// Operations that are whole, and that no transaction would have written.
    @Test func operationsThatDoNotFitAreRefused() throws {
        let sample = try sample()
        let (integers, keyed) = (sample.integers.id, sample.bytes.id)
        let long = [UInt8](repeating: 1, count: 901)
        let runs = ValueExtents(
            length: 8000, stored: 8000, isCompressed: false, digest: 1, runs: [.init(page: 9, writeID: 1, count: 2)]
        ).encoded()
        let cases: [(operation: [UInt8], reason: String)] = [
            (
                bytes([Operation.createTree.rawValue, UInt32(1), KeyKind.integer.rawValue, UInt16(1)]) + [65],
                "is not available"
            ),
            (
                bytes([Operation.createTree.rawValue, UInt32.max, KeyKind.integer.rawValue, UInt16(1)]) + [65],
                "is not available"
            ),
            (bytes([Operation.createTree.rawValue, UInt32(90), UInt8(9), UInt16(1)]) + [65], "cannot be read"),
            (bytes([Operation.deleteInteger.rawValue, keyed, UInt64(1)]), "keys of tree number"),
            (bytes([Operation.deleteRange.rawValue, integers, UInt64(9), UInt64(3)]), "cannot be read"),
            (
                bytes([Operation.putBytes.rawValue, keyed, UInt16(901)]) + long + bytes([UInt32(0)]),
                "a key of 901 bytes"
            ),
            (
                bytes([Operation.putBytesRuns.rawValue, keyed, UInt16(901)]) + long + bytes([UInt32(runs.count)])
                    + runs,
                "a key of 901 bytes"
            ),
            (bytes([Operation.putBytes.rawValue, keyed, UInt16(900)]) + [1, 2], "cannot be read"),
            (bytes([Operation.deleteInteger.rawValue, UInt32(77), UInt64(1)]), "no tree"),
            (bytes([UInt8(200), integers]), "cannot be read"),
        ]
        for (operation, reason) in cases {
            let tx = try sample.store.beginWrite()
            var found: StorageError?
            do { try tx.replay(operation) } catch { found = error }
            guard case .logDamaged(_, let text) = found else {
                Issue.record("\(reason): \(String(describing: found))")
                continue
            }
            #expect(text.contains(reason), "\(text)")
            tx.rollback()
        }
        #expect(try sample.store.verify().isClean)
    }

    /// Whichever operation it is that no longer fits the log, the transaction commits all the same, and whole.
    @Test(arguments: 0..<5) func everyOperationMayOutgrowTheLog(kind: Int) throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 1
        let store = try Store(at: "d/s.mako", options: options)
        let trees = try store.write { tx in
            (try tx.createTree(named: "i", keys: .integer), try tx.createTree(named: "b", keys: .bytes))
        }
        for part in UInt64(0)..<10 {
            try store.write { tx in
                for key in part * 60..<part * 60 + 60 {
                    try tx.put([1], for: key, in: trees.0)
                    try tx.put([1], for: [UInt8(key >> 8), UInt8(key & 255)], in: trees.1)
                }
            }
        }
        let checkpoints = store.checkpointer.completed
        try store.write { tx in
            for number in UInt64(0)..<600 {
                switch kind {
                case 0: _ = try tx.delete(number, in: trees.0)
                case 1: _ = try tx.delete([UInt8(number >> 8), UInt8(number & 255)], in: trees.1)
                case 2: _ = try tx.deleteRange(number...number, in: trees.0)
                case 3: if number < 400 { _ = try tx.createTree(named: "tree \(number)", keys: .bytes) }
                default: try tx.put([2], for: number, in: trees.0)
                }
            }
        }
        #expect(store.checkpointer.completed > checkpoints)
        let expected = try store.read { try ModelStore(reading: $0) }
        options.fileSystem = SimulatedDisk(disk.crashState().image([]))
        disk.cutPower()
        withExtendedLifetime(store) {}
        let again = try Store(at: "d/s.mako", options: options)
        #expect(try again.read { try ModelStore(reading: $0) } == expected)
        #expect(try again.verify().isClean)
        try again.close()
    }

    @Test func logsOfOtherDatabasesAreNotTakenOver() throws {
        func image(_ seed: UInt64, closing: Bool) throws -> (image: DiskImage, segments: [UInt64]) {
            let disk = SimulatedDisk()
            var options = StoreOptions()
            options.fileSystem = disk
            options.background = .manual
            options.entropy = SeededEntropy(seed: seed)
            options.logSegmentBytes = 1
            let store = try Store(at: "d/s.mako", options: options)
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            for key in UInt64(0)..<20 {
                try store.write { try $0.put([UInt8](repeating: 3, count: 900), for: key, in: tree) }
            }
            if closing { try store.close() }
            let image = disk.settledImage()
            let segments = image.files.keys.compactMap { UInt64($0.replacing("d/s.mako-wal-", with: "")) }.sorted()
            disk.cutPower()
            withExtendedLifetime(store) {}
            return (image, segments)
        }
        func refusal(_ image: DiskImage) -> String {
            var options = StoreOptions()
            options.fileSystem = SimulatedDisk(image)
            options.background = .manual
            do {
                _ = try Store(at: "d/s.mako", options: options)
                return "opened"
            } catch { return "\(error)" }
        }
        let ours = try image(1, closing: false)
        let closed = try image(1, closing: true)
        let theirs = try image(2, closing: false)
        #expect(ours.segments.count > 2 && ours.segments == theirs.segments && closed.segments.isEmpty)
        for number in ours.segments {
            let name = "d/s.mako-wal-\(number)"
            var mixed = ours.image
            mixed.files[name] = theirs.image.files[name]
            #expect(refusal(mixed).contains("belongs to another database"), "segment \(number)")
            mixed = closed.image
            mixed.files[name] = theirs.image.files[name]
            #expect(refusal(mixed).contains("belongs to another database"), "segment \(number)")
        }
    }

    @Test func headersOfFramesAndSegmentsAreChecked() {
        var block = [UInt8](repeating: 0, count: SegmentHeader.blockBytes)
        func header(_ number: UInt64, _ bytes: UInt64) -> Bool {
            block.withUnsafeMutableBytes { buffer in
                guard let base = buffer.baseAddress else { return false }
                SegmentHeader(
                    database: DatabaseID(high: 1, low: 2), number: number, salt: 3, previousEnd: 0, chain: 0,
                    segmentBytes: bytes
                ).write(to: base)
                return SegmentHeader(base) != nil
            }
        }
        #expect(header(1, 1 << 20) && header(SegmentHeader.numberLimit - 1, 1 << 32))
        #expect(!header(SegmentHeader.numberLimit, 1 << 20) && !header(1, 0) && !header(1, 5000) && !header(1, 1 << 33))
        func frame(stored: Int, raw: Int, available: Int) -> Bool {
            block.withUnsafeMutableBytes { buffer in
                guard let base = buffer.baseAddress else { return false }
                let frame = LogFrame(
                    stored: stored, raw: raw, isCompressed: false, lsn: 4096, commit: 1, durable: 0, kind: .commit)
                _ = frame.write(to: base, salt: 9, chain: 7)
                return LogFrame(base, available: available, lsn: 4096, salt: 9) != nil
            }
        }
        #expect(frame(stored: 8, raw: 8, available: 4096) && frame(stored: 8, raw: 8, available: LogFrame.headerBytes))
        #expect(!frame(stored: 8, raw: 9, available: 4096) && !frame(stored: 8, raw: 8, available: 8))
    }
}

extension WriteTransaction {
    /// Applies the payload of a logged commit, as recovery does.
    func replay(_ payload: [UInt8]) throws(StorageError) {
        let writer = writer
        let outcome: Result<Void, StorageError> = payload.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try writer.replay(bytes, commit: 1, path: "crafted") }
        }
        try outcome.get()
    }
}
