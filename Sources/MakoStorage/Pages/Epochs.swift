import CPlatform
import Synchronization

/// Operation epochs: by them the evictor knows when no thread can still be reading a frame.
///
/// At the start of an operation a thread publishes the current epoch in a cell that only it writes; at the end it
/// clears the cell. A thread that evicts a frame first unhooks it (removes it from the page table), then calls
/// `retire()`, and may reuse the frame once `hasPassed` returns true: every operation that began before has ended. The
/// scheme is epoch-based reclamation (Fraser, "Practical lock-freedom", 2004) with the fence moved from the readers to
/// the evictor: one process barrier of the kernel replaces a fence per operation, which would keep the processor from
/// overlapping lookups.
///
/// Comments here and in `FrameStore` name each step that correctness depends on (`Model: …`); `EpochModelTests`
/// explores the steps in every order that x86 and arm64 allow. A change of a step must change the model too. Without
/// the process barrier, as on Apple platforms, both sides use a fence: either the reader sees that the frame is
/// unhooked, or the evictor sees the reader's epoch. `MAKO_NO_PROCESS_BARRIER=1` in the environment selects this path
/// everywhere, and so does a barrier that fails.
enum Epochs {
    private static let current = Atomic<UInt64>(1)
    private static let registry = CellRegistry()
    /// Whether the kernel has the process barrier. Without it each operation of a reader has a fence.
    @inline(__always)
    static var hasProcessBarrier: Bool { mako_process_barrier_works() != 0 }

    /// The thread's cell, to be passed to `leave`; nil for a nested operation.
    typealias Entry = UnsafeMutablePointer<EpochCell>?

    /// Begins an operation on this thread. A nested operation is part of the outer one.
    @inline(__always)
    static func enter() -> Entry {
        let cell = Epochs.cell()
        if cell.pointee.epoch.load(ordering: .relaxed) != 0 { return nil }
        // Model: readEpoch, announce
        cell.pointee.epoch.store(current.load(ordering: .relaxed), ordering: .releasing)
        // Model: readerFence
        if !hasProcessBarrier { atomicMemoryFence(ordering: .sequentiallyConsistent) }
        return cell
    }

    /// Ends the operation that `enter()` returned this entry for. Its reads are ordered before the end.
    @inline(__always)
    static func leave(_ entry: Entry) {
        // Model: leave
        entry?.pointee.epoch.store(0, ordering: .releasing)
    }

    /// A number that few other living threads share.
    static var threadNumber: Int { cell().pointee.number }

    /// Whether the calling thread is inside an operation.
    static var isInside: Bool { cell().pointee.epoch.load(ordering: .relaxed) != 0 }

    /// Ends the current epoch. Frames unhooked before this call may be reused when `hasPassed` returns true for the
    /// returned value.
    static func retire() -> UInt64 {
        // Model: processBarrier
        if hasProcessBarrier && mako_process_barrier() != 0 { doWithoutProcessBarrier() }
        if !hasProcessBarrier {
            // Model: evictorFence
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            if mayBeUnfenced.load(ordering: .acquiring) { waitForUnfencedReaders() }
        }
        // Model: advance
        return current.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    /// Makes readers use fences from now on, because the kernel refuses the barrier: a filter of system calls may be in
    /// force since the process began.
    @inline(never)
    private static func doWithoutProcessBarrier() {
        // Before the flag, so that a thread that sees the flag sees this too.
        mayBeUnfenced.store(true, ordering: .sequentiallyConsistent)
        mako_do_without_process_barrier()
    }

    /// Whether readers may have announced an epoch without a fence just before a barrier failed.
    private static let mayBeUnfenced = Atomic<Bool>(false)

    /// Waits for the announcements of readers that have used no fence. Every thread waits, not only the one whose barrier
    /// failed, until one has done so. The pause is by far longer than a processor keeps a store from other processors.
    @inline(never)
    private static func waitForUnfencedReaders() {
        usleep(10_000)
        mayBeUnfenced.store(false, ordering: .releasing)
    }

    /// Whether every operation that began in or before `epoch` has ended.
    static func hasPassed(_ epoch: UInt64) -> Bool { registry.oldest() > epoch }

    /// Waits until every operation that began in or before `epoch` has ended. The caller must not be inside one.
    ///
    /// The end of an operation is one store and wakes no thread: a wake-up that cannot be lost needs at least a load
    /// after that store, and where there is no process barrier a fence between them, in each operation. So the waiter
    /// looks again: first after yields, because a lookup takes less time than waking a thread; then after pauses,
    /// because the body of `withValue` may take any time, and a thread that only yields keeps a processor busy and
    /// may starve a reader of lower priority. A wait ends at most `longestPause` late. See decision 113.
    static func waitUntilPassed(_ epoch: UInt64) {
        for _ in 0..<yieldsBeforePauses {
            if hasPassed(epoch) { return }
            yieldThread()
        }
        let (lock, never) = (Lock(), ConditionVariable())
        var pause = Duration.microseconds(50)
        lock.lock()
        defer { lock.unlock() }
        while !hasPassed(epoch) {
            _ = never.wait(lock, timeout: pause)
            pause = min(pause * 2, longestPause)
        }
    }

    private static let yieldsBeforePauses = 64
    private static let longestPause = Duration.milliseconds(1)

    @inline(__always)
    private static func cell() -> UnsafeMutablePointer<EpochCell> {
        if let known = mako_get_thread_cell() { return known.assumingMemoryBound(to: EpochCell.self) }
        return registry.claim()
    }
}

/// The epoch of one thread's operation, on cache lines of its own. `epoch` is the first field, because `_BorrowedValue` clears
/// it by the cell's address.
struct EpochCell: ~Copyable {
    let epoch = Atomic<UInt64>(0)
    let isClaimed = Atomic<Bool>(false)
    /// The fork generation of the process that uses the cell. In the child of a fork, operations of the parent's other
    /// threads never end.
    let generation = Atomic<UInt32>(0)
    /// The index among the cells.
    let number: Int
    let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    let morePadding: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

    init(number: Int) { self.number = number }
}

/// All cells of the process. A cell outlives its thread and is reused by a later one.
private final class CellRegistry: @unchecked Sendable {
    private let lock = Lock.forProcess()
    private var cells: [UnsafeMutablePointer<EpochCell>] = []
    private let key = ThreadExitKey { pointer in
        // The parameter's type is inferred, because only some platforms declare it as never null.
        let pointer: UnsafeMutableRawPointer? = pointer
        guard let cell = pointer?.assumingMemoryBound(to: EpochCell.self) else { return }
        cell.pointee.epoch.store(0, ordering: .releasing)
        cell.pointee.isClaimed.store(false, ordering: .releasing)
    }

    @inline(never)
    func claim() -> UnsafeMutablePointer<EpochCell> {
        let cell = lock.withLock { () -> UnsafeMutablePointer<EpochCell> in
            for cell in cells where !cell.pointee.isClaimed.load(ordering: .acquiring) {
                cell.pointee.isClaimed.store(true, ordering: .relaxed)
                cell.pointee.generation.store(Forks.generation, ordering: .relaxed)
                return cell
            }
            let cell = UnsafeMutablePointer<EpochCell>.allocate(capacity: 1)
            cell.initialize(to: EpochCell(number: cells.count))
            cell.pointee.isClaimed.store(true, ordering: .relaxed)
            cell.pointee.generation.store(Forks.generation, ordering: .relaxed)
            cells.append(cell)
            return cell
        }
        mako_set_thread_cell(cell)
        key.set(cell)
        return cell
    }

    func oldest() -> UInt64 {
        lock.withLock {
            var oldest = UInt64.max
            let generation = Forks.generation
            for cell in cells where cell.pointee.generation.load(ordering: .relaxed) == generation {
                // Model: scan
                let epoch = cell.pointee.epoch.load(ordering: .acquiring)
                if epoch != 0 { oldest = min(oldest, epoch) }
            }
            return oldest
        }
    }
}
