/// The part of a condition that the sorted columns of an index, or the key of a table, answer, independent of the
/// values.
///
/// A class, so that a copy of a cached plan retains one reference.
final class KeyPattern: Sendable {
    struct Part {
        let term: Constraint.Term
        let descending: Bool
    }

    /// The constraints on the first column that does not equal one value. Constraints are given by their numbers.
    private enum Narrowing {
        case none
        case list(Int)
        case prefix(Int)
        case range([Int])
    }

    let parts: [Part]
    /// The constraints by which the leading columns equal one value.
    let equal: [Int]
    private let narrowing: Narrowing
    /// Whether the leading columns equal one value each, and the others are unconstrained.
    var isOfOneValue: Bool { if case .none = narrowing { true } else { false } }

    init(_ parts: [Part], _ constraints: [Constraint]) {
        self.parts = parts
        var equal: [Int] = []
        while equal.count < parts.count,
            let constraint = KeyPattern.equality(parts[equal.count].term, constraints)
        { equal.append(constraint) }
        narrowing = equal.count < parts.count ? KeyPattern.narrowing(parts[equal.count].term, constraints) : .none
        self.equal = equal
    }

    private static func equality(_ term: Constraint.Term, _ constraints: [Constraint]) -> Int? {
        for (number, constraint) in constraints.enumerated() where constraint.term == term {
            if case .equal = constraint.test { return number }
        }
        for (number, constraint) in constraints.enumerated() where constraint.term == term {
            if case .isNull = constraint.test { return number }
        }
        return nil
    }

    private static func narrowing(_ term: Constraint.Term, _ constraints: [Constraint]) -> Narrowing {
        for (number, constraint) in constraints.enumerated() where constraint.term == term {
            if case .isIn = constraint.test { return .list(number) }
        }
        for (number, constraint) in constraints.enumerated() where constraint.term == term {
            if case .prefix = constraint.test { return .prefix(number) }
        }
        var bounds: [Int] = []
        var (hasLower, hasUpper) = (false, false)
        for (number, constraint) in constraints.enumerated() where constraint.term == term {
            switch constraint.test {
            case .lower where !hasLower: hasLower = true
            case .upper where !hasUpper: hasUpper = true
            case .notNull: break
            default: continue
            }
            bounds.append(number)
        }
        return bounds.isEmpty ? .none : .range(bounds)
    }

    /// The constraints from which the ranges are made.
    var constraints: [Int] {
        switch narrowing {
        case .none: equal
        case .list(let number), .prefix(let number): equal + [number]
        case .range(let numbers): equal + numbers
        }
    }

    /// Whether every column equals one value, or one of a list.
    var isPoint: Bool {
        if case .list = narrowing { return equal.count + 1 == parts.count }
        return equal.count == parts.count
    }

    /// The number of the only constraint, where an ascending column equals one value.
    var numbered: Int? {
        guard case .none = narrowing, equal.count == 1, !parts[0].descending else { return nil }
        return equal[0]
    }

    /// Returns the key ranges.
    ///
    /// - Parameters:
    ///   - limit: the bytes of a key that are not truncated.
    ///   - test: returns the test of a constraint by its number.
    /// - Returns: the ranges, and whether they contain other keys as well, because keys are truncated.
    @inline(__always)
    func ranges(limit: Int, _ test: (Int) -> Constraint.Test) -> (ranges: [KeyRange], areWider: Bool) {
        // Fast path for one integer.
        if let numbered, limit > 8, case .equal(.integer(let number)) = test(numbered) {
            return ([KeyRange(of: number)], false)
        }
        var prefix = KeyBuffer()
        for (part, number) in zip(parts, equal) {
            let start = prefix.count
            if case .equal(let value) = test(number) {
                prefix.append(value, noCase: part.term.noCase)
            } else {
                prefix.append(Value.null, noCase: part.term.noCase)
            }
            if part.descending { prefix.complement(from: start) }
        }
        var ranges: [KeyRange]
        switch narrowing {
        case .none: ranges = [KeyRange(prefix: prefix.bytes)]
        case .list(let number), .prefix(let number):
            ranges = KeyPattern.ranges(test(number), parts[equal.count], prefix.bytes)
        case .range(let numbers): ranges = [KeyPattern.range(numbers.map(test), parts[equal.count], prefix.bytes)]
        }
        var areWider = false
        for index in ranges.indices where ranges[index].widen(to: limit) { areWider = true }
        ranges = KeyRange.merged(ranges)
        return (ranges, areWider)
    }

    private static func coded(_ value: Value, _ part: Part, behind prefix: [UInt8]) -> [UInt8] {
        var buffer = KeyBuffer(prefix)
        buffer.append(value, noCase: part.term.noCase)
        if part.descending { buffer.complement(from: prefix.count) }
        return buffer.bytes
    }

    /// Returns the ranges of a list or a prefix.
    private static func ranges(_ test: Constraint.Test, _ part: Part, _ prefix: [UInt8]) -> [KeyRange] {
        switch test {
        case .isIn(let values): return values.map { KeyRange(prefix: coded($0, part, behind: prefix)) }
        case .prefix(var text):
            var buffer = KeyBuffer(prefix)
            text.withUTF8 { buffer.appendPrefix(.init($0), noCase: part.term.noCase) }
            if part.descending { buffer.complement(from: prefix.count) }
            return [KeyRange(prefix: buffer.bytes)]
        default: return [KeyRange(prefix: prefix)]
        }
    }

    /// Returns the range between two bounds, or on one side of one.
    private static func range(_ tests: [Constraint.Test], _ part: Part, _ prefix: [UInt8]) -> KeyRange {
        var (low, high): ((key: [UInt8], isInside: Bool)?, (key: [UInt8], isInside: Bool)?)
        for test in tests {
            switch test {
            case .lower(let value, let inclusive): low = (coded(value, part, behind: prefix), inclusive)
            case .upper(let value, let inclusive): high = (coded(value, part, behind: prefix), inclusive)
            default: break
            }
        }
        return KeyRange(behind: prefix, low, high, descending: part.descending)
    }

    /// Returns the expected share of rows.
    func share(_ test: (Int) -> Constraint.Test) -> Double {
        var share = 1.0
        for number in equal {
            if case .isNull = test(number) { share *= Selectivity.null } else { share *= Selectivity.equal }
        }
        switch narrowing {
        case .none: break
        case .list(let number):
            if case .isIn(let values) = test(number) { share *= min(1, Selectivity.equal * Double(values.count)) }
        case .prefix: share *= Selectivity.prefix
        case .range(let numbers):
            var bounds = 0
            for number in numbers { if case .notNull = test(number) { continue } else { bounds += 1 } }
            share *= KeyPattern.rangeShare(ends: bounds)
        }
        return share
    }

    /// Returns the expected share of rows of a range without statistics.
    static func rangeShare(ends: Int) -> Double {
        ends == 2 ? Selectivity.twoEnds : ends == 1 ? Selectivity.oneEnd : Selectivity.notNull
    }
}

/// The search of a condition in the sorted columns of an index, or in the key of a table.
struct KeySearch {
    let pattern: KeyPattern
    let ranges: [KeyRange]
    /// The conjuncts that the ranges answer exactly.
    let answered: Set<Int>
    /// The conjuncts from which the ranges are made, for the explanation.
    private(set) var used: [Int] = []
    /// Whether every column equals one value, or one of a list.
    let isPoint: Bool
    /// The expected share of rows.
    let share: Double

    /// The number of leading columns that equal one value.
    var equalCount: Int { pattern.equal.count }

    /// - Parameter limit: the bytes of a key that are not truncated.
    init(_ parts: [KeyPattern.Part], _ constraints: [Constraint], limit: Int) {
        pattern = KeyPattern(parts, constraints)
        let found = pattern.ranges(limit: limit) { constraints[$0].test }
        ranges = found.ranges
        isPoint = pattern.isPoint && !found.areWider
        share = pattern.share { constraints[$0].test }
        let shaping = pattern.constraints.map { constraints[$0] }
        for constraint in shaping where !used.contains(constraint.conjunct) { used.append(constraint.conjunct) }
        answered = found.areWider ? [] : Set(shaping.filter(\.isExact).map(\.conjunct))
    }
}

extension TableHandle {
    /// The columns of its key.
    var keyParts: [KeyPattern.Part] {
        keySlots.map { .init(term: .init(ordinal: Int($0.ordinal), noCase: false), descending: false) }
    }
}

extension IndexHandle {
    var keyParts: [KeyPattern.Part] {
        parts.map {
            .init(term: .init(ordinal: Int($0.slot.ordinal), noCase: $0.noCase), descending: $0.descending)
        }
    }
}
