/// A column of a query in FROM.
struct DerivedColumn: Sendable {
    let type: ColumnType
    /// The target table of a reference.
    var target: String?
    /// Whether its texts are decimals.
    var isDecimal = false
    /// Whether it is NULL in every row, so that its type is open.
    var isNull = false
    /// Whether it holds integers from 0 on only, which fit unsigned columns as well.
    var isNatural = false

    init(_ kind: ValueKind) {
        (isDecimal, isNull) = (kind == .decimal, kind == .null)
        type =
            switch kind {
            case .null, .text, .decimal: .text
            case .bool: .bool
            case .whole: .integer
            case .real: .double
            case .blob: .blob
            case .date: .date
            case .uuid: .uuid
            }
    }

    init(_ type: ColumnType, target: String? = nil, isDecimal: Bool = false) {
        self.type = type
        self.target = target
        self.isDecimal = isDecimal
    }

    /// Makes a column that holds the values of another.
    init(_ column: BoundColumn, in table: TableHandle?) {
        guard let ordinal = column.ordinal, let table else {
            self.init(.integer)
            return
        }
        // A column of keys is read as the bytes that it stores.
        let type: ColumnType = column.type == .keys ? .blob : column.type
        let target = type == .reference || column.type == .integer ? table.columns[ordinal].target : nil
        self.init(type, target: target, isDecimal: column.isDecimal)
    }

    /// Returns a column that holds the values of both; `nil` if there is none.
    func joined(_ other: DerivedColumn) -> DerivedColumn? {
        if isNull { return other }
        if other.isNull { return self }
        if type == other.type && isDecimal == other.isDecimal { return DerivedColumn(type, isDecimal: isDecimal) }
        if isDecimal || other.isDecimal { return nil }
        let whole: [ColumnType] = [.integer, .reference, .unsigned]
        switch (type, other.type) {
        case (.double, let other) where whole.contains(other): return DerivedColumn(.double)
        case (let own, .double) where whole.contains(own): return DerivedColumn(.double)
        case (.unsigned, let own) where own != .double && other.isNatural,
            (let own, .unsigned) where own != .double && isNatural:
            return DerivedColumn(.unsigned)
        case (let own, let other) where whole.contains(own) && whole.contains(other): return DerivedColumn(.integer)
        default: return nil
        }
    }
}

extension BoundSelect {
    /// The result's columns.
    var derivedColumns: [DerivedColumn] { (group?.outputs ?? outputs).map(derived) }

    private func derived(_ expr: BoundExpr) -> DerivedColumn {
        switch expr {
        case .column(let column): return DerivedColumn(column, in: table(of: column))
        case .result(let number, let kind, _):
            guard let group else { return DerivedColumn(kind) }
            if number < group.keys.count { return derived(group.keys[number]) }
            let aggregate = group.aggregates[number - group.keys.count]
            guard aggregate.function == .minimum || aggregate.function == .maximum, let argument = aggregate.argument
            else { return DerivedColumn(kind) }
            return derived(argument)
        case .outer(let value):
            guard case .join(let join) = source, let row = join.tables.first, row.isOuterRow else { break }
            let column = row.table.columns[value.index]
            return DerivedColumn(column.type, target: column.target, isDecimal: value.kind == .decimal)
        case .constant(.unsigned): return DerivedColumn(.unsigned)
        case .constant(.integer(let number)):
            var column = DerivedColumn(.integer)
            column.isNatural = number >= 0
            return column
        // The value is one of the arguments.
        case .function(.coalesce, let values), .function(.least, let values), .function(.greatest, let values):
            return derived(anyOf: values) ?? DerivedColumn(Binder.kind(expr))
        case .choice(let choice):
            let values = choice.branches.map(\.value) + [choice.otherwise ?? .constant(.null)]
            return derived(anyOf: values) ?? DerivedColumn(Binder.kind(expr))
        case .function(.nullif, let values): return derived(values[0])
        default: break
        }
        return DerivedColumn(Binder.kind(expr))
    }

    private func derived(anyOf values: [BoundExpr]) -> DerivedColumn? {
        var found = DerivedColumn(ValueKind.null)
        for value in values {
            guard let both = found.joined(derived(value)) else { return nil }
            found = both
        }
        return found
    }

    private func table(of column: BoundColumn) -> TableHandle? {
        if column.node >= 0 { return nodes[column.node].target }
        if case .table(let selection) = source { return selection.table }
        return nil
    }
}

extension LogicalPlan {
    /// Returns the result's columns.
    ///
    /// - Throws: `syntax` if the parts of a compound give one column values that no type holds together.
    fileprivate func derivedColumns(_ names: [String], _ at: SourcePosition) throws(RecordError) -> [DerivedColumn] {
        switch self {
        case .select(let select): return select.derivedColumns
        case .compound(let compound):
            var columns = compound.first.derivedColumns
            for (_, part) in compound.rest {
                for (place, other) in part.derivedColumns.enumerated() {
                    guard let both = columns[place].joined(other) else {
                        throw at.error(
                            "column \(names[place]) has values of \(columns[place].type.name) from one SELECT and of \(other.type.name) from another; CAST one of them"
                        )
                    }
                    columns[place] = both
                }
            }
            return columns
        }
    }
}

extension CommonTable {
    /// Returns the query as a table of a FROM clause; its rows come from running it.
    func source(
        _ name: String, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        _ budget: SubqueryBudget
    ) throws(RecordError) -> (source: JoinScope.Source, query: LogicalPlan) {
        try budget.take(at)
        // The parameters after those of the query belong to the outer statement.
        let values = Array(parameters.prefix(statement.parameterCount))
        let query = try statement.bound(catalogue, values, named, budget)
        var names = query.first.columnNames
        if let columns {
            guard columns.count == names.count else {
                throw at.error("\(self.name) names \(columns.count) columns, and its query has \(names.count)")
            }
            if let twice = columns.first(where: { name in columns.filter { $0 == name }.count > 1 }) {
                throw at.error("\(self.name) names two columns \(twice)")
            }
            names = columns
        }
        let found = try query.derivedColumns(names, at)
        var schemas: [ColumnSchema] = []
        var decimals: Set<String> = []
        for ((name, column), collation) in zip(zip(CommonTable.apart(names), found), query.collations) {
            if column.isDecimal { decimals.insert(name) }
            schemas.append(
                ColumnSchema(
                    name, column.type, isOptional: true, target: column.target,
                    isNoCase: column.type == .text && collation?.isNoCase == true))
        }
        return (
            JoinScope.Source(name: name, table: .derived(self.name, schemas, decimals: decimals)), query
        )
    }

    /// Numbers repeated column names, as SQLite does.
    private static func apart(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        return names.map { name in
            var unused = name
            var number = 0
            while !taken.insert(Folding.folded(unused)).inserted {
                number += 1
                unused = "\(name):\(number)"
            }
            return unused
        }
    }
}
