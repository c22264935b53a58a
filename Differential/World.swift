import MakoRecords
import MakoTestSupport

/// A random schema with its rows: a table `T` that is queried, and a table `P` that it refers to.
struct World {
    /// The use of a column in the generator of queries. The kinds separate what the two languages treat differently.
    enum Kind: CaseIterable {
        case integer, large, double, ascii, text, bool, blob, date
    }

    struct Column {
        var name: String
        var kind: Kind
        var isOptional: Bool

        var schema: ColumnSchema {
            let type: ColumnType =
                switch kind {
                case .integer, .large: .integer
                case .double: .double
                case .ascii, .text: .text
                case .bool: .bool
                case .blob: .blob
                case .date: .date
                }
            return ColumnSchema(name, type, isOptional: isOptional)
        }

        /// SQLite keeps truth values as integers and dates as numbers.
        var declaration: String {
            let type =
                switch kind {
                case .integer, .large, .bool: "INTEGER"
                case .double, .date: "REAL"
                case .ascii, .text: "TEXT"
                case .blob: "BLOB"
                }
            return "\(name) \(type)" + (isOptional ? "" : " NOT NULL")
        }
    }

    static let parent = [
        Column(name: "n", kind: .ascii, isOptional: false), Column(name: "v", kind: .integer, isOptional: true),
    ]

    let columns: [Column]
    let indexes: [IndexSchema]
    let parents: [[Value]]
    /// The columns' values, and the reference behind them.
    let rows: [[Value]]

    init(_ random: inout SplitMix) {
        var columns: [Column] = []
        for kind in Kind.allCases {
            for copy in 0..<(random.chance(30) ? 2 : 1) {
                columns.append(
                    Column(name: "\(kind)\(copy)".lowercased(), kind: kind, isOptional: random.chance(70)))
            }
        }
        self.columns = columns
        var indexes: [IndexSchema] = []
        for number in 0..<random.below(5) {
            var parts: [IndexColumn] = []
            for _ in 0...random.below(3) {
                let column = random.pick(columns)
                guard !parts.contains(where: { $0.name == column.name }) else { continue }
                // Folding is of ASCII letters there and of all letters here.
                let noCase = column.kind == .ascii && random.chance(40)
                parts.append(IndexColumn(column.name, descending: random.chance(30), noCase: noCase))
            }
            // SQLite has all rows in each: what it finds does not depend on them.
            let condition = random.chance(25) ? World.condition(columns, &random) : nil
            indexes.append(IndexSchema("T.\(number)", parts, where: condition))
        }
        if random.chance(50) { indexes.append(IndexSchema("T.ref", [IndexColumn("ref")])) }
        self.indexes = indexes
        parents = (0..<4).map { _ in World.parent.map { World.value($0, &random) } }
        rows = (0..<random.below(40)).map { _ in
            // Now and then the row that is referred to is missing.
            let reference: Value = random.chance(20) ? .null : .integer(Int64(1 + random.below(6)))
            return columns.map { World.value($0, &random) } + [reference]
        }
    }

    /// Which rows a partial index holds.
    private static func condition(_ columns: [Column], _ random: inout SplitMix) -> String {
        func name(_ kind: Kind) -> String { random.pick(columns.filter { $0.kind == kind }).name }
        return random.pick([
            "\(random.pick(columns).name) IS NOT NULL", "\(name(.integer)) > \(random.below(3) - 1)", name(.bool),
            "NOT \(name(.bool))", "\(name(.ascii)) >= 'b'", "\(name(.integer)) IN (1, 2, 3)",
            "\(name(.double)) < 1.5 OR ref = 2", "\(name(.integer)) <= 2 AND \(name(.ascii)) != 'a'",
            "\(name(.ascii)) = 'AB' COLLATE NOCASE",
        ])
    }

    static func value(_ column: Column, _ random: inout SplitMix) -> Value {
        if column.isOptional && random.chance(20) { return .null }
        return constant(column.kind, &random)
    }

    private static let farNumbers: [Int64] = [
        .min, .min + 1, -9_007_199_254_740_993, -1, 0, 1, 9_007_199_254_740_992, 9_007_199_254_740_993, .max - 1, .max,
    ]

    /// Few different values, so that rows have equal values and match the constants of queries.
    static func constant(_ kind: Kind, _ random: inout SplitMix) -> Value {
        switch kind {
        case .integer: return .integer(Int64(random.below(9) - 4))
        case .large:
            return .integer(
                random.pick(farNumbers))
        case .double: return .double(random.pick([-2.5, -1, 0, -0.0, 0.5, 1, 1.5, 3, 1000, 0.1, 123_456.75]))
        case .ascii:
            return .text(
                random.pick(["", "a", "A", "ab", "AB", "aB", "abc", "b", "B", "a%", "a_c", " a ", "Abba", "z"]))
        case .text: return .text(random.pick(["", "a", "é", "É", "日本", "日", "ß", "zé", "\u{10FFFF}", "a'b"]))
        case .bool: return .bool(random.chance(50))
        case .blob: return .blob(random.pick([[], [0], [0, 1], [1], [255], [0x61]]))
        case .date: return .date(Double(random.below(5)) * 86_400)
        }
    }

    var schema: EntitySchema {
        EntitySchema(
            name: "T",
            columns: columns.map(\.schema) + [ColumnSchema("ref", .reference, isOptional: true, target: "P")],
            indexes: indexes)
    }

    /// The same tables and indexes for SQLite.
    var statements: [String] {
        let columns = columns.map(\.declaration) + ["ref INTEGER"]
        let parents = World.parent.map(\.declaration)
        return [
            "CREATE TABLE P (id INTEGER PRIMARY KEY, \(parents.joined(separator: ", ")))",
            "CREATE TABLE T (id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")))",
        ]
            + indexes.enumerated().map { number, index in
                let parts = index.columns.map {
                    $0.name + ($0.noCase ? " COLLATE NOCASE" : "") + ($0.descending ? " DESC" : "")
                }
                return "CREATE INDEX i\(number) ON T (\(parts.joined(separator: ", ")))"
            }
    }
}

extension SplitMix {
    /// One of some choices; there is at least one.
    mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
