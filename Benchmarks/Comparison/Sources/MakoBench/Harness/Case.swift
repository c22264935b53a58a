/// How safe a write is when the call returns.
enum SyncMode: String, Sendable {
    /// It survives a loss of power.
    case full
    /// It survives the death of the process; the newest commits may be lost with the power.
    case relaxed
    /// Nothing is written.
    case none
}

/// One repetition of one engine.
struct Sample {
    let nanoseconds: UInt64
    /// What was read or stored, summed up; engines must agree.
    let checksum: UInt64?
}

/// One engine in one case. `measure` prepares what it needs, times only the work itself, and cleans up.
struct Contender {
    let engine: String
    let measure: (_ repetition: Int) throws -> Sample
}

/// A question put to several engines.
struct BenchmarkCase {
    let name: String
    let durability: SyncMode
    /// The size of the data set.
    let records: Int
    /// The operations in one repetition, by which its time is divided.
    let operations: Int
    var threads = 1
    /// One untimed run of every engine before the first repetition.
    var warmsUp = true
    let contenders: [Contender]
}

/// What one engine did in one case.
struct Result {
    let benchmark: BenchmarkCase
    let engine: String
    /// Nanoseconds for each operation, sorted.
    let values: [Double]

    var median: Double {
        let middle = values.count / 2
        return values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
    }
}
