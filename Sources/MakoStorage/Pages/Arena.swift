#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A reservation of address space, zeroed unless it is kept, that the system backs with memory as it is touched.
///
/// Reserving costs nothing; where the system knows transparent huge pages the reservation asks for them, because
/// a cached lookup is otherwise dominated by address translation.
struct Arena: ~Copyable {
    var base: UnsafeMutableRawPointer { reservation.base }
    private let reservation: Reservation
    private let isKept: Bool

    /// Address space from the system.
    fileprivate struct Reservation {
        var mapping: UnsafeMutableRawPointer
        var mappedBytes: Int
        /// Where the first huge page begins.
        var base: UnsafeMutableRawPointer
        var bytes: Int
    }

    private static let hugePageBytes = 2 << 20

    /// Reserves `bytes`, or nil when the address space is too small for it.
    ///
    /// - Parameters:
    ///   - wantsHugePages: whether to ask for them. The first touch of one clears all of it, which little use does not repay.
    ///   - isKept: the latest such arena to go is kept for the next of its size, as an allocator keeps what was freed; the
    ///     system may take its memory when it is short. What it held may still be there then.
    init?(bytes: Int, wantsHugePages: Bool = true, isKept: Bool = false) {
        self.isKept = isKept
        if isKept, let idle = IdleReservation.take(bytes: bytes) {
            reservation = idle
            return
        }
        let wanted = bytes + Arena.hugePageBytes
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #endif
        guard let mapping = mmap(nil, wanted, PROT_READ | PROT_WRITE, flags, -1, 0), mapping != MAP_FAILED else {
            return nil
        }
        let misalignment = Int(bitPattern: mapping) & (Arena.hugePageBytes - 1)
        let base = misalignment == 0 ? mapping : mapping + (Arena.hugePageBytes - misalignment)
        reservation = Reservation(mapping: mapping, mappedBytes: wanted, base: base, bytes: bytes)
        #if os(Linux)
            if wantsHugePages { _ = madvise(base, bytes, 14 /* MADV_HUGEPAGE */) }
        #endif
    }

    /// Gives the memory back to the system; the address space stays.
    func discard() { discard(0, count: reservation.bytes) }

    /// Gives a part of the memory back, in bytes.
    func discard(_ offset: Int, count: Int) { _ = madvise(base + offset, count, MADV_DONTNEED) }

    deinit {
        let leaving = isKept ? IdleReservation.keep(reservation) : reservation
        if let leaving { munmap(leaving.mapping, leaving.mappedBytes) }
    }
}

/// The reservation that is kept: one in a process.
private enum IdleReservation {
    private static let lock = Lock()
    private nonisolated(unsafe) static var idle: Arena.Reservation?

    static func take(bytes: Int) -> Arena.Reservation? {
        lock.withLock {
            guard let found = idle, found.bytes == bytes else { return nil }
            idle = nil
            return found
        }
    }

    /// Keeps a reservation in the place of another, which is answered.
    static func keep(_ reservation: Arena.Reservation) -> Arena.Reservation? {
        // Where the advice is unknown the memory simply stays.
        _ = madvise(reservation.base, reservation.bytes, MADV_FREE)
        return lock.withLock {
            defer { idle = reservation }
            return idle
        }
    }
}
