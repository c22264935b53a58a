/// The latencies of the calls of a run, in nanoseconds, counted in memory of fixed size: a list of millions would be reallocated when it
/// grows, and the call that waits for that would be the longest.
struct Latencies {
    private static let nanosecondsPerStep: UInt64 = 100
    /// A tenth of a second of steps; longer calls are counted in the last.
    private var counts = [UInt32](repeating: 0, count: 1_000_001)
    private var total: UInt64 = 0
    private(set) var largest: UInt64 = 0

    mutating func note(_ nanoseconds: UInt64) {
        counts[Int(min(nanoseconds / Latencies.nanosecondsPerStep, UInt64(counts.count - 1)))] += 1
        total += 1
        largest = max(largest, nanoseconds)
    }

    /// The 99.9th percentile, to a tenth of a microsecond.
    var perThousand: UInt64 {
        var above = total / 1000
        for step in counts.indices.reversed() {
            let count = UInt64(counts[step])
            if count > above { return min(UInt64(step + 1) * Latencies.nanosecondsPerStep, largest) }
            above -= count
        }
        return 0
    }
}
