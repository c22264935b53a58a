#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Wall-clock or thread time in nanoseconds.
enum Stopwatch: String, Sendable {
    case wall, cpu

    func now() -> UInt64 {
        var time = timespec()
        clock_gettime(self == .wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    func measure(_ body: () throws -> Void) rethrows -> UInt64 {
        let start = now()
        try body()
        return now() - start
    }
}
