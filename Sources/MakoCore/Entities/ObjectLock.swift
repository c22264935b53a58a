import CPlatform
import Synchronization

/// The lock of one object: one of a fixed number of words, picked by the object's address, so that objects carry no lock of their own.
///
/// Never hold two at once: two objects may share a word. What it guards takes nanoseconds, a property read or written, so taking it
/// costs one atomic exchange and giving it back a store. Who finds it taken spins, then yields, then sleeps: a holder of any priority gets
/// to run.
@frozen
public struct ObjectLock: @unchecked Sendable {
    // Unchecked: a pointer to a word that lives as long as the process.
    @usableFromInline let word: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    public init(_ object: AnyObject) {
        word = mako_object_lock(Unmanaged.passUnretained(object).toOpaque())
    }

    @inlinable @inline(__always)
    var isTaken: UnsafeMutablePointer<Atomic<UInt32>> { word.assumingMemoryBound(to: Atomic<UInt32>.self) }

    @inlinable @inline(__always)
    public func lock() {
        if isTaken.pointee.exchange(1, ordering: .acquiring) != 0 { wait() }
    }

    @inlinable @inline(__always)
    public func unlock() { isTaken.pointee.store(0, ordering: .releasing) }

    /// Runs a closure under the lock.
    @inlinable @inline(__always)
    public func locked<R>(_ body: () -> R) -> R {
        lock()
        defer { unlock() }
        return body()
    }

    @usableFromInline @inline(never)
    func wait() {
        var rounds = 0
        while true {
            if isTaken.pointee.load(ordering: .relaxed) == 0, isTaken.pointee.exchange(1, ordering: .acquiring) == 0 {
                return
            }
            rounds += 1
            if rounds < 64 {
                mako_pause()
            } else if rounds < 72 {
                sched_yield()
            } else {
                // Yielding alone would starve a holder of lower priority.
                usleep(rounds < 200 ? 20 : 500)
            }
        }
    }
}
