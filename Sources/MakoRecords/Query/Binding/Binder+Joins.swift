extension Binder {
    /// Adds a join of a selection; returns its condition, if it is an inner join.
    mutating func add(_ join: SelectionJoin) throws(RecordError) -> BoundCondition? {
        guard case .column(let path, let at) = join.left, case .column(let target, let targetAt) = join.target else {
            throw join.left.position.error("a join names two columns")
        }
        if isQualifier(join.name) || Folding.folded(join.name) == Folding.folded(table.schema.name) {
            throw at.error("\(join.name) is the query's own table; give the join a name of its own")
        }
        if references[join.name] != nil {
            throw at.error("two joins are called \(join.name); give one of them a name of its own")
        }
        let other = try catalogue.requireTable(join.table)
        let column = try resolve(path, at)
        guard target.count == 1 || (target.count == 2 && target[0] == join.name), let name = target.last else {
            throw targetAt.error("a join leads to a column of \(join.table) itself")
        }
        guard let key = Binder.singleKey(other), Folding.folded(key) == Folding.folded(name) else {
            throw targetAt.error(
                "\(join.table).\(name) is not the key of \(join.table), so that it may name many rows, which fetch, count, keys, "
                    + "aggregates and groups take",
                nearest: Binder.singleKey(other))
        }
        guard let ordinal = column.ordinal, Binder.fits(column.type, other) else {
            throw at.error("\(column.path) does not hold the key of \(join.table)")
        }
        let owner = column.node < 0 ? table : joins[column.node].target
        let node = self.join(column.node, owner.layout.allSlots[ordinal], other, join.name)
        references[join.name] = node
        if !join.isInner { return nil }
        let (keyOrdinal, type) = Binder.keyColumn(other)
        return .not(
            .isNull(.column(BoundColumn(node: node, ordinal: keyOrdinal, type: type, path: "\(join.name).\(key)"))))
    }

    private static func keyColumn(_ table: TableHandle) -> (ordinal: Int?, type: ColumnType) {
        table.isRowID
            ? (nil, .integer) : (table.keySlots.first.map { Int($0.ordinal) }, table.keySlots.first?.type ?? .blob)
    }

    /// Returns the joined row where a path begins.
    func reference(_ path: ArraySlice<String>, _ at: SourcePosition) throws(RecordError) -> Int? {
        guard !references.isEmpty, path.count > 1, let first = path.first else { return nil }
        if let exact = references[first] { return exact }
        let found = references(named: first)
        if found.count > 1 {
            throw at.error("\(first) may be \(found.map(\.key).sorted().joined(separator: " or "))")
        }
        return found.first?.value
    }

    /// Returns the joined rows with that name, in any case.
    private func references(named name: String) -> [String: Int] {
        let folded = Folding.folded(name)
        return references.filter { Folding.folded($0.key) == folded }
    }

    /// Returns whether a qualifier names a joined row.
    func isReference(_ name: String) -> Bool { !references.isEmpty && !references(named: name).isEmpty }
}
