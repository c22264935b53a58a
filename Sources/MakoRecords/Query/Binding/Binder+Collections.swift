/// The meaning of names inside a condition on a collection.
enum ElementScope {
    /// Names that begin with this path are columns of the elements; others are those of the outer query.
    case rows([String])
    /// This path is the element; other names keep their meaning.
    case values([String])
    /// This path is the element, the text of a reference to a row of any table or a value; other names keep their meaning.
    case references([String])
}

/// A collection that a path leads to.
private enum Gathering {
    case rows(ManyRows)
    /// A column with a list of values.
    case values
    /// A column of keys of any table.
    case references
}

/// A collection of rows.
private enum ManyRows {
    /// Rows whose reference column refers to the row at the end of the path.
    case inverse(owner: TableHandle, TableRelations.Inverse)
    /// Rows whose keys are in a column.
    case keys(target: TableHandle, column: String)
}

// Quantifiers and aggregates over collections: `ANY people.age > 60`, `people.@count > 3`, `ANY tags = 'x'`.
extension Binder {
    /// Returns the expression of a name that has another meaning inside the condition: the list element, or an outer
    /// value.
    mutating func scopedValue(_ path: [String], _ at: SourcePosition) throws(RecordError) -> BoundExpr? {
        switch element {
        case .values(let own)? where path == own, .references(let own)? where path == own: return .element
        case .references(let own)? where path.starts(with: own): throw at.error(Binder.leadsToAny(own))
        case .values(let own)? where path.starts(with: own):
            throw at.error("\(Expr.written(own)) holds plain values, which have no \(path[own.count])")
        case .rows(let own)?:
            if path.starts(with: own) {
                return .column(try resolve(rest(path, own), at, isPath: !own.isEmpty))
            }
            guard let outer else { return nil }
            return outside(try outer.binder.bind(.column(path, at: at)), path.joined(separator: "."))
        default: return try outerValue(path, at)
        }
    }

    /// Returns the path in the element's table; the element by itself is its key.
    private func rest(_ path: [String], _ own: [String]) -> [String] {
        let rest = Array(path.dropFirst(own.count))
        return rest.isEmpty ? [table.schema.keyNames[0]] : rest
    }

    // MARK: - Paths to collections

    /// Returns the first step of a path that leads to a collection, and the number of names up to it.
    ///
    /// - Parameter isExpected: whether a text column may be a list although the schema does not declare it.
    private func collection(_ path: [String], isExpected: Bool) -> (collection: Gathering, count: Int)? {
        var start = 0
        var place = table
        if case .rows(let own)? = element {
            guard path.starts(with: own) else { return nil }
            start = own.count
            if own.isEmpty, path.count > 1, path[0] == Expr.ownRow || isOwnName(path[0]) { start = 1 }
        } else if scope != nil {
            guard let source = source(path) else { return nil }
            start = source.start
            place = source.table
        } else if path.count > 1, path[0] == Expr.ownRow || isOwnName(path[0]) {
            start = 1
        }
        for step in start..<max(start, path.count) {
            let name = path[step]
            if let inverse = catalogue.relations(of: place.schema.name)?.inverses[name] {
                return (.rows(.inverse(owner: place, inverse)), step + 1)
            }
            guard let column = place.schema.column(named: name) else { return nil }
            if column.holdsAnyKeys { return (.references, step + 1) }
            if column.type == .keys, let target = column.target.flatMap({ catalogue.table(named: $0) }) {
                return (.rows(.keys(target: target, column: name)), step + 1)
            }
            if column.type == .text, column.target == nil {
                let known = catalogue.relations(of: place.schema.name)
                // A path that continues after a list is reported by the caller.
                let isList = known.map { $0.lists.contains(name) } ?? (isExpected && step == path.count - 1)
                return isList ? (.values, step + 1) : nil
            }
            guard let target = column.target, let next = catalogue.table(named: target) else { return nil }
            place = next
        }
        return nil
    }

    /// Returns the joined table where a path begins.
    private func source(_ path: [String]) -> (name: String, table: TableHandle, start: Int)? {
        guard let scope, let first = path.first else { return nil }
        if let found = try? scope.start(path[...], .none) {
            let source = scope.sources[found.node]
            if source.outerRow != nil { return nil }
            return (source.name, source.table, path.count - found.rest.count)
        }
        let owners = scope.sources.prefix(scope.visible).filter {
            catalogue.relations(of: $0.table.schema.name)?.inverses[first] != nil
        }
        return owners.count == 1 ? (owners[0].name, owners[0].table, 0) : nil
    }

    /// Returns the path with the name of its table in front, where tables are joined.
    private func qualified(_ path: [String]) -> [String] {
        guard let source = source(path), source.start == 0 else { return path }
        return [source.name] + path
    }

    // MARK: - Conditions

    mutating func bindQuantified(
        _ quantifier: Quantifier, _ condition: Condition, _ at: SourcePosition
    ) throws(RecordError) -> BoundCondition {
        let paths = condition.paths
        for isExpected in [false, true] {
            for path in paths {
                guard let (_, count) = collection(path, isExpected: isExpected) else { continue }
                return try bindElements(quantifier, Array(path.prefix(count)), condition, isRelative: false, at)
            }
        }
        throw at.error("\(quantifier.rawValue) needs a path that leads to many rows or values")
    }

    /// - Parameter isRelative: whether the condition names only columns of the elements.
    mutating func bindElements(
        _ quantifier: Quantifier, _ path: [String], _ condition: Condition, isRelative: Bool, _ at: SourcePosition
    ) throws(RecordError) -> BoundCondition {
        if results != nil { throw at.error("a condition on many tests rows, not groups; write it in WHERE") }
        guard let (collection, count) = collection(path, isExpected: true), count == path.count else {
            throw at.error("\(Expr.written(path)) leads to no more than one row or value")
        }
        if quantifier == .none {
            return .not(try bindElements(.any, path, condition, isRelative: isRelative, at))
        }
        let isAll = quantifier == .all
        let any: BoundCondition
        switch collection {
        case .references where isRelative: throw at.error(Binder.leadsToAny(path))
        case .values, .references:
            let holdsKeys = if case .references = collection { true } else { false }
            let column = try bind(.column(path, at: at))
            let before = element
            element = holdsKeys ? .references(path) : .values(path)
            defer { element = before }
            any = .anyElement(
                BoundGathered(column, holdsKeys: holdsKeys, condition: Binder.sought(try bind(condition), isAll)))
        case .rows(let rows):
            any = .exists(
                try bound(rows, qualified(path), at, .exists) { (inner) throws(RecordError) in
                    inner.element = .rows(isRelative ? [] : path)
                    var condition = condition
                    // A path that continues to a nested collection is quantified again, over the collection of each
                    // element.
                    if !isRelative, condition.columns(inQuantified: false).contains(where: { inner.leadsOn($0) }) {
                        condition = .quantified(quantifier, condition, at: at)
                    }
                    return (Binder.sought(try inner.bind(condition), isAll), nil, nil)
                })
        }
        return isAll ? .not(any) : any
    }

    private static func leadsToAny(_ path: [String]) -> String {
        "\(Expr.written(path)) refers to rows of any table, so no path leads on from it"
    }

    /// Returns whether a name leads to a collection; an aggregate over one is a single value.
    private func leadsOn(_ expr: Expr) -> Bool {
        guard let path = expr.ownPath, let (_, count) = collection(path, isExpected: false) else { return false }
        if case .collection = expr { return count < path.count }
        return true
    }

    /// ALL is the negation of ANY with the negated condition.
    private static func sought(_ condition: BoundCondition, _ isAll: Bool) -> BoundCondition {
        isAll ? .not(.holds(condition)) : condition
    }

    // MARK: - Values

    mutating func bindCollection(
        _ path: [String], _ function: AggregateFunction, _ rest: [String], _ at: SourcePosition
    ) throws(RecordError) -> BoundExpr {
        if results != nil { throw at.error("a column beside aggregates must stand in GROUP BY") }
        guard let (collection, count) = collection(path, isExpected: true) else {
            throw at.error("\(Expr.written(path)) leads to no more than one row or value")
        }
        let further = Array(path.dropFirst(count)) + rest
        let own = Array(path.prefix(count))
        let value: BoundExpr
        switch collection {
        case .values:
            guard further.isEmpty else {
                throw at.error("\(Expr.written(own)) holds plain values, which have no \(further[0])")
            }
            value = .gathered(BoundGathered(try bind(.column(own, at: at)), holdsKeys: false, function: function))
        case .references where function != .count || !further.isEmpty: throw at.error(Binder.leadsToAny(own))
        case .references,
            .rows(.keys) where function == .count && further.isEmpty:
            value = .gathered(BoundGathered(try bind(.column(own, at: at)), holdsKeys: true, function: .count))
        case .rows(let rows):
            if function != .count, further.isEmpty { throw at.error("@\(function.rawValue) needs a property") }
            if function == .count, !further.isEmpty { throw at.error("@count follows what is counted") }
            value = .subquery(
                try bound(rows, qualified(own), at, .scalar) { (inner) throws(RecordError) in
                    if further.isEmpty { return (nil, nil, function) }
                    let output = try inner.bind(.column(further, at: at))
                    let isMany = function == .sum || function == .average
                    if isMany, !inner.kind(output).isNumber {
                        throw at.error("@\(function.rawValue) needs numbers, and this is \(inner.kind(output).name)")
                    }
                    if inner.kind(output) == .decimal, function != .count {
                        throw at.error("@\(function.rawValue) is not worked out of decimals")
                    }
                    return (nil, output, function)
                })
        }
        // The SUM of no rows is 0; the other aggregates are NULL.
        return function == .sum ? .function(.coalesce, [value, .constant(.integer(0))]) : value
    }

    // MARK: - Rows

    private mutating func bound(
        _ rows: ManyRows, _ path: [String], _ at: SourcePosition, _ form: BoundSubquery.Form,
        _ body: (inout Binder) throws(RecordError) -> (BoundCondition?, BoundExpr?, AggregateFunction?)
    ) throws(RecordError) -> BoundSubquery {
        try enter(at)
        defer { depth -= 1 }
        try budget.take(at)
        let scope = OuterScope(self)
        let target: TableHandle
        switch rows {
        case .keys(let table, _): target = table
        case .inverse(_, let inverse): target = try catalogue.requireTable(inverse.table)
        }
        var inner = Binder(target, catalogue, parameters, named)
        inner.outer = scope
        inner.depth = depth
        inner.budget = budget
        let isHeld = try inner.enterKeys(rows, Array(path.dropLast()), at)
        let (condition, output, aggregate) = try body(&inner)
        joins = scope.binder.joins
        let query = try inner.query(rows, isHeld, condition.map { [$0] } ?? [], at)
        return inner.made(form, query, output: output, aggregate, nil)
    }

    /// Makes the correlated key the first of the outer values.
    ///
    /// - Returns: whether the rows are found by a column of keys.
    private mutating func enterKeys(
        _ rows: ManyRows, _ owner: [String], _ at: SourcePosition
    ) throws(RecordError) -> Bool {
        guard let outer else { return false }
        switch rows {
        case .keys(_, let column):
            _ = outside(.column(try outer.binder.resolved(owner + [column], at)), column)
            return true
        case .inverse(let ownerTable, let inverse):
            for name in ownerTable.schema.keyNames {
                _ = outside(
                    .column(try outer.binder.resolved(owner + [name], at)),
                    ([ownerTable.schema.name] + [name]).joined(separator: "."))
            }
            return table.schema.column(named: inverse.column)?.type == .keys
        }
    }

    /// Returns the column of a path of this query, whether or not it is inside a condition on a collection.
    mutating func resolved(_ path: [String], _ at: SourcePosition) throws(RecordError) -> BoundColumn {
        if case .rows(let own)? = element, path.starts(with: own) {
            return try resolve(rest(path, own), at, isPath: !own.isEmpty)
        }
        return try resolve(path, at)
    }

    /// Returns the query of the rows that fulfil some conditions.
    ///
    /// - Parameter isHeld: whether they are found by a column of keys.
    private mutating func query(
        _ rows: ManyRows, _ isHeld: Bool, _ own: [BoundCondition], _ at: SourcePosition
    ) throws(RecordError) -> BoundSubquery.Query {
        func selection(_ conditions: [BoundCondition]) -> BoundSelection {
            var binder = self
            (binder.references, binder.matches) = ([:], [])
            return BoundSelection(binder, .all(conditions), [], limit: nil, offset: 0)
        }
        switch rows {
        case .keys: return .held(selection(own))
        case .inverse(let owner, let inverse) where isHeld:
            return .holders(selection(own), column: inverse.column, isRowID: owner.isRowID)
        case .inverse(let owner, let inverse):
            let column = try resolve([inverse.column], at)
            guard owner.schema.keyNames.count == 1, let key = outer?.values.first,
                ValueKind(column.type) == kind(key)
            else {
                throw at.error("\(inverse.table).\(inverse.column) does not hold the key of \(owner.schema.name)")
            }
            let path = "\(owner.schema.name).\(owner.schema.keyNames[0])"
            let link = BoundCondition.comparison(
                .equal, .column(column), .outer(OuterValue(index: 0, kind: kind(key), path: path, collation: nil)))
            return .rows(selection([link] + own.flatMap(\.conjuncts)))
        }
    }
}

extension EntitySchema {
    /// The names of the key columns.
    var keyNames: [String] {
        switch key {
        case .rowID(let name): [name]
        case .columns(let names): names
        }
    }
}

extension Condition {
    /// Returns every column and aggregate over a collection in the condition, from left to right, without those of
    /// sub-queries.
    ///
    /// - Parameter inQuantified: whether to descend into conditions on collections.
    func columns(inQuantified: Bool = true) -> [Expr] {
        switch self {
        case .and(let parts), .or(let parts): parts.flatMap { $0.columns(inQuantified: inQuantified) }
        case .not(let inner): inner.columns(inQuantified: inQuantified)
        case .quantified(_, let inner, _): inQuantified ? inner.columns() : []
        case .elements: []
        default: expressions.flatMap(\.columns)
        }
    }

    /// Every path in the condition.
    package var paths: [[String]] { columns().compactMap(\.ownPath) }
}

extension Expr {
    var columns: [Expr] {
        switch self {
        case .column, .collection: [self]
        case .choice(let choice): choice.columns
        case .condition(let condition, _): condition.columns()
        default: children.flatMap(\.columns)
        }
    }

    fileprivate var ownPath: [String]? {
        switch self {
        case .column(let path, _), .collection(let path, _, _, _): path
        default: nil
        }
    }
}

extension Expr.Choice {
    fileprivate var columns: [Expr] {
        (subject?.columns ?? []) + branches.flatMap { $0.condition.columns() + $0.value.columns }
            + (otherwise?.columns ?? [])
    }
}
