import MakoStorage
import MakoTestSupport

/// The transactions of each thread of the writer, as a function of the thread and the number of its transaction: so the
/// referee knows the content of the store from the last transaction of each thread.
enum Workload {
    /// One thread for each kind of commit, and a second for the kind that promises most.
    static let durabilities: [Durability] = [.full, .full, .ordered, .async]
    static var threads: Int { durabilities.count }

    /// Keys in a thread's tree, reused again and again.
    private static let keys = 200

    static func tree(of thread: Int) -> String { "thread \(thread)" }

    /// How far each thread came, and under `head` the number of the journal's last entry.
    static let counters = "counters"
    static let head: UInt64 = 1000

    /// The transactions of all threads in the order of their commits: thread and number.
    static let journal = "journal"
    static let journalLength: UInt64 = 1000

    static func entry(thread: Int, number: UInt64) -> [UInt8] { word(UInt64(thread) << 56 | number) }

    static func word(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

    static func number(_ bytes: [UInt8]?) -> UInt64 {
        (bytes ?? []).enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64($1.offset * 8) }
    }

    /// The changes of one transaction to its thread's tree; a value of nil deletes.
    static func changes(thread: Int, number: UInt64) -> [(key: UInt64, value: [UInt8]?)] {
        var random = SplitMix(seed: UInt64(thread) << 40 ^ number)
        // Now and then one that is too large for the log.
        let isLarge = random.below(60) == 0
        return (0..<(isLarge ? 300 : 1 + random.below(6))).map { _ in
            let key = UInt64(random.below(keys))
            if random.chance(25) { return (key, nil) }
            let bytes = random.chance(3) ? 6000 + random.below(9000) : random.below(isLarge ? 700 : 300)
            return (key, ValueShape(bytes: bytes).value(seed: random.next()))
        }
    }

    /// Small segments and little memory, so that segments change, checkpoints run and pages are evicted all the time.
    static func options(readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.logSegmentBytes = 256 << 10
        options.checkpointBytes = 300 << 10
        options.cacheBytes = 2 << 20
        options.readOnly = readOnly
        return options
    }
}
