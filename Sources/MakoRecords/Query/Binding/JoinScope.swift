/// The tables of a FROM clause, for name resolution.
struct JoinScope {
    struct Source {
        /// The name that qualifies its columns.
        let name: String
        let table: TableHandle
        /// The outer row, whose columns are never named by a text; `nil` for tables of FROM.
        var outerRow: OuterRow?
    }

    /// The outer row, if there is one, then the tables of FROM.
    let sources: [Source]
    /// The number of tables in scope: an ON condition sees those up to its own.
    var visible: Int
    /// Whether an ambiguous name means the first table that has it; otherwise it is an error.
    private let prefersFirst: Bool

    init(_ sources: [Source], prefersFirst: Bool = false) {
        self.sources = sources
        self.prefersFirst = prefersFirst
        visible = sources.count
    }

    var outerRow: OuterRow? { sources.first?.outerRow }
    /// The index of the only table of FROM beside an outer row.
    var ownTable: Int? { outerRow != nil && sources.count == 2 ? 1 : nil }
    /// The index of the first table of FROM.
    private var first: Int { outerRow == nil ? 0 : 1 }

    /// Returns the table where a path begins, and the rest of the path. The first name is a table if one has that name,
    /// else a column.
    func start(
        _ path: ArraySlice<String>, _ at: SourcePosition
    ) throws(RecordError) -> (node: Int, rest: ArraySlice<String>) {
        guard let first = path.first else { throw at.error("a name is expected here") }
        if path.count > 1 {
            if first == Expr.ownRow { return (self.first, path.dropFirst()) }
            if let found = try named(first, at) { return (found, path.dropFirst()) }
        }
        for isExact in [true, false] {
            if let found = try holder(of: first, at, exactly: isExact) { return (found, path) }
        }
        let tables = sources.prefix(visible).dropFirst(self.first)
        if tables.isEmpty { throw at.error("there is no FROM, so no table has a column \(first)" + at.textHint(first)) }
        if path.count > 1 {
            let names = tables.map(\.name) + tables.flatMap(\.table.schema.visibleNames)
            throw at.error("there is no table or column \(first)", nearest: Spelling.nearest(to: first, in: names))
        }
        let nearest = Spelling.nearest(to: first, in: tables.flatMap(\.table.schema.visibleNames))
        throw at.error(
            "no table of \(tables.map(\.name).joined(separator: ", ")) has a column \(first)"
                + (nearest == nil ? at.textHint(first) : ""), nearest: nearest)
    }

    /// Returns the table of that name; in another case only if no exact match exists.
    private func named(_ name: String, _ at: SourcePosition) throws(RecordError) -> Int? {
        var found = sources.indices.filter { sources[$0].name == name }
        if found.isEmpty {
            let folded = Folding.folded(name)
            found = sources.indices.filter { Folding.folded(sources[$0].name) == folded }
        }
        guard let first = found.first ?? ownName(name) else { return nil }
        if found.count > 1 { throw at.error("two tables are called \(name); give one of them a name of its own by AS") }
        if first >= visible { throw at.error("\(sources[first].name) is joined behind this condition") }
        return first
    }

    /// Returns the only table of FROM beside an outer row if that is its own name, beside its alias.
    private func ownName(_ name: String) -> Int? {
        guard let ownTable else { return nil }
        let (schema, folded) = (sources[ownTable].table.schema, Folding.folded(name))
        let isColumn = schema.visibleNames.contains { Folding.folded($0) == folded }
        return folded == Folding.folded(schema.name) && !isColumn ? ownTable : nil
    }

    private func holder(of column: String, _ at: SourcePosition, exactly: Bool) throws(RecordError) -> Int? {
        let folded = exactly ? column : Folding.folded(column)
        let found = sources.indices.prefix(visible).dropFirst(first).filter { index in
            let schema = sources[index].table.schema
            if exactly { return schema.isVisible(column) }
            return schema.visibleNames.contains { Folding.folded($0) == folded }
        }
        if found.count > 1 && !prefersFirst {
            let names = found.map { "\(sources[$0].name).\(column)" }
            throw at.error(
                "\(column) may be \(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])")
        }
        return found.first
    }
}

extension Catalogue {
    /// Returns the table that a name in a text means.
    ///
    /// - Throws: `syntax`, with the nearest existing name.
    func requireTable(_ name: String, _ at: SourcePosition) throws(RecordError) -> TableHandle {
        do {
            return try requireTable(name)
        } catch {
            guard case .tableNotFound(let name, let nearest) = error else { throw error }
            throw at.error("there is no table \(name)", nearest: nearest)
        }
    }
}
