import Foundation

/// The operations of a client of the Yahoo! Cloud Serving Benchmark, one per transaction.
///
/// Source: Cooper, Silberstein, Tam, Ramakrishnan, Sears, "Benchmarking cloud serving systems with YCSB", 2010.
struct Workload {
    enum Kind { case read, update, insert, scan, modify }

    struct Step {
        let kind: Kind
        /// The record's number; its key is `Workload.key`.
        let record: UInt64
        /// Records of a scan.
        let length: Int
    }

    let letter: Character
    /// Shares in percent.
    private let shares: [(Kind, Int)]
    private let readsLatest: Bool

    static let all = [
        Workload("a", [(.read, 50), (.update, 50)]), Workload("b", [(.read, 95), (.update, 5)]),
        Workload("c", [(.read, 100)]), Workload("d", [(.read, 95), (.insert, 5)], readsLatest: true),
        Workload("e", [(.scan, 95), (.insert, 5)]), Workload("f", [(.read, 50), (.modify, 50)]),
    ]

    private init(_ letter: Character, _ shares: [(Kind, Int)], readsLatest: Bool = false) {
        self.letter = letter
        self.shares = shares
        self.readsLatest = readsLatest
    }

    /// The operations of one thread. Records it inserts have numbers from `firstNew` on.
    func steps(_ count: Int, records: Int, firstNew: UInt64, seed: UInt64) -> [Step] {
        var random = Mixer(seed: seed)
        let zipf = Zipf(records)
        var inserted: UInt64 = 0
        return (0..<count).map { _ in
            var share = Int(random.next(upperBound: UInt64(100)))
            let kind =
                shares.first { entry in
                    share -= entry.1
                    return share < 0
                }?.0 ?? .read
            if kind == .insert {
                defer { inserted += 1 }
                return Step(kind: kind, record: firstNew + inserted, length: 1)
            }
            let rank = zipf.next(&random)
            let record: UInt64
            if readsLatest {
                // The newest most often: first the records this thread has inserted, then the last of the loaded ones.
                record = rank < inserted ? firstNew + inserted - 1 - rank : UInt64(records) - 1 - (rank - inserted)
            } else {
                record = Mixer.mix(rank) % UInt64(records)
            }
            return Step(kind: kind, record: record, length: 1 + Int(random.next(upperBound: UInt64(100))))
        }
    }

    /// 20 digits, scattered over all numbers.
    static let keyBytes = StringKeys.width

    static func makeKey(_ record: UInt64, at place: UnsafeMutableRawPointer) {
        var rest = Mixer.mix(record + 1)
        for index in stride(from: keyBytes - 1, through: 0, by: -1) {
            place.storeBytes(of: UInt8(48 + rest % 10), toByteOffset: index, as: UInt8.self)
            rest /= 10
        }
    }

    static let valueBytes = 1024
}

/// Ranks from 0 with Zipf's distribution, constant 0.99.
///
/// Source: Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly generating billion-record synthetic databases", 1994.
private struct Zipf {
    private let count: Double
    private let zeta: Double
    private let eta: Double
    private static let theta = 0.99
    private static let alpha = 1 / (1 - theta)

    init(_ count: Int) {
        self.count = Double(count)
        zeta = (1...count).reduce(0.0) { $0 + 1 / pow(Double($1), Zipf.theta) }
        let two = 1 + 1 / pow(2, Zipf.theta)
        eta = (1 - pow(2 / Double(count), 1 - Zipf.theta)) / (1 - two / zeta)
    }

    func next(_ random: inout Mixer) -> UInt64 {
        let u = Double(random.next() >> 11) / Double(1 << 53)
        let uz = u * zeta
        if uz < 1 { return 0 }
        if uz < 1 + pow(0.5, Zipf.theta) { return 1 }
        return min(UInt64(count * pow(eta * u - eta + 1, Zipf.alpha)), UInt64(count) - 1)
    }
}

/// A store of values of 1 KiB under keys of 20 bytes, used by several threads at once.
protocol WorkloadEngine: AnyObject, Sendable {
    static var name: String { get }

    /// Creates a database in an empty directory.
    init(_ setup: Setup) throws
    /// Stores the records of these numbers.
    func load(_ records: Range<UInt64>) throws
    func settle() throws
    /// The session of one thread.
    func session() throws -> any WorkloadSession
    func close() throws
}

protocol WorkloadSession: AnyObject {
    /// Each is a transaction of its own. Reads return the sum of a value's first and last words.
    func read(_ key: UnsafeRawBufferPointer) throws -> UInt64
    func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
    /// Reads the value and writes another.
    func modify(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
    func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64
    /// Writes records of these numbers in one transaction.
    func write(_ records: [UInt64]) throws
    func end() throws
}

/// A key and a value in memory, rewritten for each record.
final class RecordMaker {
    private let keyPlace = UnsafeMutableRawPointer.allocate(byteCount: Workload.keyBytes, alignment: 8)
    private let valuePlace = UnsafeMutableRawPointer.allocate(byteCount: Workload.valueBytes, alignment: 16)

    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: keyPlace, count: Workload.keyBytes) }
    var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: valuePlace, count: Workload.valueBytes) }

    init() {
        var random = Mixer(seed: 3)
        for offset in stride(from: 0, to: Workload.valueBytes, by: 8) {
            valuePlace.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
    }

    deinit {
        keyPlace.deallocate()
        valuePlace.deallocate()
    }

    func make(_ record: UInt64) {
        Workload.makeKey(record, at: keyPlace)
        valuePlace.storeBytes(of: record, as: UInt64.self)
    }
}
