import MakoRecords
import MakoTestSupport

/// A random condition over one table, as text and, where all of it can be built by code, as a tree.
package struct MetamorphicCondition {
    package let text: String
    /// Nil: a part of it is text alone.
    let tree: Condition?

    fileprivate init(_ text: String, _ tree: Condition?) {
        self.text = text
        self.tree = tree
    }

    static func not(_ inner: MetamorphicCondition) -> MetamorphicCondition {
        MetamorphicCondition("NOT (\(inner.text))", inner.tree.map { .not($0) })
    }

    fileprivate static func joined(_ parts: [MetamorphicCondition], _ all: Bool) -> MetamorphicCondition {
        let trees = parts.compactMap(\.tree)
        let tree: Condition? = trees.count < parts.count ? nil : all ? .and(trees) : .or(trees)
        return MetamorphicCondition(parts.map { "(\($0.text))" }.joined(separator: all ? " AND " : " OR "), tree)
    }
}

/// Draws conditions, and keeps the values that their texts name as parameters.
package struct MetamorphicDraw {
    private struct Operand {
        let text: String
        let tree: Expr?
    }

    let world: MetamorphicWorld
    package var random: SplitMix
    package private(set) var named: [String: Value] = [:]

    package init(_ world: MetamorphicWorld, _ random: SplitMix) {
        self.world = world
        self.random = random
    }

    /// - Parameter isJoined: whether columns are named behind their table.
    package mutating func condition(_ table: String, isJoined: Bool = false, depth: Int = 2) -> MetamorphicCondition {
        if depth > 0, random.chance(55) {
            let parts = (0..<(2 + random.below(2))).map { _ in
                condition(table, isJoined: isJoined, depth: depth - 1)
            }
            return random.chance(30) ? .not(parts[0]) : .joined(parts, random.chance(50))
        }
        return atom(table, isJoined)
    }

    /// A condition inside up to 17 others that hold where it does.
    mutating func nested(_ condition: String) -> String {
        (0..<(8 + random.below(10))).reduce(condition) { inner, _ in
            switch random.below(4) {
            case 0: "NOT (NOT (\(inner)))"
            case 1: "(\(inner)) AND (1 = 1 OR w > 3)"
            case 2: "(\(inner)) OR 1 = 2"
            default: "CASE WHEN (\(inner)) THEN 1 ELSE 0 END = 1"
            }
        }
    }

    /// One column of each of two tables that may be compared.
    package mutating func link() -> String {
        let pairs = (world.columns["T"] ?? []).flatMap { first in
            (world.columns["U"] ?? []).filter { $0.type == first.type }.map { (first.name, $0.name) }
        }
        if random.chance(40) || pairs.isEmpty { return "T.r = U.id" }
        let pair = random.pick(pairs)
        let compared = "T.\(pair.0) \(random.pick(["=", "=", "<", "!="])) U.\(pair.1)"
        let limit = random.pick(pairs)
        return random.chance(70) ? compared : "\(compared) AND U.\(limit.1) \(random.pick(["<=", ">"])) T.\(limit.0)"
    }

    package mutating func column(_ table: String) -> MetamorphicWorld.Column { random.pick(world.columns[table] ?? []) }

    // MARK: Parts

    private mutating func parameter(_ value: Value) -> Operand {
        let name = "v\(named.count)"
        named[name] = value
        return Operand(text: ":\(name)", tree: .literal(value))
    }

    private mutating func value(_ type: ColumnType) -> Operand {
        parameter(random.chance(5) ? .null : world.value(type, &random))
    }

    private func operand(_ column: MetamorphicWorld.Column, _ table: String, _ isJoined: Bool) -> Operand {
        isJoined
            ? Operand(text: "\(table).\(column.name)", tree: nil)
            : Operand(text: column.name, tree: .path(column.name))
    }

    /// A column, or something made of it that has its type.
    private mutating func side(_ column: MetamorphicWorld.Column, _ table: String, _ isJoined: Bool) -> Operand {
        let plain = operand(column, table, isJoined)
        switch (column.type, random.below(10)) {
        case (.text, 0...1):
            return Operand(text: "\(plain.text) COLLATE NOCASE", tree: plain.tree.map { .noCase($0) })
        case (.text, 2): return Operand(text: "\(plain.text) COLLATE BINARY", tree: plain.tree.map { .binary($0) })
        case (.text, 3):
            return Operand(
                text: "\(plain.text) || 'x'",
                tree: plain.tree.map { .arithmetic(.concatenate, $0, .literal(.text("x"))) })
        case (.text, 4): return Operand(text: "lower(\(plain.text))", tree: plain.tree.map { .function("lower", [$0]) })
        case (.integer, 0), (.double, 0):
            return Operand(
                text: "\(plain.text) + 1", tree: plain.tree.map { .arithmetic(.add, $0, .literal(.integer(1))) })
        case (.double, 1): return Operand(text: "-\(plain.text)", tree: plain.tree.map { .negate($0) })
        case (.bool, _), (.reference, _): return plain
        case (_, 9):
            let other = value(column.type)
            let trees = [plain.tree, other.tree].compactMap { $0 }
            return Operand(
                text: "coalesce(\(plain.text), \(other.text))",
                tree: trees.count == 2 ? .function("coalesce", trees) : nil)
        case (_, 8):
            let other = value(column.type)
            let trees = [plain.tree, other.tree].compactMap { $0 }
            return Operand(
                text: "nullif(\(plain.text), \(other.text))", tree: trees.count == 2 ? .function("nullif", trees) : nil)
        default: return plain
        }
    }

    private mutating func atom(_ table: String, _ isJoined: Bool) -> MetamorphicCondition {
        let column = column(table)
        let plain = operand(column, table, isJoined)
        func made(_ text: String, _ operands: [Operand], _ tree: ([Expr]) -> Condition) -> MetamorphicCondition {
            let trees = operands.compactMap(\.tree)
            return MetamorphicCondition(text, trees.count == operands.count ? tree(trees) : nil)
        }
        switch random.below(12) {
        case 0: return made("\(plain.text) IS NULL", [plain]) { .isNull($0[0]) }
        case 1: return made("\(plain.text) IS NOT NULL", [plain]) { .not(.isNull($0[0])) }
        case 2:
            let left = side(column, table, isJoined)
            let items = (0..<(1 + random.below(3))).map { _ in value(column.type) }
            return made("\(left.text) IN (\(items.map(\.text).joined(separator: ", ")))", [left] + items) {
                .isIn($0[0], Array($0.dropFirst()))
            }
        case 3:
            let parts = [side(column, table, isJoined), value(column.type), value(column.type)]
            return made("\(parts[0].text) BETWEEN \(parts[1].text) AND \(parts[2].text)", parts) {
                .between($0[0], $0[1], $0[2])
            }
        case 4 where column.type == .text:
            let pattern = parameter(.text(random.pick(["a%", "%b", "A_", "%", "_", "é%", "z\\_%"])))
            return made("\(plain.text) LIKE \(pattern.text)", [plain, pattern]) { .like($0[0], $0[1], escape: nil) }
        case 5 where column.type == .text:
            let pattern = parameter(.text(random.pick(["a*", "[aA]*", "?", "*b", "*"])))
            return made("\(plain.text) GLOB \(pattern.text)", [plain, pattern]) { .glob($0[0], $0[1]) }
        case 6 where column.type == .bool: return made(plain.text, [plain]) { .truth($0[0]) }
        case 7:
            let alike = (world.columns[table] ?? []).filter { $0.type == column.type }
            return compared(side(column, table, isJoined), side(random.pick(alike), table, isJoined))
        case 8 where table == "T" && !isJoined:
            let other = self.column("U")
            let path = Operand(text: "r.\(other.name)", tree: .path("r.\(other.name)"))
            return compared(path, value(other.type))
        case 9:
            let inner = table == "T" ? "U" : "T"
            let alike = (world.columns[inner] ?? []).filter { $0.type == column.type }
            guard !alike.isEmpty else { return compared(plain, value(column.type)) }
            let limit = random.below(30)
            let text = "\(plain.text) IN (SELECT s.\(random.pick(alike).name) FROM \(inner) s WHERE s.id < \(limit))"
            return MetamorphicCondition(text, nil)
        case 10 where table == "T":
            return MetamorphicCondition(
                "EXISTS (SELECT 1 FROM U s WHERE s.id = T.r AND s.w > \(random.below(6)))", nil)
        case 11:
            let parts = [plain, value(column.type)]
            let test = compared(parts[0], parts[1])
            let tree = test.tree.map { Expr.condition($0) }
            return MetamorphicCondition(
                "(\(test.text)) = 1", tree.map { .comparison(.equal, $0, .literal(.integer(1))) })
        default:
            let left = side(column, table, isJoined)
            let right = value(column.type)
            return random.chance(20) ? compared(right, left) : compared(left, right)
        }
    }

    private mutating func compared(_ left: Operand, _ right: Operand) -> MetamorphicCondition {
        let operation: ComparisonOperator = random.pick([
            .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
        ])
        let tree: Condition? =
            if let first = left.tree, let second = right.tree { .comparison(operation, first, second) } else { nil }
        return MetamorphicCondition("\(left.text) \(operation.rawValue) \(right.text)", tree)
    }
}
