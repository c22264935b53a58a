/// An operator of a plan, with its inputs.
///
///     print(try query.explanation().plan)
///     // sort by name (cost 1502)
///     //   search Person using index byAge (age > 30) (about 412 rows)
///
/// The plan that runs makes its nodes; the text of `EXPLAIN`, its JSON and the steps of an analysis are derived from
/// them.
public struct PlanNode: Sendable, Hashable, CustomStringConvertible {
    /// What an operator does. The raw value is its name in JSON.
    public enum Operator: String, Sendable, Hashable, CaseIterable, Encodable {
        // Access paths.
        /// The rows of a query in FROM, its input.
        case queryScan
        case nothing, oneRow, scan, keyRange, keyLookup, indexScan, coveringIndexScan, skipScan, textSearch, nearest
        /// A row-id set scan: rows read by row ids that the inputs collect.
        case rowIDLookup
        // Sources of row ids.
        case union, intersection
        /// An index search for each value of a sub-query, or for each outer row.
        case indexSearch
        /// The values of a sub-query, which are row ids.
        case subqueryKeys
        /// The row ids that a sub-query's rows reference.
        case linkedKeys
        /// The rows whose column of keys holds a key, by its index, or the keys that the column holds.
        case keyHolders, heldKeys

        case filter, sort, topN, limit
        case nestedLoopJoin, keyJoin, indexJoin, keyHoldersJoin, heldKeysJoin
        /// A hash join, with the inner or the outer rows in the hash table.
        case hashJoin, hashJoinOfOuter
        case aggregate, sortedAggregate, hashAggregate
        /// MIN or MAX as the first row of an order.
        case extremes
        case count, tableCount, exists
        /// The combined results of several threads, which run all operators below it on parts of a table.
        case gather
        case distinct, sortedDistinct
        /// The outputs computed by sub-queries.
        case project
        case setUnion, setUnionAll, setIntersect, setExcept
        /// The rows of several classes, one class after the other, or merged in one order.
        case append, merge

        /// A sub-query that runs once, or for each outer row.
        case subquery, correlatedSubquery
        /// A sub-query that starts with lookups and changes to a hash table of all rows when that is cheaper; its
        /// inputs are both methods.
        case adaptiveSubquery
        case subqueryLookup, subqueryHash

        /// Whether it starts again for each outer row.
        var isJoin: Bool {
            switch self {
            case .nestedLoopJoin, .keyJoin, .indexJoin, .hashJoin, .hashJoinOfOuter: true
            default: false
            }
        }
    }

    /// The counts of an operator in a run.
    public struct Counts: Sendable, Hashable {
        /// The number of runs; 0 if it was not needed.
        public var runs = 0
        /// The number of index entries read.
        public var entries = 0
        /// The number of rows examined: rows of the table for an access path, rows of the inputs for other operators.
        public var rows = 0
        /// The number of rows passed to the next operator.
        public var passed = 0
        /// The time of the operator itself, without its inputs and the operators above. The time of a filter is part of
        /// that of its input.
        public var time = Duration.zero
        /// The peak number of bytes of rows, keys or values held; 0 if it holds none.
        public var memory = 0

        init() {}

        init(runs: Int, rows: Int, passed: Int) { (self.runs, self.rows, self.passed) = (runs, rows, passed) }
    }

    /// The kind of the operator.
    public let operation: Operator
    /// The operator's own text in `EXPLAIN`.
    public let text: String
    /// The table of an access path.
    public var table: String?
    /// The index that it reads.
    public var index: String?
    /// The expected number of rows examined; `nil` if unknown.
    public var expectedRows: Double?
    /// The expected cost of the operator and its inputs, in units of a short scanned row; `nil` if unknown.
    public var cost: Double?
    /// The counts of a run; `nil` if the plan did not run.
    public let counts: Counts?
    /// The inputs, then the sub-queries of the operator's conditions and values.
    public let children: [PlanNode]
    /// The height of the tree.
    let height: Int

    init(_ operation: Operator, _ text: String, _ children: [PlanNode] = [], _ counts: Counts? = nil) {
        self.operation = operation
        self.text = text
        self.children = children
        self.counts = counts
        height = 1 + (children.map(\.height).max() ?? 0)
    }

    /// The operators, one on each line, inputs indented, with estimates and counts.
    public var description: String { text(withNumbers: true) }

    /// The same without numbers.
    public var outline: String { text(withNumbers: false) }

    /// The operators in one line, in the order in which rows pass them, without numbers and sub-queries.
    public var summary: String {
        let inputs = children.filter { !$0.isSubquery }.map(\.summary)
        switch operation {
        case .rowIDLookup: return inputs.isEmpty ? text : "\(text), from \(inputs.joined(separator: ", "))"
        case .union, .intersection: return "\(operation) of \(inputs.joined(separator: ", "))"
        case .indexSearch, .subqueryKeys, .linkedKeys, .keyHolders, .heldKeys:
            return inputs.isEmpty ? text : "\(text) of \(inputs.joined(separator: ", "))"
        case .filter: return (inputs + ["then \(text)"]).joined(separator: ", ")
        default: return (inputs + [text]).joined(separator: ", ")
        }
    }

    /// Whether this is a sub-query of the operator above it.
    var isSubquery: Bool {
        switch operation {
        case .subquery, .correlatedSubquery, .adaptiveSubquery: true
        default: false
        }
    }

    /// This operator and all below it, inputs first.
    public var operators: [PlanNode] { operators { _ in true } }

    /// Returns the operators, without some and all below these.
    func operators(where isWanted: (PlanNode) -> Bool) -> [PlanNode] {
        var found: [PlanNode] = []
        var open = [self]
        while let node = open.popLast() {
            guard isWanted(node) else { continue }
            found.append(node)
            open += node.children
        }
        return found.reversed()
    }

    /// Iterative, because a tree may be higher than a small stack allows.
    private func text(withNumbers: Bool) -> String {
        var text = ""
        var open = [(node: self, depth: 0)]
        while let (node, depth) = open.popLast() {
            text += (text.isEmpty ? "" : "\n") + String(repeating: "  ", count: depth) + node.text
            if withNumbers { text += node.numbers }
            for child in node.children.reversed() { open.append((child, depth + 1)) }
        }
        return text
    }

    private var numbers: String {
        let expected = [expectedRows.map(PlanNode.rows), cost.map(PlanNode.cost)].compactMap { $0 }
            .joined(separator: ", ")
        return (expected.isEmpty ? "" : " (\(expected))") + (counts.map { " (\($0))" } ?? "")
    }

    private static func whole(_ number: Double) -> Int64 { Int64(min(number, 1e15).rounded()) }

    static func rows(_ number: Double) -> String { "about \(whole(number)) \(whole(number) == 1 ? "row" : "rows")" }

    static func cost(_ number: Double) -> String { "cost \(whole(number))" }
}

extension PlanNode.Counts: CustomStringConvertible {
    public var description: String {
        if runs == 0 { return "never run" }
        var parts: [String] = []
        if runs > 1 { parts.append("\(runs) runs") }
        if entries > 0 { parts.append(PlanNode.count(entries, "entry", "entries")) }
        parts.append(PlanNode.count(rows, "row", "rows") + " examined")
        parts.append("\(passed) passed")
        if memory > 0 { parts.append(PlanNode.count(memory, "byte", "bytes")) }
        if time > .zero { parts.append(time.inMilliseconds) }
        return parts.joined(separator: ", ")
    }
}

extension PlanNode {
    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }
}

extension Duration {
    /// The duration in milliseconds, with three digits after the point: `1.204 ms`.
    var inMilliseconds: String {
        let micros = wholeNanoseconds / 1000
        let digits = String(micros % 1000)
        return "\(micros / 1000).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits) ms"
    }

    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

// MARK: - JSON

extension PlanNode: Encodable {
    private enum Name: String, CodingKey {
        case operation = "operator"
        case text, table, index, expectedRows, cost, counts, inputs
    }

    /// Encodes `operator` and `text`; if known `table`, `index`, `expectedRows`, `cost` and `counts`; and the `inputs`.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Name.self)
        try fields.encode(operation, forKey: .operation)
        try fields.encode(text, forKey: .text)
        try fields.encodeIfPresent(table, forKey: .table)
        try fields.encodeIfPresent(index, forKey: .index)
        try fields.encodeIfPresent(expectedRows, forKey: .expectedRows)
        try fields.encodeIfPresent(cost, forKey: .cost)
        try fields.encodeIfPresent(counts, forKey: .counts)
        if !children.isEmpty { try fields.encode(children, forKey: .inputs) }
    }
}

extension PlanNode.Counts: Encodable {
    private enum Name: String, CodingKey { case runs, entries, rows, passed, nanoseconds, memory }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Name.self)
        try fields.encode(runs, forKey: .runs)
        try fields.encode(entries, forKey: .entries)
        try fields.encode(rows, forKey: .rows)
        try fields.encode(passed, forKey: .passed)
        try fields.encode(time.wholeNanoseconds, forKey: .nanoseconds)
        try fields.encode(memory, forKey: .memory)
    }
}
