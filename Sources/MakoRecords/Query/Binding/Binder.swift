import MakoStorage

/// Resolves names against the schema, substitutes parameters and checks types.
struct Binder: SelectionScope {
    let table: TableHandle
    let catalogue: Catalogue
    let parameters: [Value]
    let named: [String: Value]
    var joins: [JoinNode]
    /// The rows of ``SelectionJoin``, by name.
    var references: [String: Int] = [:]
    /// The tables of a join; `nil` for one table.
    var scope: JoinScope?
    /// The alias of the table.
    var alias: String?
    /// The keys and aggregates of groups, while an expression over groups is bound.
    var results: GroupResults?
    /// The MATCH conditions, in the order of the condition.
    var matches: [BoundMatch] = []
    /// Whether the condition accepts rows that no MATCH finds, which have no rank.
    var leavesUnranked = false
    var depth = 0
    /// The outer query, while a sub-query is bound.
    var outer: OuterScope?
    /// The meaning of names inside a condition on a collection.
    var element: ElementScope?
    /// The operand of the enclosing `CASE`.
    var subject: ChoiceSubject?
    /// Limits the number of sub-queries, shared with nested binders.
    var budget = SubqueryBudget()

    init(
        _ table: TableHandle, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        joins: [JoinNode] = []
    ) {
        self.table = table
        self.catalogue = catalogue
        self.parameters = parameters
        self.named = named
        self.joins = joins
    }

    /// Makes a binder for further expressions over the rows of a selection.
    init(_ bound: BoundSelection) {
        self.init(bound.table, bound.catalogue, bound.parameters, bound.namedParameters, joins: bound.joins)
        references = bound.references
        matches = bound.matches
    }

    mutating func enter(_ at: SourcePosition) throws(RecordError) {
        depth += 1
        if depth > Condition.depthLimit {
            throw at.error("this is nested too deeply; the limit is \(Condition.depthLimit)")
        }
    }

    /// Binds one level of a tree. Every recursion of the binder passes through here.
    @inline(__always)
    mutating func nested<R>(
        _ at: SourcePosition, _ body: (inout Binder) throws(RecordError) -> R
    ) throws(RecordError) -> R {
        try enter(at)
        defer { depth -= 1 }
        return try StackGuard.run(isDeep: depth > StackGuard.shallowLevels) { () throws(RecordError) in
            try body(&self)
        } orElse: { () throws(RecordError) in
            throw at.tooDeepForStack
        }
    }

    // MARK: Conditions

    mutating func bind(_ condition: Condition) throws(RecordError) -> BoundCondition {
        try nested(.none) { (binder) throws(RecordError) in try binder.bindLevel(condition) }
    }

    private mutating func bindLevel(_ condition: Condition) throws(RecordError) -> BoundCondition {
        switch condition {
        case .constant(let flag):
            return .constant(flag)
        case .comparison(let operation, let left, let right):
            return try bindComparison(operation, left, right)
        case .and(let parts):
            var bound: [BoundCondition] = []
            for part in parts { bound.append(try bind(part)) }
            return bound.count == 1 ? bound[0] : .and(bound)
        case .or(let parts):
            var bound: [BoundCondition] = []
            for part in parts { bound.append(try bind(part)) }
            return bound.count == 1 ? bound[0] : Binder.joinedEqualities(bound)
        case .not(let inner):
            let bound = try bind(inner)
            if case .constant(let flag) = bound { return .constant(flag.map { !$0 }) }
            return .not(bound)
        case .isIn(let value, let items):
            return try bindIn(value, items)
        case .isAmong(let value, let items):
            return try bindAmong(value, items)
        case .between(let value, let low, let high):
            return .and([
                try bindComparison(.greaterOrEqual, value, low),
                try bindComparison(.lessOrEqual, value, high),
            ])
        case .like(let value, let pattern, let escape):
            return .like(
                try text(value), try text(pattern),
                escape: try escape.map { (escape) throws(RecordError) in
                    let bound = try text(escape)
                    if case .text(let mark)? = bound.constant, mark.unicodeScalars.count != 1 {
                        throw escape.position.error("ESCAPE takes one character")
                    }
                    return bound
                })
        case .glob(let value, let pattern):
            return .glob(try text(value), try text(pattern))
        case .isNull(let value):
            return .isNull(try bindUnseen(value))
        case .truth(.condition(let inner, _)):
            return try bind(inner)
        case .truth(.function(Condition.sameFunction, let sides, _)) where sides.count == 2:
            return try bindSame(sides[0], sides[1])
        case .truth(let value):
            let bound = try bind(value)
            guard [.bool, .whole, .null].contains(kind(bound)) else {
                throw value.position.error("\(describe(bound)), which is not a condition by itself")
            }
            if let value = bound.constant {
                switch value {
                case .bool(let flag): return .constant(flag)
                case .integer(let number): return .constant(number != 0)
                default: return .constant(value.isNull ? nil : true)
                }
            }
            return .truth(bound)
        case .match(let left, let right):
            return try bindMatch(left, right)
        case .isInQuery(let value, let subquery):
            return try bindInQuery(value, subquery)
        case .exists(let subquery):
            return .exists(try bind(subquery, .exists))
        case .quantified(let quantifier, let inner, let at):
            return try bindQuantified(quantifier, inner, at)
        case .elements(let quantifier, let path, let inner):
            return try bindElements(quantifier, path, inner, isRelative: true, .none)
        }
    }

    /// Turns `a = 1 OR a = 2` into `a IN (1, 2)`, which an index answers.
    private static func joinedEqualities(_ parts: [BoundCondition]) -> BoundCondition {
        var result: [BoundCondition] = []
        // By their indexes in the result, so that each list is built once.
        var lists: [(side: BoundExpr, place: Int, items: [Value], isJoined: Bool)] = []
        var known: [BoundExpr: Int] = [:]
        for part in parts {
            let side: BoundExpr
            let items: [Value]
            switch part {
            case .comparison(.equal, let left, .constant(let value)): (side, items) = (left, [value])
            case .isAmong(let left, let list): (side, items) = (left, list)
            default:
                result.append(part)
                continue
            }
            if let list = known[side] {
                lists[list].items += items
                lists[list].isJoined = true
            } else {
                known[side] = lists.count
                lists.append((side, result.count, items, false))
                result.append(part)
            }
        }
        for list in lists where list.isJoined { result[list.place] = .isAmong(list.side, list.items) }
        return result.count == 1 ? result[0] : .or(result)
    }

    private mutating func bindComparison(
        _ operation: ComparisonOperator, _ left: Expr, _ right: Expr
    ) throws(RecordError) -> BoundCondition {
        var first = try bind(left)
        var second = try bind(right)
        if let decimals = try decimals(operation, first, second, left, right) { return decimals }
        try prepare(&first, &second, left, right)
        if first.constant?.isNull == true || second.constant?.isNull == true { return .constant(nil) }
        if let a = first.constant, let b = second.constant {
            return .constant(a.compare(b).map { Binder.holds(operation, $0) })
        }
        if let condition = Binder.truthTest(operation, first, second) ?? Binder.truthTest(operation, second, first) {
            return condition
        }
        // Columns on the left, so that the planner sees one form.
        if first.constant != nil { return normalised(operation.mirrored, second, first) }
        return normalised(operation, first, second)
    }

    /// Converts two sides of a comparison to a common kind, and by the collation that applies.
    private func prepare(
        _ first: inout BoundExpr, _ second: inout BoundExpr, _ left: Expr, _ right: Expr
    ) throws(RecordError) {
        let collation = Collation.ofComparison(collation(left, first), collation(right, second))
        try agree(&first, &second, left, right)
        collate(&first, &second, collation)
    }

    /// Binds `IS`, by which NULL equals NULL. With a constant it is a comparison or IS NULL, which an index answers.
    private mutating func bindSame(_ left: Expr, _ right: Expr) throws(RecordError) -> BoundCondition {
        var first = try bind(left)
        var second = try bind(right)
        try prepare(&first, &second, left, right)
        if first.constant != nil { swap(&first, &second) }
        guard let constant = second.constant else { return .truth(.function(.same, [first, second])) }
        if constant.isNull { return .isNull(first) }
        return .holds(Binder.truthTest(.equal, first, second) ?? normalised(.equal, first, second))
    }

    /// Turns a comparison of a condition with 1 or 0 into the condition or its negation, which an index may answer.
    private static func truthTest(
        _ operation: ComparisonOperator, _ side: BoundExpr, _ other: BoundExpr
    ) -> BoundCondition? {
        guard case .condition(let condition) = side, case .constant(.integer(let number)) = other,
            number == 0 || number == 1, operation == .equal || operation == .notEqual
        else { return nil }
        let isPositive = (number == 1) == (operation == .equal)
        return isPositive ? condition : .not(condition)
    }

    static func holds(_ operation: ComparisonOperator, _ order: Int) -> Bool {
        switch operation {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    /// Compares integer columns with integers and doubles with doubles, wherever the meaning is the same.
    private func normalised(
        _ operation: ComparisonOperator, _ left: BoundExpr, _ right: BoundExpr
    ) -> BoundCondition {
        guard case .column(let column) = left, let value = right.constant else {
            return .comparison(operation, left, right)
        }
        if let fitting = column.type.coerced(value) { return .comparison(operation, left, .constant(fitting)) }
        guard column.type.isWhole, case .double(let number) = value, number.isFinite else {
            return .comparison(operation, left, right)
        }
        let floor = Int64(exactly: number.rounded(.down))
        let ceiling = Int64(exactly: number.rounded(.up))
        switch operation {
        case .less, .greaterOrEqual:
            return ceiling.map { .comparison(operation, left, .constant(.integer($0))) }
                ?? .comparison(operation, left, right)
        case .greater, .lessOrEqual:
            return floor.map { .comparison(operation, left, .constant(.integer($0))) }
                ?? .comparison(operation, left, right)
        case .equal, .notEqual:
            return .comparison(operation, left, right)
        }
    }

    private mutating func bindIn(_ value: Expr, _ items: [Expr]) throws(RecordError) -> BoundCondition {
        // A condition among the items makes the comparison numeric, for all items.
        let isCounted = value.isCondition || items.contains(where: \.isCondition)
        let plain = isCounted ? Binder.counted(try bind(value)) : try bind(value)
        // The value's collation applies to all items.
        let collation = collation(value, plain)
        var left = plain
        var bound: [BoundExpr] = []
        for item in items {
            var item = (isCounted ? Binder.counted(try bind(item)) : try bind(item), item)
            left = plain
            try agree(&left, &item.0, value, item.1)
            collate(&left, &item.0, collation)
            if case .column(let column) = left, let constant = item.0.constant,
                let fitting = column.type.coerced(constant)
            {
                item.0 = .constant(fitting)
            }
            bound.append(item.0)
        }
        // `IN ()` is false, also for NULL.
        if bound.isEmpty { return .constant(false) }
        if left.constant?.isNull == true { return .constant(nil) }
        if bound.count == 1 {
            return bound[0].constant?.isNull == true ? .constant(nil) : .comparison(.equal, left, bound[0])
        }
        let values = bound.compactMap(\.constant)
        return values.count == bound.count ? .isAmong(left, values) : .isIn(left, bound)
    }

    /// Binds IN over values of the column's type, which need no conversion.
    private mutating func bindAmong(_ value: Expr, _ items: [Value]) throws(RecordError) -> BoundCondition {
        if !value.isCondition, items.count > 1, case .column(let column) = try bind(value), column.takesPlainValues,
            items.allSatisfy({ column.type.holds($0) })
        {
            return .isAmong(.column(column), items)
        }
        return try bindIn(value, items.map { .literal($0, at: .none) })
    }

    /// Converts two sides to a common kind, or throws an error that names both.
    private func agree(
        _ left: inout BoundExpr, _ right: inout BoundExpr, _ leftSource: Expr, _ rightSource: Expr
    ) throws(RecordError) {
        if leftSource.isCondition || rightSource.isCondition {
            (left, right) = (Binder.counted(left), Binder.counted(right))
        }
        let a = kind(left)
        let b = kind(right)
        if a == .decimal, let value = right.constant, !value.isNull {
            right = .constant(try decimal(value, left, rightSource))
            return
        }
        if b == .decimal, let value = left.constant, !value.isNull {
            left = .constant(try decimal(value, right, leftSource))
            return
        }
        if a == b || a == .null || b == .null || (a.isNumber && b.isNumber) { return }
        if let value = right.constant, let fitting = Binder.fit(value, to: a) {
            right = .constant(fitting)
        } else if let value = left.constant, let fitting = Binder.fit(value, to: b) {
            left = .constant(fitting)
        } else {
            let isLeftConstant = left.constant != nil
            let source = isLeftConstant ? leftSource : rightSource
            let (subject, object) = isLeftConstant ? (right, left) : (left, right)
            throw source.position.error(
                "\(describe(subject)), which cannot be compared with \(phrase(object))"
                    + Binder.hint(kind(subject), object.constant))
        }
    }

    /// Returns the literal of a value that is compared with one of another kind, as a hint for the error.
    private static func hint(_ kind: ValueKind, _ value: Value?) -> String {
        guard case .text? = value, let value else { return "" }
        return DateText.hint(expected: kind.name, found: "\(value)")
    }

    private static func fit(_ value: Value, to kind: ValueKind) -> Value? {
        switch (kind, value) {
        case (.uuid, .text): ColumnType.uuid.coerced(value)
        case (.date, .text): ColumnType.date.coerced(value)
        case (.bool, .integer): ColumnType.bool.coerced(value)
        case (.whole, .bool(let flag)), (.real, .bool(let flag)): .integer(flag ? 1 : 0)
        default: nil
        }
    }

    private mutating func text(_ source: Expr) throws(RecordError) -> BoundExpr {
        let bound = try bind(source)
        guard kind(bound) == .text || kind(bound) == .null else {
            throw source.position.error("\(describe(bound)), not text")
        }
        return bound
    }

    func describe(_ expr: BoundExpr) -> String {
        switch expr {
        case .column(let column): "\(column.path) holds \(column.isDecimal ? column.kind.name : column.type.name)"
        case .subject(let kind, let text): "\(text) holds \(kind.name)"
        default: "this is \(phrase(expr))"
        }
    }

    func phrase(_ expr: BoundExpr) -> String {
        switch expr {
        case .column(let column):
            "\(column.path), which holds \(column.isDecimal ? column.kind.name : column.type.name)"
        case .subject(let kind, let text): "\(text), which holds \(kind.name)"
        case .constant(let value): "\(value.typeName) \(value)"
        default: kind(expr).name
        }
    }
}
