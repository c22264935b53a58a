extension [SelectionJoin] {
    /// Returns whether a join leads to a column that is not the key of its table, so that it may match several rows.
    func repeatRows(_ catalogue: Catalogue) throws(RecordError) -> Bool {
        for join in self {
            guard case .column(let target, _) = join.target, let name = target.last else { continue }
            let key = Binder.singleKey(try catalogue.requireTable(join.table))
            if key.map({ Folding.folded($0) }) != Folding.folded(name) { return true }
        }
        return false
    }
}

extension SelectStatement {
    /// Returns the statement with its references as joins, if one of them may match several rows, or if it reads an
    /// outer row. Unqualified names then mean the first table.
    func looped(_ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        if !joins.isEmpty || references.isEmpty { return self }
        if outerRow == nil, !(try references.repeatRows(catalogue)) { return self }
        var copy = self
        copy.references = []
        copy.prefersFirst = true
        var names: Set<String> = []
        for reference in references {
            guard case .column(_, let at) = reference.left, case .column(let target, let targetAt) = reference.target
            else { throw reference.left.position.error("a join names two columns") }
            if Folding.folded(reference.name) == Folding.folded(table) {
                throw at.error("\(reference.name) is the query's own table; give the join a name of its own")
            }
            if !names.insert(Folding.folded(reference.name)).inserted {
                throw at.error("two joins are called \(reference.name); give one of them a name of its own")
            }
            guard target.count == 1 || (target.count == 2 && target[0] == reference.name), let column = target.last
            else {
                throw targetAt.error("a join leads to a column of \(reference.table) itself")
            }
            copy.joins.append(
                JoinClause(
                    table: reference.table, alias: reference.name,
                    kind: reference.isInner ? .inner : .left,
                    condition: .comparison(.equal, reference.left, .column([reference.name, column], at: targetAt)),
                    at: at))
        }
        return copy
    }
}
