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
    /// Behind the last slot of the first chunk that was ever claimed: who publishes looks no further.
    private let reach = Atomic<Int>(0)
    // Guarded by `lock`.
    private var labels: [UnsafeMutablePointer<SnapshotSlot>: String] = [:]

    /// Snapshots that read no more, and the epoch after which no operation reads in them. Guarded by `expiryLock`.
    @exclusivity(unchecked) var expiring: [(epoch: UInt64, slots: [UnsafeMutablePointer<SnapshotSlot>])] = []
    let expiryLock = Lock()

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
    ///
    /// - Parameter hasAge: false for one that no age limit ends.
    func claim(hasAge: Bool, label: String? = nil) -> UnsafeMutablePointer<SnapshotSlot>? {
        guard let slot = claim() else { return nil }
        slot.pointee.view.life.store(
            (hasAge ? SnapshotRegistry.unknown : SnapshotRegistry.never) << Snapshot.Life.timeShift, ordering: .relaxed)
        slot.pointee.hasLabel = label != nil
        if let label { lock.withLock { labels[slot] = label } }
        return slot
    }

    /// Nobody has looked at the clock for it yet.
    private static let unknown: UInt64 = 0
    /// A time that never comes to be long ago.
    private static let never = UInt64.max >> Snapshot.Life.timeShift

    private func claim() -> UnsafeMutablePointer<SnapshotSlot>? {
        // Threads begin at places of their own: a slot that goes from one to another takes its cache lines along.
        let place = Epochs.threadNumber & (SnapshotRegistry.firstChunk - 1)
        while true {
            let known = chunkCount.load(ordering: .acquiring)
            for index in 0..<known {
                let (slots, count) = chunk(index)
                for step in 0..<count {
                    let position = (step + place) & (count - 1)
                    let slot = slots + position
                    if !slot.pointee.isClaimed.load(ordering: .relaxed),
                        slot.pointee.isClaimed.compareExchange(
                            expected: false, desired: true, ordering: .acquiringAndReleasing
                        ).exchanged
                    {
                        if index == 0 { reach(position + 1) }
                        return slot
                    }
                }
            }
            guard known < SnapshotRegistry.chunkLimit else { return nil }
            lock.withLock { if chunkCount.load(ordering: .acquiring) == known { addChunk(at: known) } }
        }
    }

    /// Sees to it that a slot is looked at, before its point is stored: with that store and the look at the published version behind it
    /// this is as sequentially consistent as they are.
    @inline(__always)
    private func reach(_ end: Int) {
        while true {
            let known = reach.load(ordering: .sequentiallyConsistent)
            if known >= end { return }
            if reach.compareExchange(expected: known, desired: end, ordering: .sequentiallyConsistent).exchanged {
                return
            }
        }
    }

    /// Lets go of the pages of a snapshot that nobody reads any more. The slot stays its own.
    func unpin(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        slot.pointee.point.store(0, ordering: .sequentiallyConsistent)
    }

    /// Gives a slot back for other snapshots: its own is gone.
    func release(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        let life = slot.pointee.view.life.exchange(Snapshot.Life.closed.rawValue, ordering: .acquiringAndReleasing)
        // Whoever made it expire still has to unpin it, and finds that it is closed.
        if life & Snapshot.Life.mask == Snapshot.Life.expiring.rawValue { return }
        free(slot)
    }

    private func free(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        if slot.pointee.hasLabel { lock.withLock { labels[slot] = nil } }
        unpin(slot)
        slot.pointee.kept?.release()
        slot.pointee.kept = nil
        slot.pointee.isClaimed.store(false, ordering: .releasing)
    }

    // MARK: Age

    /// Gives the snapshots that are new since the last call their time, so that taking one costs no look at the clock, and marks those
    /// that are too old: they read no more from their next operation on.
    ///
    /// - Parameters:
    ///   - now: in milliseconds, not 0.
    ///   - limit: how old they may be.
    /// - Returns: the slots of those marked, to be handed to `endExpiry` when all operations that had begun before have ended.
    func age(to now: UInt64, limit: UInt64) -> [UnsafeMutablePointer<SnapshotSlot>] {
        var slots: [UnsafeMutablePointer<SnapshotSlot>] = []
        forEachSlot { slot in
            guard slot.pointee.point.load(ordering: .relaxed) != 0 else { return }
            // The time is part of what is compared: the slot cannot have come to be another's meanwhile.
            let life = slot.pointee.view.life.load(ordering: .acquiring)
            let time = life >> Snapshot.Life.timeShift
            guard life & Snapshot.Life.mask == Snapshot.Life.open.rawValue else { return }
            if time == SnapshotRegistry.unknown {
                _ = slot.pointee.view.life.compareExchange(
                    expected: life, desired: now << Snapshot.Life.timeShift, ordering: .relaxed)
            } else if time < now, now - time > limit,
                slot.pointee.view.life.compareExchange(
                    expected: life, desired: life | Snapshot.Life.expiring.rawValue, ordering: .sequentiallyConsistent
                ).exchanged
            {
                slots.append(slot)
            }
        }
        return slots
    }

    /// Lets go of the pages of snapshots that were made to expire.
    func endExpiry(_ slots: [UnsafeMutablePointer<SnapshotSlot>]) {
        for slot in slots {
            unpin(slot)
            let life = slot.pointee.view.life.load(ordering: .acquiring)
            let isStillHeld =
                life & Snapshot.Life.mask == Snapshot.Life.expiring.rawValue
                && slot.pointee.view.life.compareExchange(
                    expected: life, desired: life | Snapshot.Life.expired.rawValue, ordering: .acquiringAndReleasing
                ).exchanged
            // Its snapshot went meanwhile and left the rest to this.
            if !isStillHeld { free(slot) }
        }
    }

    /// The oldest snapshot that is open: its point, when it was first seen (nil when no limit counts for it), and its label.
    func oldest() -> (point: UInt64, time: UInt64?, label: String?)? {
        var oldest: (point: UInt64, slot: UnsafeMutablePointer<SnapshotSlot>)?
        forEachSlot { slot in
            let point = slot.pointee.point.load(ordering: .sequentiallyConsistent)
            if point != 0, oldest.map({ point < $0.point }) ?? true { oldest = (point, slot) }
        }
        guard let oldest else { return nil }
        let time = oldest.slot.pointee.view.life.load(ordering: .acquiring) >> Snapshot.Life.timeShift
        return (oldest.point, time == SnapshotRegistry.never ? nil : time, lock.withLock { labels[oldest.slot] })
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
        forEachSlot { if $0.pointee.point.load(ordering: .relaxed) != 0 { count += 1 } }
        return count
    }

    private func forEachSlot(_ body: (UnsafeMutablePointer<SnapshotSlot>) -> Void) {
        for index in 0..<chunkCount.load(ordering: .acquiring) {
            let (slots, count) = chunk(index)
            let end = index == 0 ? reach.load(ordering: .sequentiallyConsistent) : count
            for slot in 0..<end { body(slots + slot) }
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

/// A snapshot's view and its point in use, or 0. The view comes first: a snapshot knows it by the slot's address.
struct SnapshotSlot: ~Copyable {
    var view = Snapshot.ViewState.none()
    let point = Atomic<UInt64>(0)
    let isClaimed = Atomic<Bool>(false)
    /// Whether the registry knows a label for it.
    var hasLabel = false
    /// What its view goes on to know its trees by when it reads no more.
    var kept: Unmanaged<Version>?
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
}

extension Snapshot.ViewState {
    /// Whether it was taken before a fork, by the parent of this process. Two plain loads.
    @inline(__always)
    var isInherited: Bool { generation != Forks.generation }

    private static let noNames = TreeNames()
    private nonisolated(unsafe) static let noTrees = UnsafeMutablePointer<TreeState>.allocate(capacity: 1)

    /// Of a slot that nobody has used yet.
    static func none() -> Snapshot.ViewState {
        Snapshot.ViewState(
            trees: noTrees, treeCount: 0, commit: 0, changes: 0, waitingPuts: 0,
            names: Unmanaged.passUnretained(noNames))
    }
}

/// Keeps the pages of a point in use, without a version that could be read.
struct PointHold {
    private let slot: UnsafeMutablePointer<SnapshotSlot>
    private let registry: SnapshotRegistry

    /// Nil when there is no slot left. The point must be in use at this moment.
    init?(_ point: UInt64, in registry: SnapshotRegistry) {
        guard let slot = registry.claim(hasAge: false, label: "backup") else { return nil }
        slot.pointee.point.store(point, ordering: .sequentiallyConsistent)
        self.slot = slot
        self.registry = registry
    }

    func release() { registry.release(slot) }
}

extension Store {
    /// Lets the snapshot of a slot, which is about to let go of its pages, go on to know its trees: what is asked of them says why it ended.
    func keepTrees(of slot: UnsafeMutablePointer<SnapshotSlot>) {
        let point = slot.pointee.point.load(ordering: .relaxed)
        slot.pointee.kept = versions.lock.withLock {
            // A version stays as long as its point is in use.
            versions.all.last { $0.point == point }.map { Unmanaged.passRetained($0) }
        }
    }
}
