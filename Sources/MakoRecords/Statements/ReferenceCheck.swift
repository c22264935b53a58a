import MakoStorage

/// Makes sure that the keys in referring columns, which statements and imports store, lead to rows.
///
/// A key may lead to a row that comes later: what leads nowhere is looked at again in the end.
///
///     var check = ReferenceCheck(columns, of: dogs, catalogue)
///     try check.note(values, view)
///     try check.finish(view)
public struct ReferenceCheck {
    private struct Reference {
        let position: Int
        let column: ColumnSchema
        /// Nil: rows of any table, or of one that is not there.
        let target: TableHandle?
    }

    private let table: TableHandle
    private let catalogue: Catalogue
    private let references: [Reference]
    private var missing: [(column: String, value: Value)] = []
    private var missingRows: [RowPlace] = []

    /// - Parameter columns: those that values are given for, in the order of the values; nil for what refers to nothing.
    public init(_ columns: [ColumnSchema?], of table: TableHandle, _ catalogue: Catalogue) {
        self.table = table
        self.catalogue = catalogue
        references = columns.enumerated().compactMap { position, column in
            guard let column, let target = column.target, column.type != .keys else { return nil }
            return Reference(position: position, column: column, target: catalogue.table(named: target))
        }
    }

    /// Whether no column refers to anything.
    public var isEmpty: Bool { references.isEmpty }

    /// How many keys have led nowhere so far.
    var count: Int { missingRows.count }

    /// Looks at the values of a row.
    ///
    /// - Throws: `RecordError.danglingReference` for what can be the key of no row.
    public mutating func note(_ values: some Collection<Value>, _ view: Snapshot) throws(RecordError) {
        for reference in references {
            let value = values[values.index(values.startIndex, offsetBy: reference.position)]
            // A value of another type is refused when the row is stored.
            if value.isNull || reference.column.type.coerced(value) == nil {
                continue
            }
            let found = try place(of: value, reference)
            guard let row = found else { throw dangling(reference.column.name, value) }
            if try catalogue.contains(row, in: view) { continue }
            missing.append((reference.column.name, value))
            missingRows.append(row)
        }
    }

    /// The row that a value stands for.
    private func place(of value: Value, _ reference: Reference) throws(RecordError) -> RowPlace? {
        if reference.column.target == AnyReference.anyTable {
            guard let any = AnyReference(value), let target = catalogue.table(named: any.table) else { return nil }
            return RowPlace(target, any.key)
        }
        let target: TableHandle
        if let known = reference.target {
            target = known
        } else {
            target = try catalogue.requireTable(reference.column.target ?? "")
        }
        return target.key(referredToBy: value).map { RowPlace(target, $0) }
    }

    /// Forgets references of the row to itself, which will be there.
    mutating func forget(ownKey key: RowKey) {
        let own = RowPlace(table, key)
        for place in missingRows.indices.reversed() where missingRows[place] == own {
            missing.remove(at: place)
            missingRows.remove(at: place)
        }
    }

    /// Forgets what was noted of a row that is not stored.
    mutating func forget(after count: Int) {
        missing.removeSubrange(count...)
        missingRows.removeSubrange(count...)
    }

    /// - Throws: `RecordError.danglingReference` for the first key that still leads nowhere.
    public func finish(_ view: Snapshot) throws(RecordError) {
        for (place, row) in missingRows.enumerated() where try !catalogue.contains(row, in: view) {
            throw dangling(missing[place].column, missing[place].value)
        }
    }

    private func dangling(_ column: String, _ value: Value) -> RecordError {
        let target = table.schema.column(named: column)?.target ?? ""
        return .danglingReference(table: table.schema.name, column: column, target: target, value: value)
    }
}

extension TableHandle {
    /// Whether a key is of the kind that the table's rows have.
    func hasKeys(like key: RowKey) -> Bool { (key.rowID != nil) == isRowID }
}
