import MakoStorage
import MakoTestSupport
import ReplicationTestSupport

@testable import MakoReplication

/// Changes the objects of a branch, and restores its newest commit from them.
///
/// The first byte says what is made to fit again after the changes: checksums, digests of contents, the chain of headers.
/// Each further four bytes are a change: an object, a place in it, and what is changed there. A restore that is not refused
/// gives a database that opens, and in which `verify` finds nothing; without forging, one of the states that were shipped.
public func fuzzObjects(_ input: [UInt8]) {
    guard let base, let first = input.first else { return }
    var branch = ForgedBranch(base.objects)
    for start in stride(from: 1, to: input.count - 3, by: 4) {
        branch.change(Int(input[start]), at: Int(input[start + 1]) | Int(input[start + 2]) << 8, by: input[start + 3])
    }
    branch.forge(checksums: first & 1 != 0, digests: first & 2 != 0, chain: first & 4 != 0)
    let store = SimulatedObjectStore()
    store.objects = branch.objects
    // Of this call alone: tests run several at a time.
    var options = base.options
    options.fileSystem = MemoryFileSystem()
    do throws(ReplicationError) {
        let replica = try Replica(store)
        _ = try replica.restorePoints()
        try replica.restore(to: "a.mako", beginsBranch: first & 8 != 0, options: options)
    } catch { return }
    do {
        let restored = try Store(at: "a.mako", options: options)
        let findings = try restored.verify().findings
        if !findings.isEmpty { fatalError("restored with damage: \(findings)") }
        let content = try restored.read { try ModelStore(reading: $0) }
        if first & 7 == 0, !base.states.contains(where: { content.difference(from: $0) == nil }) {
            fatalError("a state that was never shipped")
        }
        try restored.close()
    } catch { fatalError("\(error)") }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzObjects(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// What a database shipped, and its states at the restore points.
private struct ShippedBranch: Sendable {
    let objects: [String: [UInt8]]
    let states: [ModelStore]
    let options: StoreOptions
}

/// A full backup, frames, an incremental backup with a large value, and frames.
private let base: ShippedBranch? = try? {
    let objects = SimulatedObjectStore()
    var options = StoreOptions()
    options.fileSystem = MemoryFileSystem()
    options.entropy = SeededEntropy(seed: 1)
    options.background = .manual
    options.cacheBytes = 1 << 20
    options.logSegmentBytes = 64 << 10
    options.logArchiveBytes = 1 << 20
    options.diskReserveBytes = 0
    let store = try Store(at: "shipped.mako", options: options)
    let replicator = try Replicator(store, to: objects)
    var states: [ModelStore] = []
    for (round, bytes) in [30, 40, 30_000, 50].enumerated() {
        for number in 0..<2 {
            try store.write { tx in
                let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
                let value = [UInt8](repeating: UInt8(round), count: bytes)
                try tx.put(value, for: UInt64(round * 10 + number), in: tree)
            }
            states.append(try store.read { try ModelStore(reading: $0) })
        }
        try replicator.ship()
    }
    try store.close()
    return ShippedBranch(objects: objects.objects, states: states, options: options)
}()

/// Objects of a branch, some of which are changed.
private struct ForgedBranch {
    private(set) var objects: [String: [UInt8]]
    private let names: [String]

    init(_ objects: [String: [UInt8]]) {
        self.objects = objects
        names = objects.keys.sorted()
    }

    mutating func change(_ number: Int, at place: Int, by value: UInt8) {
        let name = names[number % names.count]
        guard let count = objects[name]?.count, count > 0 else { return }
        if place == 0xFFFF {
            objects[name]?.removeLast(min(count, Int(value)))
        } else {
            objects[name]?[place % count] ^= value
        }
    }

    /// Makes headers fit the contents, as no damage does.
    mutating func forge(checksums: Bool, digests: Bool, chain: Bool) {
        var previous: UInt64?
        for name in names where name.contains("/seq/") {
            guard var object = objects[name], object.count >= SequenceHeader.bytes else { continue }
            var words = (1..<SequenceHeader.bytes / 8).map { Words(object).word($0) }
            let content = Array(object.dropFirst(SequenceHeader.bytes))
            if digests, !content.isEmpty { (words[19], words[20]) = (UInt64(content.count), Digest.of(content)) }
            if chain, let previous { words[16] = previous }
            guard checksums else { continue }
            object.replaceSubrange(0..<SequenceHeader.bytes, with: Words.encode(words, bytes: SequenceHeader.bytes))
            previous = Words(object).word(0)
            objects[name] = object
        }
    }
}
