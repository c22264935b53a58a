import MakoTestSupport

/// The operations on a store that has a tree with integer keys and one with byte keys.
enum StoreStep {
    case transaction([StoreChange], commits: Bool)
    case get(ModelKey)
    case scan(StoreScan)
    /// Opens a snapshot that is held while others commit, and closes the one before.
    case keepView
    /// Reads everything that the held snapshot shows.
    case readKeptView
    case reopen

    var operations: Int {
        if case .transaction(let changes, _) = self { changes.count } else { 1 }
    }
}

/// A change in a transaction.
enum StoreChange {
    case put(ModelKey, [UInt8])
    /// Only where the key is new.
    case insert(ModelKey, [UInt8])
    /// Only behind the last key.
    case append(ModelKey, [UInt8])
    case delete(ModelKey)
    case deleteRange(ClosedRange<UInt64>)
    case deleteAll(isInteger: Bool)
    case get(ModelKey)
    case scan(StoreScan)
    /// Begins a nested transaction, which can be rolled back; it ends with the next `endNested`, at the latest with the
    /// outer transaction.
    case beginNested
    case endNested(keeps: Bool)
}

/// Steps of a cursor.
struct StoreScan {
    enum Start {
        case first, last
        case key(ModelKey)
    }

    var isInteger: Bool
    var start: Start
    /// Forwards or not, so many times.
    var moves: [(forwards: Bool, count: Int)]

    static func all(isInteger: Bool) -> StoreScan {
        StoreScan(isInteger: isInteger, start: .first, moves: [(true, .max)])
    }
}

/// The result of an operation.
enum StoreAnswer: Equatable {
    case flag(Bool)
    case count(UInt64)
    case value([UInt8]?)
    case entries([Entry])

    struct Entry: Equatable {
        var key: ModelKey
        var value: [UInt8]
    }
}

/// Random work. The keys lie close together or far apart, so that many changes hit existing keys.
enum StoreSequence {
    static func make(_ random: inout SplitMix) -> [StoreStep] {
        var steps: [StoreStep] = []
        for _ in 0..<3 + random.below(10) {
            switch random.below(20) {
            case 0: steps.append(.reopen)
            case 1, 2: steps.append(.keepView)
            case 3, 4: steps.append(.readKeptView)
            case 5...7: steps.append(.get(key(random.chance(50), &random)))
            case 8...10: steps.append(.scan(scan(&random)))
            default: steps.append(.transaction(changes(&random), commits: random.chance(85)))
            }
        }
        return steps + [.scan(.all(isInteger: true)), .scan(.all(isInteger: false))]
    }

    private static func changes(_ random: inout SplitMix) -> [StoreChange] {
        var changes: [StoreChange] = []
        for _ in 0..<1 + random.below(12) {
            let isInteger = random.chance(50)
            switch random.below(40) {
            case 0: changes.append(.deleteAll(isInteger: isInteger))
            case 1...3:
                let first = number(&random)
                let (last, overflows) = first.addingReportingOverflow(UInt64(random.below(120)))
                changes.append(.deleteRange(first...(overflows ? .max : last)))
            case 4...6: changes.append(.beginNested)
            case 7...9: changes.append(.endNested(keeps: random.chance(50)))
            case 10...13: changes.append(.get(key(isInteger, &random)))
            case 14...17: changes.append(.scan(scan(&random)))
            case 18...20: changes.append(.insert(key(isInteger, &random), value(&random)))
            case 21...22: changes.append(.append(key(isInteger, &random), value(&random)))
            case 23...27: changes.append(.delete(key(isInteger, &random)))
            case 28...30: changes += run(isInteger, &random)
            default: changes.append(.put(key(isInteger, &random), value(&random)))
            }
        }
        return changes
    }

    /// Many neighbouring keys at once, ascending, descending or deleted.
    private static func run(_ isInteger: Bool, _ random: inout SplitMix) -> [StoreChange] {
        let first = random.below(300)
        let step = 1 + random.below(3)
        let keys = (0..<20 + random.below(60)).map { index in
            isInteger
                ? ModelKey.integer(UInt64(first + index * step))
                : .bytes(ScriptRun.bytes(UInt64(first + index * step), length: 12))
        }
        switch random.below(4) {
        case 0: return keys.map { .delete($0) }
        case 1: return keys.reversed().map { .put($0, [UInt8](repeating: 3, count: 40 + random.below(80))) }
        default: return keys.map { .put($0, [UInt8](repeating: 4, count: 40 + random.below(160))) }
        }
    }

    private static func scan(_ random: inout SplitMix) -> StoreScan {
        let isInteger = random.chance(50)
        let start: StoreScan.Start =
            switch random.below(5) {
            case 0: .first
            case 1: .last
            default: .key(key(isInteger, &random))
            }
        let moves = (0..<1 + random.below(4)).map { _ in (random.chance(50), random.below(12)) }
        return StoreScan(isInteger: isInteger, start: start, moves: moves)
    }

    private static func key(_ isInteger: Bool, _ random: inout SplitMix) -> ModelKey {
        isInteger ? .integer(number(&random)) : .bytes(word(&random))
    }

    private static func number(_ random: inout SplitMix) -> UInt64 {
        switch random.below(10) {
        case 0: random.next()
        case 1: [0, 1, .max, .max - 1, 1 << 63, 1 << 32][random.below(6)]
        default: UInt64(random.below(600))
        }
    }

    /// Never empty and never above 511 bytes, which LMDB could not store.
    private static func word(_ random: inout SplitMix) -> [UInt8] {
        switch random.below(10) {
        case 0: [UInt8](repeating: UInt8(random.below(3)) &* 127, count: 1 + random.below(511))
        case 1: (0..<1 + random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 2...4: (0..<1 + random.below(4)).map { _ in UInt8(97 + random.below(3)) }
        default: ScriptRun.bytes(UInt64(random.below(600)), length: 12)
        }
    }

    private static func value(_ random: inout SplitMix) -> [UInt8] {
        let length = random.chance(5) ? random.below(9000) : random.chance(20) ? random.below(1200) : random.below(60)
        var value = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: length)
        for index in 0..<min(8, length) { value[index] = UInt8(truncatingIfNeeded: random.next()) }
        return value
    }
}
