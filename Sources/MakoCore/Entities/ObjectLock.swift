#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The lock of one object: one of a fixed number of stripes, picked by the object's address, so that objects carry no lock of their own.
///
/// Never hold two at once: two objects may share a stripe.
@frozen
public struct ObjectLock: @unchecked Sendable {
    // Unchecked: a pointer to a mutex that lives as long as the process.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @inlinable @inline(__always)
    public init(_ object: AnyObject) {
        let address = UInt(bitPattern: ObjectIdentifier(object))
        mutex = ObjectLockStripes.base + Int(bitPattern: ((address >> 4) ^ (address >> 14)) & 1023) &* 2
    }

    @inlinable @inline(__always) public func lock() { pthread_mutex_lock(mutex) }
    @inlinable @inline(__always) public func unlock() { pthread_mutex_unlock(mutex) }

    /// Runs a closure under the lock.
    @inlinable @inline(__always)
    public func locked<R>(_ body: () -> R) -> R {
        lock()
        defer { unlock() }
        return body()
    }
}

@usableFromInline
enum ObjectLockStripes {
    /// Two mutexes' room for each stripe keeps neighbours off one cache line.
    @usableFromInline
    nonisolated(unsafe) static let base: UnsafeMutablePointer<pthread_mutex_t> = {
        let base = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 2048)
        for index in 0..<2048 { pthread_mutex_init(base + index, nil) }
        return base
    }()
}
