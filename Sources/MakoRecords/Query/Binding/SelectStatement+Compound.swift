extension SelectStatement {
    /// Returns a compound of several SELECTs, each of which a closure prepares.
    func compound<Part: SelectPart>(
        _ prepare: (SelectStatement) throws(RecordError) -> Part
    ) throws(RecordError) -> CompoundSelect<Part> {
        var head = self
        (head.compounds, head.orderBy, head.limit, head.offset) = ([], [], nil, nil)
        let first = try prepare(head)
        var rest: [(operation: SetOperator, part: Part)] = []
        for clause in compounds {
            let part = try prepare(clause.statement)
            guard part.names.count == first.names.count else {
                throw clause.at.error(
                    "this has \(part.names.count) columns, and what is before it \(first.names.count)")
            }
            rest.append((clause.operation, part))
        }
        let unsorted = CompoundSelect(
            first: first, rest: rest, terms: [], limit: limit.map { max(0, $0) }, offset: max(0, offset ?? 0))
        let terms = try terms(first.names, unsorted.collations)
        for (order, term) in zip(orderBy, terms) {
            guard unsorted.parts.contains(where: { $0.kinds[term.place] == .decimal }) else { continue }
            throw order.expr.position.error(
                "rows of several queries are not ordered by decimals; \(first.names[term.place]) is one")
        }
        return CompoundSelect(
            first: first, rest: rest, terms: terms, limit: unsorted.limit, offset: unsorted.offset)
    }

    /// Returns the ORDER BY of a compound, whose terms are its own columns.
    private func terms(_ names: [String], _ collations: [Collation?]) throws(RecordError) -> [CompoundTerm] {
        var terms: [CompoundTerm] = []
        for order in orderBy {
            var place: Int?
            switch order.expr.uncollated {
            case .literal(.integer(let number), _) where number >= 1 && number <= names.count: place = Int(number) - 1
            case .column(let path, _):
                let name = path.joined(separator: ".")
                place =
                    names.firstIndex(of: name) ?? names.firstIndex { Folding.folded($0) == Folding.folded(name) }
                    ?? (outputs.count == names.count ? outputs.firstIndex { $0.name == name } : nil)
            default: break
            }
            guard let place else {
                throw order.expr.position.error(
                    "rows of several queries are ordered by the name or the number of a column")
            }
            let isNoCase = order.noCase || (order.expr.explicitCollation ?? collations[place]?.isNoCase ?? false)
            terms.append(
                CompoundTerm(
                    place: place, descending: order.descending, noCase: isNoCase,
                    reversesNulls: order.nullsFirst == order.descending))
        }
        return terms
    }
}
