import CPlatform
import Synchronization

/// Operation epochs: how the evictor learns that nobody can still be reading a frame.
///
/// A thread announces the epoch it began its operation in, in a cell that only it writes, and clears the cell at
/// the end. Who takes a frame away first unhooks it, then asks for `retire()`, and may reuse the frame once
/// `hasPassed` says that every operation begun before has ended. The scheme is epoch-based reclamation (Fraser,
/// "Practical lock-freedom", 2004) with the fence moved from the readers to the evictor: the kernel's process
/// barrier stands in for one fence per operation, which would stop the processor from overlapping lookups.
///
/// Each step that its correctness rests on has a name, in comments here and in `FrameStore`; `EpochModelTests` explores them in every order that
/// x86 and arm64 allow. A change of a step is a change of the model. Without the barrier, as on Apple systems, both sides fence: either
/// the reader sees that the frame is unhooked, or the evictor sees what the reader announced. `MAKO_NO_PROCESS_BARRIER=1` in the
/// environment takes that path everywhere.
enum Epochs {
    private static let current = Atomic<UInt64>(1)
    private static let registry = CellRegistry()
    /// Whether the kernel offers the process barrier. Without it each reader pays for its own fence.
    @inline(__always)
    static var hasProcessBarrier: Bool { mako_process_barrier_works() != 0 }

    /// What ends an operation: the thread's cell, or nil for one that is nested in another.
    typealias Entry = UnsafeMutablePointer<EpochCell>?

    /// Begins an operation on this thread. Nested operations are counted as one.
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

    /// Ends the operation that `enter()` gave this entry for. What it read was read before.
    @inline(__always)
    static func leave(_ entry: Entry) {
        // Model: leave
        entry?.pointee.epoch.store(0, ordering: .releasing)
    }

    /// A number that few other living threads have.
    static var threadNumber: Int { cell().pointee.number }

    /// Whether the calling thread is inside an operation.
    static var isInside: Bool { cell().pointee.epoch.load(ordering: .relaxed) != 0 }

    /// Closes the present epoch. What was unhooked before this call may be reused when `hasPassed` answers true
    /// for the value returned.
    static func retire() -> UInt64 {
        if hasProcessBarrier {
            // Model: processBarrier
            _ = mako_process_barrier()
        } else {
            // Model: evictorFence
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        // Model: advance
        return current.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    /// Whether every operation begun in or before `epoch` has ended.
    static func hasPassed(_ epoch: UInt64) -> Bool { registry.oldest() > epoch }

    @inline(__always)
    private static func cell() -> UnsafeMutablePointer<EpochCell> {
        if let known = mako_get_thread_cell() { return known.assumingMemoryBound(to: EpochCell.self) }
        return registry.claim()
    }
}

/// One thread's announcement, alone on its cache lines. The epoch comes first: `_Loan` ends it by its address.
struct EpochCell: ~Copyable {
    let epoch = Atomic<UInt64>(0)
    let isClaimed = Atomic<Bool>(false)
    /// The process whose thread has it: in the child of a fork, what the parent's other threads were in the middle of never ends.
    let generation = Atomic<UInt32>(0)
    /// Its place among the cells.
    let number: Int
    let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    let morePadding: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

    init(number: Int) { self.number = number }
}

/// All cells of the process. A cell outlives its thread and is handed to the next one.
private final class CellRegistry: @unchecked Sendable {
    private let lock = Lock()
    private var cells: [UnsafeMutablePointer<EpochCell>] = []
    private let key = ThreadExitKey { pointer in
        // The type of the parameter is left to the platform: some say that it is never null.
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
