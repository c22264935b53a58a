import MakoRecords
import MakoStorage

/// A row as it was before a transaction and as it is after it, on its way to those who asked for values. Nothing is decoded before somebody
/// looks.
struct ChangedRow: Sendable {
    let old: RowState?
    let new: RowState?

    init(_ images: RowImages, _ database: Database) {
        let tables = [images.old?.table, images.new?.table].compactMap(\.self)
        var cipher: ValueCipher?
        // Whoever looks may do so when the database is closed.
        if tables.contains(where: { $0.schema.liveColumns.contains { $0.sealedType != nil } }) {
            do throws(PropertyKeyProblem) { cipher = try database.valueCipher() } catch { cipher = nil }
        }
        old = images.old.map { RowState(image: $0, cipher: cipher) }
        new = images.new.map { RowState(image: $0, cipher: cipher) }
    }

    /// The columns that differ; all of them where the row is new or gone.
    ///
    /// - Parameter name: what to call a column; nil: leave it out.
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

/// A row at one moment, with what opens its encrypted values.
struct RowState: Sendable {
    let image: RowImage
    let cipher: ValueCipher?

    /// What a column holds; nil where there is no such column, or what is encrypted cannot be opened.
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
        // What cannot be opened is no value; there is nobody here to throw at.
        do throws(RecordError) {
            return try row.value(position) { () throws(PropertyKeyProblem) in
                guard let cipher else { throw .missing }
                return cipher
            }
        } catch { return nil }
    }
}

extension EntityModel {
    /// What a column is called where properties have their Swift names; nil for one that the model has not.
    func fieldName(ofColumn column: String) -> String? {
        place(ofColumn: column).flatMap { place in
            columns[place.position].fields.first { $0.column == column }?.name
        }
    }
}

extension SchemaState {
    /// What the types of a table call a column: its own name where they do not agree or none of them is in use, nil where none has it.
    func fieldName(ofColumn column: String, inTable table: String) -> String? {
        let models = models.filter { $0.table == table && !$0.isPartial }
        if models.isEmpty { return column }
        let names = models.compactMap { $0.fieldName(ofColumn: column) }
        guard let name = names.first else { return nil }
        return names.allSatisfy { $0 == name } ? name : column
    }
}
