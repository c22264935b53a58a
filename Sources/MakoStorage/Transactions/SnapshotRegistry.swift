import Synchronization

/// Which versions are being read: one slot per open snapshot, each alone on its cache lines.
///
/// A reader publishes the point it wants in a slot and then looks whether that is still the published version; if
/// not it tries again. Whoever publishes a version looks at the slots afterwards. All four steps are sequentially
/// consistent, so either the reader sees the new version or the publisher sees the reader.
final class SnapshotRegistry: @unchecked Sendable {
    private static let chunkLimit = 20
    private static let firstChunk = 64

    private let lock = Lock()
    // Chunk k has 64 << k slots. Chunks are only added, and freed with the registry.
    private let chunks: UnsafeMutablePointer<Atomic<UInt>>
    private let chunkCount = Atomic<Int>(0)

    init() {
        chunks = .allocate(capacity: SnapshotRegistry.chunkLimit)
        for index in 0..<SnapshotRegistry.chunkLimit { (chunks + index).initialize(to: Atomic(0)) }
        addChunk(at: 0)
    }

    deinit {
        for index in 0..<chunkCount.load(ordering: .acquiring) {
            let (slots, count) = chunk(index)
            slots.deinitialize(count: count)
            slots.deallocate()
        }
        chunks.deinitialize(count: SnapshotRegistry.chunkLimit)
        chunks.deallocate()
    }

    /// Claims a slot, or nil when tens of millions are open. It pins nothing until a point is stored.
    func claim() -> UnsafeMutablePointer<SnapshotSlot>? {
        while true {
            let known = chunkCount.load(ordering: .acquiring)
            for index in 0..<known {
                let (slots, count) = chunk(index)
                for slot in 0..<count where !slots[slot].isClaimed.load(ordering: .relaxed) {
                    if slots[slot].isClaimed.compareExchange(
                        expected: false, desired: true, ordering: .acquiringAndReleasing
                    ).exchanged {
                        return slots + slot
                    }
                }
            }
            guard known < SnapshotRegistry.chunkLimit else { return nil }
            lock.withLock { if chunkCount.load(ordering: .acquiring) == known { addChunk(at: known) } }
        }
    }

    /// Gives a slot back for other snapshots.
    func release(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        slot.pointee.point.store(0, ordering: .sequentiallyConsistent)
        slot.pointee.isClaimed.store(false, ordering: .releasing)
    }

    /// The points in use, ascending, without repetition.
    func activePoints() -> [UInt64] {
        var points: [UInt64] = []
        forEachSlot { slot in
            let point = slot.pointee.point.load(ordering: .sequentiallyConsistent)
            if point != 0 { points.append(point) }
        }
        guard points.count > 1 else { return points }
        points.sort()
        var unique: [UInt64] = []
        for point in points where unique.last != point { unique.append(point) }
        return unique
    }

    /// Open snapshots.
    var count: Int {
        var count = 0
        forEachSlot { if $0.pointee.isClaimed.load(ordering: .relaxed) { count += 1 } }
        return count
    }

    private func forEachSlot(_ body: (UnsafeMutablePointer<SnapshotSlot>) -> Void) {
        for index in 0..<chunkCount.load(ordering: .acquiring) {
            let (slots, count) = chunk(index)
            for slot in 0..<count { body(slots + slot) }
        }
    }

    private func chunk(_ index: Int) -> (UnsafeMutablePointer<SnapshotSlot>, Int) {
        let address = chunks[index].load(ordering: .acquiring)
        // Stored before the count that led here.
        return (UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped, SnapshotRegistry.firstChunk << index)
    }

    private func addChunk(at index: Int) {
        let count = SnapshotRegistry.firstChunk << index
        let slots = UnsafeMutablePointer<SnapshotSlot>.allocate(capacity: count)
        for slot in 0..<count { (slots + slot).initialize(to: SnapshotSlot()) }
        chunks[index].store(UInt(bitPattern: slots), ordering: .releasing)
        chunkCount.store(index + 1, ordering: .releasing)
    }
}

/// A point in use, or 0.
struct SnapshotSlot: ~Copyable {
    let point = Atomic<UInt64>(0)
    let isClaimed = Atomic<Bool>(false)
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
    private let morePadding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
}
