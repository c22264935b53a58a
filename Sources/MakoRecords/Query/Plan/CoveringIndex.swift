/// The columns that a covering index holds as stored, and how to read them from an entry. For a query that reads no
/// other columns an index-only scan suffices.
///
/// Case-folded texts and positions on a space-filling curve do not determine the value. Whether a single entry has all
/// values is checked when it is read, see ``IndexTuple``.
struct CoveringIndex: Sendable {
    /// A column of the index or of the table's key.
    struct Part: Sendable {
        let slot: ColumnSlot
        let descending: Bool
        /// Whether the column is skipped, not read.
        let isSkipped: Bool
    }

    /// The leading columns, up to the last that is read.
    let parts: [Part]
    /// The key columns of each entry, up to the last that is read.
    let keyParts: [Part]

    /// Whether nothing of the entry is read.
    var isEmpty: Bool { parts.isEmpty && keyParts.isEmpty }

    /// - Returns: `nil` if a column is not in the index, or not as stored.
    init?(_ index: IndexHandle, _ table: TableHandle, reading columns: ColumnSet) {
        if index.isSpatial || columns.isAll { return nil }
        var left = Set(columns.ordinals)
        func part(_ slot: ColumnSlot, descending: Bool, isStored: Bool) -> Part {
            let ordinal = Int(slot.ordinal)
            guard isStored, slot.type != .keys, left.contains(ordinal) else {
                return Part(slot: slot, descending: descending, isSkipped: true)
            }
            left.remove(ordinal)
            return Part(slot: slot, descending: descending, isSkipped: false)
        }
        let parts = index.parts.map {
            part($0.slot, descending: $0.descending, isStored: !$0.noCase)
        }
        let keyParts = table.keySlots.map { part($0, descending: false, isStored: true) }
        if !left.isEmpty { return nil }
        self.parts = CoveringIndex.needed(parts)
        self.keyParts = CoveringIndex.needed(keyParts)
    }

    private static func needed(_ parts: [Part]) -> [Part] {
        guard let last = parts.lastIndex(where: { !$0.isSkipped }) else { return [] }
        return Array(parts[...last])
    }
}

extension Plan {
    /// Returns how the residual condition and some expressions are read from the entries of the plan's index; `nil` if
    /// they need the rows.
    func cover(reading expressions: Program? = nil) -> CoveringIndex? {
        guard let index else { return nil }
        // The columns do not depend on the values.
        if expressions == nil, let known = kept?.covered, known.index === index { return known.cover }
        guard var columns = program.ownColumns else { return nil }
        if let expressions {
            guard let more = expressions.ownColumns else { return nil }
            columns.formUnion(more)
        }
        return CoveringIndex(index, table, reading: columns)
    }

    /// Returns the plan with an index-only scan, if its index has all values.
    func covered(reading expressions: Program) -> Plan {
        var plan = self
        if cover == nil, orders.isEmpty { plan.cover = cover(reading: expressions) }
        return plan
    }
}
