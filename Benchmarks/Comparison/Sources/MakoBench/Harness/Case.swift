/// How safe a write is when the call returns.
enum SyncMode: String, Sendable {
    /// It survives a power cut.
    case full
    /// It survives the end of the process; a power cut may lose the newest commits.
    case relaxed
    /// Commits wait for nothing and are written within a tenth of a second; the end of the process may lose the newest.
    case async
    /// Nothing is written.
    case none
}

/// The unit of a case.
enum Unit: String {
    case nanoseconds = "ns"
    case bytes
}

/// One repetition of one engine.
struct Sample {
    /// In the case's unit, for all operations.
    let amount: UInt64
    /// The checksum of the read or stored values; engines must agree.
    let checksum: UInt64?

    init(nanoseconds: UInt64, checksum: UInt64?) {
        amount = nanoseconds
        self.checksum = checksum
    }

    init(bytes: UInt64, checksum: UInt64?) {
        amount = bytes
        self.checksum = checksum
    }
}

/// One engine in one case. `measure` prepares what it needs, times only the work itself, and cleans up.
struct Contender {
    let engine: String
    let measure: (_ repetition: Int) throws -> Sample
}

/// A case that several engines run.
struct BenchmarkCase {
    let name: String
    let durability: SyncMode
    /// The size of the data set.
    let records: Int
    /// The operations in one repetition, the divisor of its amount.
    let operations: Int
    var threads = 1
    var unit = Unit.nanoseconds
    /// One untimed run of every engine before the first repetition.
    var warmsUp = true
    let contenders: [Contender]
}

/// The results of one engine in one case.
struct Result {
    let benchmark: BenchmarkCase
    let engine: String
    /// Amounts for each operation, sorted.
    let values: [Double]

    var median: Double {
        let middle = values.count / 2
        return values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
    }
}
