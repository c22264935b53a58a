import MakoRecords
import MakoStorage

/// The row images before and after a transaction, for watchers `withValues`. Values are decoded on access.
struct ChangedRow: Sendable {
    let old: RowState?
    let new: RowState?

    init(_ images: RowImages, _ database: Database) {
        let tables = [images.old?.table, images.new?.table].compactMap(\.self)
        var cipher: ValueCipher?
        // The cipher is loaded now, because a watcher may read the values after the database has closed.
        if tables.contains(where: { $0.schema.liveColumns.contains { $0.sealedType != nil } }) {
            do throws(PropertyKeyProblem) { cipher = try database.valueCipher() } catch { cipher = nil }
        }
        old = images.old.map { RowState(image: $0, cipher: cipher) }
        new = images.new.map { RowState(image: $0, cipher: cipher) }
    }

    /// The columns that differ; for an insert or a delete all columns.
    ///
    /// - Parameter name: the property name of a column; nil omits the column.
    func changes(_ name: (String) -> String?) -> [PropertyChange] {
        let before = old?.values
        let after = new?.values
        let columns = (new ?? old)?.image.table.schema.liveColumns.map(\.name) ?? []
        return columns.compactMap { column in
            let (old, new) = (before?[column] ?? nil, after?[column] ?? nil)
            if before != nil && after != nil && old == new { return nil }
            return name(column).map { PropertyChange(name: $0, old: old, new: new) }
        }
    }
}

/// One row image, and the cipher for its encrypted values.
struct RowState: Sendable {
    let image: RowImage
    let cipher: ValueCipher?

    /// The value of a column; nil when the table has no such column, or its value cannot be decrypted.
    func value(ofColumn name: String) -> StoredValue? {
        guard let position = image.table.layout.position(of: name) else { return nil }
        return try? image.withRow { value($0, position) }
    }

    fileprivate var values: [String: StoredValue?] {
        let columns = image.table.schema.liveColumns.map(\.name)
        let values = try? image.withRow { row in columns.indices.map { value(row, $0) } }
        return Dictionary(zip(columns, values ?? [])) { first, _ in first }
    }

    private func value(_ row: RowReader, _ position: Int) -> StoredValue? {
        // Accessors of changes do not throw: a value that cannot be decrypted reads as nil.
        do throws(RecordError) {
            return try row.value(position) { () throws(PropertyKeyProblem) in
                guard let cipher else { throw .missing }
                return cipher
            }
        } catch { return nil }
    }
}

extension EntityModel {
    /// The property name of a column; nil when the model does not have the column.
    func fieldName(ofColumn column: String) -> String? {
        place(ofColumn: column).flatMap { place in
            columns[place.position].fields.first { $0.column == column }?.name
        }
    }
}

extension SchemaState {
    /// The property name that the models of a table give a column. The column's own name when they differ or no model
    /// is bound; nil when no model has it.
    func fieldName(ofColumn column: String, inTable table: String) -> String? {
        let models = models.filter { $0.table == table && !$0.isPartial }
        if models.isEmpty { return column }
        let names = models.compactMap { $0.fieldName(ofColumn: column) }
        guard let name = names.first else { return nil }
        return names.allSatisfy { $0 == name } ? name : column
    }
}
