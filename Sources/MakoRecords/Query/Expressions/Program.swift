import MakoStorage

/// SQL's three truth values.
enum Truth: UInt8 {
    case no = 0
    case unknown = 1
    case yes = 2

    init(_ flag: Bool) { self = flag ? .yes : .no }
    init(_ flag: Bool?) { self = flag.map { Truth($0) } ?? .unknown }

    var inverse: Truth {
        switch self {
        case .no: .yes
        case .unknown: .unknown
        case .yes: .no
        }
    }
}

/// A node of a compiled expression. Nodes refer to each other by index, so that evaluation retains no references.
enum ValueNode {
    case constant(Operand)
    case column(ColumnSlot)
    case rowID
    case joinedColumn(join: Int32, ColumnSlot)
    case joinedRowID(join: Int32)
    case arithmetic(ArithmeticOperator, Int32, Int32)
    case negate(Int32)
    case function(QueryFunction, first: Int32, count: Int32)
    case noCase(Int32)
    /// A column of a row that a join supplies.
    case suppliedColumn(Int32, ColumnSlot)
    case suppliedRowID(Int32)
    /// A key or aggregate of the group.
    case result(Int32)
    case rank(match: Int32)
    case excerpt(Int32, ColumnSlot)
    case outer(Int32)
    case subquery(Int32)
    case gathered(Int32, function: AggregateFunction, isKeys: Bool)
    case element
    /// In `lists`: condition and value of each branch, then the ELSE value, -1 for none.
    case choice(subject: Int32, first: Int32, count: Int32)
    case subject
    /// A condition as a value: 1, 0 or NULL.
    case condition(Int32)
}

/// A node of a compiled condition.
enum ConditionNode {
    case constant(Truth)
    /// A comparison of the row's own integer column with a number, the most frequent case.
    case integerColumn(ColumnSlot, ComparisonOperator, Int64)
    case doubleColumn(ColumnSlot, ComparisonOperator, UInt64)
    case textColumn(ColumnSlot, ComparisonOperator, UnsafeRawBufferPointer)
    case comparison(ComparisonOperator, Int32, Int32)
    case and(first: Int32, count: Int32)
    case or(first: Int32, count: Int32)
    case not(Int32)
    case isIn(Int32, first: Int32, count: Int32)
    case isInSet(Int32, set: Int32)
    case like(Int32, pattern: Int32)
    /// The same for a text column of the row itself.
    case likeColumn(ColumnSlot, pattern: Int32)
    case likeComputed(Int32, Int32, escape: Int32)
    case globComputed(Int32, Int32)
    case isNull(Int32)
    case truth(Int32)
    /// `key`: the key column of the row that a path leads to; `value`: a column that must not be NULL; -1 for none.
    case match(Int32, key: Int32, value: Int32)
    case isInQuery(Int32, subquery: Int32)
    case exists(subquery: Int32)
    case anyElement(Int32, condition: Int32)
    case holds(Int32)
}

/// A compiled condition and expressions over one table's rows.
///
/// Immutable after it has been built; threads share a program, each with its own ``Evaluator``.
final class Program: @unchecked Sendable {
    // Unchecked: the constants' memory is immutable after the program has been built.

    @exclusivity(unchecked) private(set) var values: [ValueNode] = []
    @exclusivity(unchecked) private(set) var conditions: [ConditionNode] = []
    /// Lists of nodes: branches of AND and OR, arguments of functions, items of IN.
    @exclusivity(unchecked) private(set) var lists: [Int32] = []
    @exclusivity(unchecked) private(set) var patterns: [TextPattern] = []
    /// The substring search of each pattern; `nil` if the pattern is more than one literal.
    @exclusivity(unchecked) private(set) var searches: [RunSearch?] = []
    /// Long lists of constants.
    @exclusivity(unchecked) private(set) var sets: [ConstantSet] = []
    /// The MATCH conditions, and whether their ranks are needed.
    @exclusivity(unchecked) private(set) var matches: [(match: BoundMatch, isRanked: Bool)] = []
    @exclusivity(unchecked) private(set) var excerpts: [Excerpt] = []
    /// The sub-queries, each with the nodes of its outer values in `lists`.
    @exclusivity(unchecked) private(set) var subqueries:
        [(subquery: (any RunnableSubquery)?, first: Int32, count: Int32)] = []
    let joins: [JoinNode]
    @exclusivity(unchecked) private var memory: [UnsafeMutableRawBufferPointer] = []
    @exclusivity(unchecked) private(set) var root: Int32 = -1

    private var depth = 0
    private var deepest = 0
    /// Whether the tree is so deep that its evaluation needs a large stack.
    var isDeep: Bool { isDeepTree(deepest) }

    private let table: TableHandle?
    /// The program whose constants this one uses besides its own.
    private let model: Program?

    /// Compiles a condition for the rows of a table; without a table, expressions have no columns.
    init(_ table: TableHandle?, _ condition: BoundCondition? = nil, joins: [JoinNode] = []) {
        self.table = table
        self.joins = joins
        model = nil
        if let condition { root = add(condition) }
    }

    /// Makes the same program with other constants in some of its conditions, see ``hasConstant(at:)``.
    init(_ model: Program, replacing constants: [(place: Int32, value: Value)]) {
        table = model.table
        joins = model.joins
        values = model.values
        lists = model.lists
        patterns = model.patterns
        searches = model.searches
        sets = model.sets
        matches = model.matches
        excerpts = model.excerpts
        subqueries = model.subqueries
        root = model.root
        deepest = model.deepest
        self.model = model
        var (conditions, memory) = (model.conditions, [UnsafeMutableRawBufferPointer]())
        for (place, value) in constants {
            switch (conditions[Int(place)], value) {
            case (.integerColumn(let slot, let test, _), .integer(let number)):
                conditions[Int(place)] = .integerColumn(slot, test, number)
            case (.doubleColumn(let slot, let test, _), .double(let number)),
                (.doubleColumn(let slot, let test, _), .date(let number)):
                conditions[Int(place)] = .doubleColumn(slot, test, KeyOrder.bits(number))
            case (.textColumn(let slot, let test, _), .text(let text)):
                conditions[Int(place)] = .textColumn(slot, test, Program.keep(Array(text.utf8), in: &memory))
            default: break
            }
        }
        self.conditions = conditions
        self.memory = memory
    }

    /// Returns whether a condition compares a column with a constant that another of its kind can replace.
    func hasConstant(at place: Int32) -> Bool {
        switch conditions[Int(place)] {
        case .integerColumn, .doubleColumn, .textColumn: true
        default: false
        }
    }

    /// The nodes of the conjuncts.
    var conjuncts: [Int32] {
        guard root >= 0 else { return [] }
        guard case .and(let first, let count) = conditions[Int(root)] else { return [root] }
        return (first..<first + count).map { lists[Int($0)] }
    }

    deinit {
        for block in memory { block.deallocate() }
    }

    /// Compiles one level of a tree. Every recursion of the compiler passes through here.
    private func nested(_ body: () -> Int32) -> Int32 {
        depth += 1
        defer { depth -= 1 }
        deepest = max(deepest, depth)
        // The binder has limited the depth, so that the remaining stack suffices if no larger one can be had.
        return StackGuard.run(isDeep: depth > StackGuard.shallowLevels, body, orElse: body)
    }

    /// Compiles an expression and returns its node.
    func add(_ expr: BoundExpr) -> Int32 { nested { addLevel(expr) } }

    private func addLevel(_ expr: BoundExpr) -> Int32 {
        switch expr {
        case .constant(let value): return append(.constant(operand(value)))
        case .column(let column) where column.node >= 0 && joins[column.node].isSupplied:
            guard let ordinal = column.ordinal else { return append(.suppliedRowID(Int32(column.node))) }
            let slot = joins[column.node].target.layout.allSlots[ordinal]
            return append(.suppliedColumn(Int32(column.node), slot))
        case .result(let number, _, _): return append(.result(Int32(number)))
        case .column(let column):
            let table = column.node < 0 ? nil : joins[column.node].target
            guard let ordinal = column.ordinal else {
                return append(column.node < 0 ? .rowID : .joinedRowID(join: Int32(column.node)))
            }
            if let table { return append(.joinedColumn(join: Int32(column.node), table.layout.allSlots[ordinal])) }
            return append(.column(rootSlots(ordinal)))
        case .arithmetic(let operation, let left, let right):
            let first = add(left)
            return append(.arithmetic(operation, first, add(right)))
        case .negate(let inner): return append(.negate(add(inner)))
        case .noCase(let inner): return append(.noCase(add(inner)))
        case .function(let function, let arguments):
            let (first, count) = list(arguments.map { add($0) })
            return append(.function(function, first: first, count: count))
        case .rank(let match): return append(.rank(match: place(of: match, isRanked: true)))
        case .excerpt(let excerpt):
            excerpts.append(Excerpt(excerpt))
            return append(.excerpt(Int32(excerpts.count - 1), rootSlots(excerpt.column.ordinal ?? 0)))
        case .outer(let value): return append(.outer(Int32(value.index)))
        case .subquery(let subquery): return append(.subquery(place(of: subquery)))
        case .gathered(let gathered):
            return append(
                .gathered(add(gathered.column), function: gathered.function ?? .count, isKeys: gathered.holdsKeys))
        case .element: return append(.element)
        case .subject: return append(.subject)
        case .choice(let choice): return add(choice)
        case .condition(let condition): return append(.condition(add(condition)))
        }
    }

    private func add(_ choice: BoundChoice) -> Int32 {
        let subject = choice.subject.map { add($0) } ?? -1
        var places: [Int32] = []
        for branch in choice.branches {
            places.append(add(branch.condition))
            places.append(add(branch.value))
        }
        places.append(choice.otherwise.map { add($0) } ?? -1)
        return append(.choice(subject: subject, first: list(places).0, count: Int32(choice.branches.count)))
    }

    private func place(of match: BoundMatch, isRanked: Bool) -> Int32 {
        if let place = matches.firstIndex(where: { $0.match == match }) {
            matches[place].isRanked = matches[place].isRanked || isRanked
            return Int32(place)
        }
        matches.append((match, isRanked))
        return Int32(matches.count - 1)
    }

    private func rootSlots(_ ordinal: Int) -> ColumnSlot {
        table?.layout.allSlots[ordinal] ?? ColumnSlot(offset: 0, ordinal: .max, type: .bool)
    }

    private func add(_ condition: BoundCondition) -> Int32 { nested { addLevel(condition) } }

    private func addLevel(_ condition: BoundCondition) -> Int32 {
        switch condition {
        case .constant(let flag): return append(.constant(Truth(flag)))
        case .comparison(let operation, let left, let right):
            if let fast = direct(operation, left, right) { return append(fast) }
            let first = add(left)
            return append(.comparison(operation, first, add(right)))
        case .and(let parts):
            let (first, count) = list(parts.map { add($0) })
            return append(.and(first: first, count: count))
        case .or(let parts):
            let (first, count) = list(parts.map { add($0) })
            return append(.or(first: first, count: count))
        case .not(let inner): return append(.not(add(inner)))
        case .isNull(let value): return append(.isNull(add(value)))
        case .truth(let value): return append(.truth(add(value)))
        case .isIn(let value, let items):
            let place = add(value)
            let (first, count) = list(items.map { add($0) })
            return append(.isIn(place, first: first, count: count))
        case .isAmong(let value, let items):
            let place = add(value)
            if items.count > 8, case .column(let column) = value {
                sets.append(ConstantSet(items, column.type))
                return append(.isInSet(place, set: Int32(sets.count - 1)))
            }
            let (first, count) = list(items.map { add(.constant($0)) })
            return append(.isIn(place, first: first, count: count))
        case .like(let value, let pattern, let escape):
            if case .constant(.text(let text)) = pattern, escape?.constant != nil || escape == nil {
                var mark: Unicode.Scalar?
                if case .text(let text)? = escape?.constant { mark = text.unicodeScalars.first }
                if escape == nil || mark != nil { return add(value, TextPattern(like: text, escape: mark)) }
            }
            let place = add(value)
            let patternPlace = add(pattern)
            return append(.likeComputed(place, patternPlace, escape: escape.map { add($0) } ?? -1))
        case .glob(let value, let pattern):
            if case .constant(.text(let text)) = pattern { return add(value, TextPattern(glob: text)) }
            let place = add(value)
            return append(.globComputed(place, add(pattern)))
        case .match(let match):
            let key = match.key.map { add(.column($0)) } ?? -1
            let value = match.column.map { add(.column($0)) } ?? -1
            return append(.match(place(of: match, isRanked: false), key: key, value: value))
        case .isInQuery(let value, let subquery):
            let value = add(value)
            return append(.isInQuery(value, subquery: place(of: subquery)))
        case .exists(let subquery): return append(.exists(subquery: place(of: subquery)))
        case .anyElement(let gathered):
            let column = add(gathered.column)
            return append(.anyElement(column, condition: add(gathered.condition ?? .constant(true))))
        case .holds(let inner): return append(.holds(add(inner)))
        }
    }

    private func add(_ value: BoundExpr, _ pattern: TextPattern) -> Int32 {
        patterns.append(pattern)
        searches.append(pattern.search(keep))
        let number = Int32(patterns.count - 1)
        if case .column(let column) = value, column.node < 0, let ordinal = column.ordinal {
            let slot = rootSlots(ordinal)
            if slot.type == .text { return append(.likeColumn(slot, pattern: number)) }
        }
        return append(.like(add(value), pattern: number))
    }

    private func place(of subquery: BoundSubquery) -> Int32 {
        assert(subquery.plan != nil, "a sub-query is planned before it is compiled")
        let (first, count) = list(subquery.outers.map { add($0) })
        subqueries.append((subquery.plan as? any RunnableSubquery, first, count))
        return Int32(subqueries.count - 1)
    }

    private func direct(_ operation: ComparisonOperator, _ left: BoundExpr, _ right: BoundExpr) -> ConditionNode? {
        guard case .column(let column) = left, column.node < 0, let ordinal = column.ordinal,
            case .constant(let value) = right
        else { return nil }
        let slot = rootSlots(ordinal)
        switch (slot.type, value) {
        case (.integer, .integer(let number)), (.reference, .integer(let number)):
            return .integerColumn(slot, operation, number)
        case (.double, .double(let number)), (.date, .date(let number)):
            return .doubleColumn(slot, operation, KeyOrder.bits(number))
        case (.text, .text(let text)):
            return .textColumn(slot, operation, keep(Array(text.utf8)))
        default: return nil
        }
    }

    private func operand(_ value: Value) -> Operand {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(number)
        case .unsigned(let number): .unsigned(number)
        case .double(let number): .double(number)
        case .date(let seconds): .date(seconds)
        case .uuid(let high, let low): .uuid(high, low)
        case .text(let text): .text(keep(Array(text.utf8)))
        case .blob(let bytes): .blob(keep(bytes))
        }
    }

    private func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { Program.keep(bytes, in: &memory) }

    private static func keep(
        _ bytes: [UInt8], in memory: inout [UnsafeMutableRawBufferPointer]
    ) -> UnsafeRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        block.copyBytes(from: bytes)
        memory.append(block)
        return UnsafeRawBufferPointer(block)
    }

    private func append(_ node: ValueNode) -> Int32 {
        values.append(node)
        return Int32(values.count - 1)
    }

    private func append(_ node: ConditionNode) -> Int32 {
        conditions.append(node)
        return Int32(conditions.count - 1)
    }

    private func list(_ places: [Int32]) -> (Int32, Int32) {
        lists += places
        return (Int32(lists.count - places.count), Int32(places.count))
    }
}

extension Program {
    /// The columns of the row itself that the program reads; `nil` if it has full-text conditions, which do not read
    /// values.
    var ownColumns: ColumnSet? {
        guard matches.isEmpty, excerpts.isEmpty else { return nil }
        var columns = ColumnSet()
        for join in joins where join.parent < 0 && !join.isSupplied { columns.insert(Int(join.slot.ordinal)) }
        for value in values { if case .column(let slot) = value { columns.insert(Int(slot.ordinal)) } }
        for condition in conditions {
            switch condition {
            case .integerColumn(let slot, _, _), .doubleColumn(let slot, _, _), .textColumn(let slot, _, _),
                .likeColumn(let slot, _):
                columns.insert(Int(slot.ordinal))
            default: break
            }
        }
        return columns
    }
}
