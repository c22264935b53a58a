import MakoStorage

/// Checks that the references stored by statements, imports and saves lead to rows.
///
/// A reference may precede its target: missing targets are looked up again at the end.
///
///     var check = ReferenceCheck(columns, of: dogs, catalogue)
///     try check.note(values, view)
///     try check.finish(view)
package struct ReferenceCheck {
    private struct Reference {
        let position: Int
        let column: ColumnSchema
        /// The target table; `nil` for rows of any table, or of a missing one.
        let target: TableHandle?
    }

    private let table: TableHandle
    private let catalogue: Catalogue
    private let references: [Reference]
    /// The defaults of references that are not among the columns.
    private let defaults: [(reference: Reference, value: Value)]
    private var missing: [(column: String, value: Value)] = []
    private var missingRows: [RowPlace] = []

    /// Makes a check.
    ///
    /// - Parameters:
    ///   - columns: the columns of the values, in their order; `nil` for values that are not references.
    ///   - insertsRows: whether all other columns get their defaults.
    package init(
        _ columns: [ColumnSchema?], of table: TableHandle, _ catalogue: Catalogue, insertsRows: Bool = false
    ) {
        func reference(_ column: ColumnSchema?, _ position: Int) -> Reference? {
            guard let column, let target = column.target else { return nil }
            return Reference(position: position, column: column, target: catalogue.table(named: target))
        }
        self.table = table
        self.catalogue = catalogue
        references = columns.enumerated().compactMap { position, column in reference(column, position) }
        let unset = table.schema.liveColumns.filter { insertsRows && ReferenceCheck.hasDefault($0, besides: columns) }
        defaults = unset.compactMap { column in reference(column, -1).map { ($0, column.defaultValue) } }
    }

    /// Whether a reference gets its default when a row is inserted.
    static func hasDefault(_ column: ColumnSchema, besides columns: [ColumnSchema?]) -> Bool {
        column.target != nil && !column.defaultValue.isNull && !columns.contains { $0?.ordinal == column.ordinal }
    }

    /// Whether no column is a reference.
    package var isEmpty: Bool { references.isEmpty && defaults.isEmpty }

    /// The number of missing targets so far.
    package var count: Int { missingRows.count }

    /// Checks the values of a row.
    ///
    /// - Throws: `RecordError.danglingReference` for a value that cannot be a key.
    package mutating func note(_ values: some Collection<Value>, _ view: Snapshot) throws(RecordError) {
        for reference in references {
            try note(values[values.index(values.startIndex, offsetBy: reference.position)], reference, view)
        }
        for (reference, value) in defaults { try note(value, reference, view) }
    }

    private mutating func note(_ value: Value, _ reference: Reference, _ view: Snapshot) throws(RecordError) {
        // Inserting the row reports values of another type.
        if value.isNull || reference.column.type.coerced(value) == nil { return }
        if reference.column.type == .keys { return try noteKeys(value, reference.column, view) }
        let found = try place(of: value, reference)
        guard let row = found else { throw dangling(reference.column.name, value) }
        if try catalogue.contains(row, in: view) { return }
        missing.append((reference.column.name, value))
        missingRows.append(row)
    }

    private mutating func noteKeys(_ value: Value, _ column: ColumnSchema, _ view: Snapshot) throws(RecordError) {
        for target in catalogue.targets(of: value, column) {
            guard let target else { throw dangling(column.name, value) }
            if try catalogue.contains(target, in: view) { continue }
            missing.append((column.name, catalogue.value(of: target) ?? value))
            missingRows.append(target)
        }
    }

    /// Returns the target row of a value.
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

    /// Discards references of the last row to itself, which are valid.
    ///
    /// - Parameter count: the number of missing targets of the rows before. These may lead to the same key, and the row may
    ///   be skipped.
    package mutating func forget(ownKey key: RowKey, after count: Int) {
        let own = RowPlace(table, key)
        for place in (count..<missingRows.count).reversed() where missingRows[place] == own {
            missing.remove(at: place)
            missingRows.remove(at: place)
        }
    }

    /// Discards the missing targets of a row that is not inserted.
    mutating func forget(after count: Int) {
        missing.removeSubrange(count...)
        missingRows.removeSubrange(count...)
    }

    /// Checks the missing targets again.
    ///
    /// - Throws: `RecordError.danglingReference` for the first one that is still missing.
    package func finish(_ view: Snapshot) throws(RecordError) {
        for (place, row) in missingRows.enumerated() where try !catalogue.contains(row, in: view) {
            throw dangling(missing[place].column, missing[place].value)
        }
    }

    private func dangling(_ column: String, _ value: Value) -> RecordError {
        let target = table.schema.column(named: column)?.target ?? ""
        return .danglingReference(table: table.schema.name, column: column, target: target, value: value)
    }
}

extension Catalogue {
    /// Returns the key of a row as a value; `nil` for a key of several columns, or of a table that is not there.
    fileprivate func value(of row: RowPlace) -> Value? {
        if case .rowID(let id) = row.key { return .integer(id) }
        guard let table = table(numbered: row.table), let values = try? row.key.values(in: table.schema) else {
            return nil
        }
        return values.count == 1 ? values[0] : nil
    }
}

extension TableHandle {
    /// Returns whether a key is of the same kind as those of the table.
    func hasKeys(like key: RowKey) -> Bool { (key.rowID != nil) == isRowID }
}
