/// Which columns of a row the entries of an index give back as they are stored, and how they are read from there: a question that reads no
/// others looks up no rows.
///
/// Texts without their case do not say what was written, and places on a curve not where it was. Whether a single entry tells is seen when
/// it is read, see ``EntryRow``.
struct IndexCover: Sendable {
    /// A column of the index or of the table's key.
    struct Part: Sendable {
        let slot: ColumnSlot
        let descending: Bool
        /// Whether it is only stepped over.
        let isSkipped: Bool
    }

    /// The leading columns, up to the last that is read.
    let parts: [Part]
    /// The columns of the key that each entry names, up to the last that is read; empty where none is.
    let keyParts: [Part]

    /// Whether nothing of an entry is read but the key.
    var isEmpty: Bool { parts.isEmpty && keyParts.isEmpty }

    /// - Returns: nil: one of the columns is not there, or not as it is stored.
    init?(_ index: IndexHandle, _ table: TableHandle, reading columns: ColumnSet) {
        if index.isSpatial || columns.isAll { return nil }
        var left = Set(columns.ordinals)
        func part(_ slot: ColumnSlot, descending: Bool, isTold: Bool) -> Part {
            let ordinal = Int(slot.ordinal)
            guard isTold, slot.type != .keys, left.contains(ordinal) else {
                return Part(slot: slot, descending: descending, isSkipped: true)
            }
            left.remove(ordinal)
            return Part(slot: slot, descending: descending, isSkipped: false)
        }
        let parts = index.parts.map {
            part($0.slot, descending: $0.descending, isTold: !$0.noCase)
        }
        let keyParts = table.keySlots.map { part($0, descending: false, isTold: true) }
        if !left.isEmpty { return nil }
        self.parts = IndexCover.needed(parts)
        self.keyParts = IndexCover.needed(keyParts)
    }

    private static func needed(_ parts: [Part]) -> [Part] {
        guard let last = parts.lastIndex(where: { !$0.isSkipped }) else { return [] }
        return Array(parts[...last])
    }
}

extension Plan {
    /// How what is left to be tested and some expressions are read out of the entries of the plan's index; nil: it needs the rows.
    func cover(reading expressions: Program? = nil) -> IndexCover? {
        guard let index else { return nil }
        // The columns are the same whatever the values are.
        if expressions == nil, let known = kept?.covered, known.index === index { return known.cover }
        guard var columns = program.ownColumns else { return nil }
        if let expressions {
            guard let more = expressions.ownColumns else { return nil }
            columns.formUnion(more)
        }
        return IndexCover(index, table, reading: columns)
    }

    /// The same plan, which reads the rows' values out of the entries of its index where these have all of them.
    func covered(reading expressions: Program) -> Plan {
        var plan = self
        if cover == nil, orders.isEmpty { plan.cover = cover(reading: expressions) }
        return plan
    }
}
