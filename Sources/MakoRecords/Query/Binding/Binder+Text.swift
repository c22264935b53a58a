// Full text: MATCH, rank, highlight and snippet.
extension Binder {
    mutating func bindMatch(_ left: Expr, _ right: Expr) throws(RecordError) -> BoundCondition {
        guard case .column(let path, let at) = left else {
            throw left.position.error("MATCH needs a column, or a table, with a full-text index")
        }
        if results != nil { throw at.error("MATCH tests rows, not groups; write it in WHERE") }
        let sought = try bind(right)
        guard let value = sought.constant else {
            throw right.position.error("MATCH takes a text or a parameter")
        }
        if value.isNull { return .constant(nil) }
        guard case .text(let text) = value else {
            throw right.position.error("\(describe(sought)); MATCH takes a text")
        }
        let match = try match(path, at, text)
        matches.append(match)
        return .match(match)
    }

    private mutating func match(
        _ path: [String], _ at: SourcePosition, _ text: String
    ) throws(RecordError) -> BoundMatch {
        let name = Expr.written(path)
        let node = scope.map(\.ownTable) ?? -1
        if let node, path.count == 1, table.schema.column(named: path[0]) == nil,
            let index = try wholeIndex(path[0], at)
        {
            return BoundMatch(
                table: table, index: index, query: try MatchQuery(text, index, columns: .max), text: text, path: name,
                key: try key(node, table, name, at), column: nil)
        }
        let column = try resolved(path, at)
        let place = column.node < 0 ? table : joins[column.node].target
        let found = place.textIndexes.filter { index in
            index.slots.contains { Int($0.ordinal) == column.ordinal }
        }.min { $0.slots.count < $1.slots.count }
        guard let index = found, let number = index.slots.firstIndex(where: { Int($0.ordinal) == column.ordinal })
        else {
            throw at.error(
                "\(place.schema.name).\(path.last ?? "") has no full-text index, which MATCH needs; declare one: "
                    + "@Attribute(.fullText), #FullText<\(place.schema.name)>([\\.\(path.last ?? "")])")
        }
        let key = try key(column.node, place, name, at)
        let query = try MatchQuery(text, index, columns: 1 << UInt64(number))
        return BoundMatch(
            table: place, index: index, query: query, text: text, path: column.path, key: key, column: column)
    }

    /// Returns the key by which a row of a joined table is found among the matches; `nil` for the own row.
    private func key(
        _ node: Int, _ place: TableHandle, _ name: String, _ at: SourcePosition
    ) throws(RecordError) -> BoundColumn? {
        if node < 0 { return nil }
        guard place.isRowID else {
            throw at.error("\(place.schema.name) has no row ids, so MATCH cannot search it through \(name)")
        }
        return BoundColumn(node: node, ordinal: nil, type: .integer, path: name)
    }

    /// Returns the full-text index that a name denotes: its own name, or that of its table.
    private func wholeIndex(_ name: String, _ at: SourcePosition) throws(RecordError) -> FullTextIndex? {
        if let index = table.textIndexes.first(where: { $0.schema.name == name }) { return index }
        let folded = Folding.folded(name)
        guard folded == Folding.folded(table.schema.name) || alias.map(Folding.folded) == folded else { return nil }
        if table.textIndexes.count == 1 { return table.textIndexes[0] }
        if table.textIndexes.isEmpty {
            throw at.error(
                "\(name) has no full-text index, which MATCH needs; declare one: @Attribute(.fullText), "
                    + "#FullText<\(name)>([…])")
        }
        let names = table.textIndexes.map { "\"\($0.schema.name)\"" }.joined(separator: ", ")
        throw at.error("\(name) has several full-text indexes; name one of \(names), or a column")
    }

    /// Returns `rank`, unless a column has that name.
    func rank(_ path: [String], _ at: SourcePosition) throws(RecordError) -> BoundExpr? {
        guard scope == nil, path.count == 1, Folding.folded(path[0]) == "rank",
            !table.schema.visibleNames.contains(where: { Folding.folded($0) == "rank" })
        else { return nil }
        if let match = matches.first(where: \.isOwn) { return .rank(match) }
        throw at.error("\(table.schema.name) has no column rank, and without MATCH in the condition rows have no rank")
    }

    /// Returns whether rows outside the ranking MATCH may fulfil the condition.
    func leavesUnranked(_ condition: BoundCondition?) -> Bool {
        guard let match = matches.first(where: \.isOwn) else { return false }
        return condition?.conjuncts.contains(.match(match)) != true
    }

    /// Ranks sort ascending from the best: a row without one sorts last.
    static func worstWhereNull(_ rank: BoundExpr) -> BoundExpr {
        .function(.coalesce, [rank, .constant(.double(.infinity))])
    }

    /// Binds `highlight(column [, before, after])` and `snippet(column [, before, after, ellipsis, words])`; returns
    /// `nil` for other functions.
    mutating func excerpt(
        _ name: String, _ arguments: [Expr], _ at: SourcePosition
    ) throws(RecordError) -> BoundExpr? {
        guard name == "highlight" || name == "snippet" else { return nil }
        let isSnippet = name == "snippet"
        guard let first = arguments.first, arguments.count <= (isSnippet ? 5 : 3) else {
            throw at.error("\(name) takes 1 to \(isSnippet ? 5 : 3) values, not \(arguments.count)")
        }
        guard case .column(let path, let place) = first else {
            throw first.position.error("\(name) shows a column of a full-text index")
        }
        let column = try resolve(path, place)
        var found: (match: BoundMatch, number: Int)?
        for match in matches where match.isOwn && found == nil {
            let number = match.index.slots.firstIndex { Int($0.ordinal) == column.ordinal }
            if column.node < 0, let number { found = (match, number) }
        }
        guard let (match, number) = found else {
            throw place.error(
                "no MATCH in the condition uses an index with \(column.path), so \(name) has nothing to show")
        }
        var style = ExcerptStyle()
        if arguments.count > 1 { style.before = try constantText(arguments[1], name) }
        if arguments.count > 2 { style.behind = try constantText(arguments[2], name) }
        if arguments.count > 3 { style.ellipsis = try constantText(arguments[3], name) }
        if isSnippet { style.words = ExcerptStyle.usualWords }
        if arguments.count > 4 {
            guard case .integer(let words)? = try bind(arguments[4]).constant, (1...1000).contains(words) else {
                throw arguments[4].position.error("snippet takes a number of words from 1 to 1000")
            }
            style.words = Int(words)
        }
        return .excerpt(BoundExcerpt(match: match, column: column, number: number, style: style))
    }

    private mutating func constantText(_ expr: Expr, _ name: String) throws(RecordError) -> String {
        guard case .text(let text)? = try bind(expr).constant else {
            throw expr.position.error("\(name) takes a text here")
        }
        return text
    }
}
