import CPlatform
import Synchronization

/// The lock of an object: one of a fixed number of words, selected by the object's address, so that objects need no
/// lock of their own.
///
/// Never hold two at once, because two objects may share a word. The lock guards single property accesses: taking it
/// costs one atomic exchange, releasing it a store. A waiter spins, then yields, then sleeps, so that a holder of any
/// priority can run.
///
/// The holder wakes no waiter: to see that there is one, it would have to release with a second atomic exchange, and
/// each read of a property would pay for it. A holder reads or writes a property, or encodes or copies the values of
/// one object; it must not run code of a value, read a page or wait for a transaction. So a waiter sleeps only if the
/// holder is preempted or the object is large, and then for about 500 µs at most after the release. See decision 113.
@frozen
public struct ObjectLock: @unchecked Sendable {
    // Unchecked: a pointer to a word that lives as long as the process.
    @usableFromInline let word: UnsafeMutableRawPointer

    /// The lock of an object.
    @inlinable @inline(__always)
    public init(_ object: AnyObject) {
        word = mako_object_lock(Unmanaged.passUnretained(object).toOpaque())
    }

    @inlinable @inline(__always)
    var isTaken: UnsafeMutablePointer<Atomic<UInt32>> { word.assumingMemoryBound(to: Atomic<UInt32>.self) }

    /// Takes the lock.
    @inlinable @inline(__always)
    public func lock() {
        if isTaken.pointee.exchange(1, ordering: .acquiring) != 0 { wait() }
    }

    /// Releases the lock.
    @inlinable @inline(__always)
    public func unlock() {
        assert(isTaken.pointee.load(ordering: .relaxed) != 0, "invariant 16: values are accessed under the lock")
        isTaken.pointee.store(0, ordering: .releasing)
    }

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
                // Yielding alone would starve a holder with lower priority.
                usleep(rounds < 200 ? 20 : 500)
            }
        }
    }
}
