import Synchronization

/// The open snapshots: one slot each, on cache lines of its own.
///
/// A reader stores the transaction id (point) that it wants in a slot, and then checks that this is still the published
/// version; if not, it tries again. A publisher reads the slots after it has published. All four steps are sequentially
/// consistent, so either the reader sees the new version or the publisher sees the reader.
final class SnapshotRegistry: @unchecked Sendable {
    private static let chunkLimit = 20
    private static let firstChunk = 64

    private let lock = Lock()
    // Chunk k has 64 << k slots. Chunks are added, and freed with the registry.
    private let chunks: UnsafeMutablePointer<Atomic<UInt>>
    private let chunkCount = Atomic<Int>(0)
    /// The end of the slots of the first chunk that were ever claimed; publishers read no further.
    private let reach = Atomic<Int>(0)
    // Guarded by `lock`.
    private var labels: [UnsafeMutablePointer<SnapshotSlot>: String] = [:]

    /// Expired snapshots, each with the epoch after which no operation reads them. Guarded by `expiryLock`.
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

    /// Claims a slot; nil if tens of millions are open. It pins nothing until a point is stored.
    ///
    /// - Parameter hasAge: whether the age limit applies.
    func claim(hasAge: Bool, label: String? = nil) -> UnsafeMutablePointer<SnapshotSlot>? {
        guard let slot = claim() else { return nil }
        slot.pointee.view.life.store(
            (hasAge ? SnapshotRegistry.unknown : SnapshotRegistry.never) << Snapshot.Life.timeShift, ordering: .relaxed)
        slot.pointee.hasLabel = label != nil
        if let label { lock.withLock { labels[slot] = label } }
        return slot
    }

    /// No time yet; the next `age` sets it.
    private static let unknown: UInt64 = 0
    /// A time that never reaches the age limit.
    private static let never = UInt64.max >> Snapshot.Life.timeShift

    private func claim() -> UnsafeMutablePointer<SnapshotSlot>? {
        // Threads start at different slots, because a slot that changes threads also moves its cache lines.
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

    /// Extends the range of slots that publishers read. Must come before the point is stored: together with that store
    /// and the following check of the published version it is sequentially consistent.
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

    /// Releases the pages of a snapshot that no operation reads any more. The slot stays claimed.
    func unpin(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        slot.pointee.point.store(0, ordering: .sequentiallyConsistent)
    }

    /// Releases a slot after its snapshot was released.
    func release(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
        let life = slot.pointee.view.life.exchange(Snapshot.Life.closed.rawValue, ordering: .acquiringAndReleasing)
        // If the snapshot is expiring, `endExpiry` frees the slot when it finds it closed.
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

    /// Sets the time of snapshots that were taken since the last call, so that taking one does not read the clock, and
    /// marks those that are too old as expiring: they read nothing from their next operation on.
    ///
    /// - Parameters:
    ///   - now: the time in milliseconds, not 0.
    ///   - limit: the age limit in milliseconds.
    /// - Returns: the slots of the marked snapshots, for `endExpiry` when all operations that began before have ended.
    func age(to now: UInt64, limit: UInt64) -> [UnsafeMutablePointer<SnapshotSlot>] {
        var slots: [UnsafeMutablePointer<SnapshotSlot>] = []
        forEachSlot { slot in
            guard slot.pointee.point.load(ordering: .relaxed) != 0 else { return }
            // The time is part of the compared word, so the slot cannot belong to another snapshot meanwhile.
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

    /// The time of snapshots that a suspension has ended.
    static let suspended = never - 1

    /// Marks all open snapshots as expiring, because their store is being suspended.
    ///
    /// - Returns: the slots of the marked snapshots, for `endExpiry` when all operations that began before have ended.
    func suspendAll() -> [UnsafeMutablePointer<SnapshotSlot>] {
        var slots: [UnsafeMutablePointer<SnapshotSlot>] = []
        let desired = SnapshotRegistry.suspended << Snapshot.Life.timeShift | Snapshot.Life.expiring.rawValue
        forEachSlot { slot in
            guard slot.pointee.point.load(ordering: .sequentiallyConsistent) != 0 else { return }
            var life = slot.pointee.view.life.load(ordering: .acquiring)
            // `age` may set the time meanwhile.
            while life & Snapshot.Life.mask == Snapshot.Life.open.rawValue {
                let (isMarked, found) = slot.pointee.view.life.compareExchange(
                    expected: life, desired: desired, ordering: .sequentiallyConsistent)
                if isMarked {
                    slots.append(slot)
                    return
                }
                life = found
            }
        }
        return slots
    }

    /// Releases the pages of expired snapshots.
    func endExpiry(_ slots: [UnsafeMutablePointer<SnapshotSlot>]) {
        for slot in slots {
            unpin(slot)
            let life = slot.pointee.view.life.load(ordering: .acquiring)
            let isStillHeld =
                life & Snapshot.Life.mask == Snapshot.Life.expiring.rawValue
                && slot.pointee.view.life.compareExchange(
                    expected: life, desired: life | Snapshot.Life.expired.rawValue, ordering: .acquiringAndReleasing
                ).exchanged
            // The snapshot was released meanwhile and left its slot to this function.
            if !isStillHeld { free(slot) }
        }
    }

    /// Returns the oldest open snapshot: its point, the time when it was first seen (nil without an age limit), and its
    /// label.
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

    /// Returns the points in use, in ascending order, without duplicates.
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

    /// The number of open snapshots.
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
        // The chunk's address was stored before the chunk was counted.
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

/// A snapshot's view, and its point in use or 0. The view must be the first field, because a snapshot uses the slot's
/// address for it.
struct SnapshotSlot: ~Copyable {
    var view = Snapshot.ViewState.none()
    let point = Atomic<UInt64>(0)
    let isClaimed = Atomic<Bool>(false)
    /// Whether the registry has a label for it.
    var hasLabel = false
    /// The version whose trees its view still names after the snapshot has ended.
    var kept: Unmanaged<Version>?
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
}

extension Snapshot.ViewState {
    /// Whether it was taken before a fork, by the parent of this process. Two plain loads.
    @inline(__always)
    var isInherited: Bool { generation != Forks.generation }

    private static let noNames = TreeNames()
    private nonisolated(unsafe) static let noTrees = UnsafeMutablePointer<TreeState>.allocate(capacity: 1)

    /// Returns the view of an unused slot.
    static func none() -> Snapshot.ViewState {
        Snapshot.ViewState(
            trees: noTrees, treeCount: 0, commit: 0, changes: 0, bufferedPuts: 0,
            names: Unmanaged.passUnretained(noNames))
    }
}

/// Pins the pages of a point without a readable version.
struct PointHold {
    private let slot: UnsafeMutablePointer<SnapshotSlot>
    private let registry: SnapshotRegistry

    /// Nil without a free slot. The point must be in use at this time.
    init?(_ point: UInt64, in registry: SnapshotRegistry) {
        guard let slot = registry.claim(hasAge: false, label: "backup") else { return nil }
        slot.pointee.point.store(point, ordering: .sequentiallyConsistent)
        self.slot = slot
        self.registry = registry
    }

    func release() { registry.release(slot) }
}

extension Store {
    /// Keeps the version of a slot whose pages are about to be released, so that its snapshot still names its trees,
    /// and reads report why it ended.
    func keepTrees(of slot: UnsafeMutablePointer<SnapshotSlot>) {
        let point = slot.pointee.point.load(ordering: .relaxed)
        slot.pointee.kept = versions.lock.withLock {
            // A version stays in the list while its point is in use.
            versions.all.last { $0.point == point }.map { Unmanaged.passRetained($0) }
        }
    }
}
