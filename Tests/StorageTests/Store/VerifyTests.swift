import MakoTestSupport
import Testing

@testable import MakoStorage

/// Every other test ends with `verify`, so it must find each fault: each thing that it checks is made wrong once, in
/// memory, where no checksum hides the fault.
@Suite struct VerifyTests {
    private struct Sample {
        var store: Store
        var integers: TreeState
        var bytes: TreeState

        func page(_ reference: PageReference, _ type: PageType, _ level: Int) throws -> UnsafeMutableRawPointer {
            try store.frames.resolve(reference, type: type, level: level).base
        }

        func integerRoot() throws -> UnsafeMutableRawPointer {
            try page(integers.root, .integerInner, integers.levels - 1)
        }

        func byteRoot() throws -> UnsafeMutableRawPointer { try page(bytes.root, .byteInner, bytes.levels - 1) }

        func integerLeaf(_ slot: Int) throws -> UnsafeMutableRawPointer {
            try page(IntegerLayout.child(Page(integerRoot()), at: slot), .integerLeaf, 0)
        }

        func exchangeByteLeaves() throws {
            let root = try byteRoot()
            let (first, second) = (ByteNode.child(root, 1), ByteNode.child(root, 2))
            ByteNode.setChild(root, 1, second)
            ByteNode.setChild(root, 2, first)
        }

        func byteLeaf(_ slot: Int) throws -> UnsafeMutableRawPointer {
            try page(ByteNode.child(byteRoot(), slot), .byteLeaf, 0)
        }
    }

    private func sample() throws -> Sample {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        try store.write { tx in
            let integers = try tx.createTree(named: "i", keys: .integer)
            let bytes = try tx.createTree(named: "b", keys: .bytes)
            for key in UInt64(0)..<400 {
                let value = ValueShape(bytes: key == 3 ? 9000 : 100).value(seed: key)
                try tx.put(value, for: key * 10, in: integers)
                try tx.put(value, for: Array("key \(1000 + key)".utf8), in: bytes)
            }
        }
        try store.checkpoint()
        let version = store.newest
        let states = (0..<version.treeCount).map { version.trees[$0] }
        let sample = Sample(
            store: store, integers: try #require(states.first { $0.kind == .integer }),
            bytes: try #require(states.first { $0.kind == .bytes }))
        #expect(sample.integers.levels == 2 && sample.bytes.levels == 2)
        return sample
    }

    private static let faults: [(finding: String, damage: @Sendable (Sample) throws -> Void)] = [
        (
            "lies outside its bounds",
            { sample in
                let leaf = try sample.integerLeaf(1)
                IntegerNode.keys(leaf)[0] = 0
            }
        ),
        (
            "lies outside its bounds",
            { sample in
                let root = try sample.integerRoot()
                IntegerNode.keys(root)[1] = 0
            }
        ),
        (
            "keys do not ascend at",
            { sample in
                let leaf = try sample.integerLeaf(1)
                IntegerNode.keys(leaf)[2] = IntegerNode.keys(leaf)[1]
            }
        ),
        (
            "entries, but has",
            { sample in
                let leaf = try sample.integerLeaf(1)
                IntegerNode.remove(leaf, at: 0)
            }
        ),
        (
            "is an empty leaf",
            { sample in
                let leaf = try sample.integerLeaf(1)
                while Page(leaf).count > 0 { IntegerNode.remove(leaf, at: 0) }
            }
        ),
        (
            "is reached twice",
            { sample in
                let root = try sample.integerRoot()
                IntegerNode.children(root)[2] = IntegerNode.children(root)[1]
            }
        ),
        (
            "nothing refers to it",
            { sample in
                let root = try sample.integerRoot()
                IntegerNode.children(root)[2] = IntegerNode.children(root)[1]
            }
        ),
        (
            "is in use, but marked as free",
            { sample in
                let page = IntegerLayout.child(Page(try sample.integerRoot()), at: 1).page
                sample.store.versions.lock.withLock { sample.store.versions.space.setLive(page, false) }
            }
        ),
        (
            "its lower fence is not its separator",
            { sample in
                try sample.exchangeByteLeaves()
            }
        ),
        (
            "its upper fence is not the next separator",
            { sample in
                try sample.exchangeByteLeaves()
            }
        ),
        (
            "is not that of its key",
            { sample in
                let leaf = try sample.byteLeaf(1)
                ByteNode.heads(leaf)[1] ^= 1
            }
        ),
        (
            "keys do not ascend at",
            { sample in
                let leaf = try sample.byteLeaf(1)
                let slots = ByteNode.slots(leaf, count: Page(leaf).count)
                (slots[1], slots[2]) = (slots[2], slots[1])
            }
        ),
        (
            "on disk is not the one in memory",
            { sample in
                let leaf = try sample.byteLeaf(1)
                leaf.storeBytes(of: Page(leaf).writeID + 1 << 24, toByteOffset: Page.writeIDOffset, as: UInt64.self)
            }
        ),
        (
            "belongs to tree",
            { sample in
                let leaf = try sample.byteLeaf(1)
                leaf.storeBytes(of: 77, toByteOffset: Page.treeOffset, as: UInt32.self)
            }
        ),
        (
            "has no counts, other than its tree",
            { sample in
                let version = sample.store.newest
                for index in 0..<version.treeCount { version.trees[index].isCounted = true }
            }
        ),
        (
            "has a large value though it is said to have none",
            { sample in
                let version = sample.store.newest
                for index in 0..<version.treeCount { version.trees[index].mayHoldLargeValues = false }
            }
        ),
        (
            "the header block is not the one that was written last",
            { try $0.store.writeLaterHeader() }
        ),
        (
            "copy 1 of the header block is damaged",
            { sample in
                let bytes = [UInt8](repeating: 7, count: 9)
                try bytes.withUnsafeBytes { try sample.store.dataFile.file.write($0, at: UInt64(pageBytes) + 100) }
            }
        ),
    ]

    @Test func progressRisesToTheTotal() throws {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in UInt64(0)..<20_000 { try tx.put(ValueShape(bytes: 150).value(seed: key), for: key, in: tree) }
        }
        var seen: [VerifyProgress] = []
        let report = try store.verify { seen.append($0) }
        #expect(report.isClean && report.pages > 700)
        #expect(seen.count == report.pages / 256 + 1)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.done < $1.done && $0.total == $1.total })
        #expect(seen.last.map { $0.done == $0.total && $0.total >= report.pages } == true)
        try store.close()
    }

    @Test(arguments: faults.indices) func eachFaultIsFound(number: Int) throws {
        let sample = try sample()
        let clean = try sample.store.verify()
        #expect(clean.isClean && clean.entries == 800)
        let (finding, damage) = Self.faults[number]
        try damage(sample)
        let report = try sample.store.verify()
        #expect(report.findings.contains { $0.contains(finding) }, "\(report.findings.prefix(5))")
    }

    /// Values that are packed and still too long to be held in memory.
    @Test func longPackedValuesAreLookedInto() throws {
        let store = try Store(at: "d/s.mako", options: SalvageSample.options(MemoryFileSystem()))
        let noise = ValueShape(bytes: 1_500_000).value(seed: 1)
        let value = noise + [UInt8](repeating: 0, count: 1_500_000)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            try transaction.put(value, for: 1, in: tree)
            return tree
        }
        #expect(try store.verify().isClean)
        #expect(try store.read { try $0.get(1, in: tree) } == value)
        try store.checkpoint()
        #expect(try store.verify().isClean)
        #expect(store.stats.livePages < UInt64(value.count / pageBytes))
    }

    @Test func onlySoManyFindingsAreKept() throws {
        let sample = try sample()
        for slot in 0..<8 {
            let leaf = try sample.byteLeaf(slot)
            for entry in 0..<Page(leaf).count { ByteNode.heads(leaf)[entry] ^= 1 }
        }
        #expect(try sample.store.verify().findings.count == 100)
    }
}

extension Store {
    /// Writes a header that the store does not know of over both copies.
    fileprivate func writeLaterHeader() throws {
        var header = dataFile.header
        header.generation += 1
        var bytes = [UInt8](repeating: 0, count: pageBytes)
        for copy in 0..<FileHeader.copies {
            bytes.withUnsafeMutableBytes { if let base = $0.baseAddress { header.write(to: base, copy: copy) } }
            try bytes.withUnsafeBytes { try dataFile.file.write($0, at: UInt64(copy * pageBytes)) }
        }
    }
}
