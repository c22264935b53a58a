import Foundation
import MakoRecords

/// The reason, on one line, why a value cannot be converted to or from the content of its column.
struct ValueFault: Error {
    let reason: String

    init(_ error: any Error) {
        let text: String
        switch error {
        case let fault as ValueFault: text = fault.reason
        case let error as DecodingError: text = ValueFault.text(error.pathAndReason)
        case let error as EncodingError: text = ValueFault.text(error.pathAndReason)
        default: text = "\(error)"
        }
        reason = ValueFault.line(text)
    }

    init(_ reason: String) { self.reason = ValueFault.line(reason) }

    private static func text(_ found: (path: String, reason: String)) -> String {
        found.path.isEmpty ? found.reason : "\(found.path): \(found.reason)"
    }

    /// Joins the lines of a text, and truncates a long one.
    private static func line(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 300 ? "\(line.prefix(300))…" : line
    }
}

extension DecodingError {
    /// The path of property names, and the reason.
    var pathAndReason: (path: String, reason: String) {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            (context.codingPath.text, context.debugDescription)
        case .keyNotFound(let key, let context): ((context.codingPath + [key]).text, context.debugDescription)
        @unknown default: ("", "\(self)")
        }
    }
}

extension EncodingError {
    fileprivate var pathAndReason: (path: String, reason: String) {
        if case .invalidValue(_, let context) = self { return (context.codingPath.text, context.debugDescription) }
        return ("", "\(self)")
    }
}

extension [any CodingKey] {
    fileprivate var text: String { map(\.stringValue).joined(separator: ".") }
}

extension StoredValue {
    /// The value for a message, truncated if it is long.
    var brief: String {
        switch self {
        case .text(let text) where text.utf8.count > 120: "'\(text.prefix(80))…'"
        case .blob(let bytes) where bytes.count > 32: "a blob of \(bytes.count) bytes"
        default: description
        }
    }
}

// MARK: - Errors of stored values

extension EntityRow {
    /// The names for messages: the type of the table, the key, and the property of a column, if there is one; without a
    /// column, of the row number.
    fileprivate func names(ofColumn column: String?) -> (entity: String, key: String, property: String?) {
        let table = reader.layout.table
        let schema = DatabaseRegistry.database(database)?.schema
        let model = schema?.binding(ofTable: table)?.model
        let key = hasExtra ? extra?.key ?? .rowID(rowID) : .rowID(rowID)
        let text = key.text(in: schema?.catalogue.table(named: table)?.schema)
        let property = model.flatMap { model in
            guard let column else { return model.rowNumberProperty }
            return model.place(ofColumn: column).map { model.columns[$0.position].name }
        }
        return (model?.name ?? table, text, property)
    }
}

extension EntityCoding {
    /// The error for a field that holds no value of the property's type.
    public static func mismatch<T>(_ row: EntityRow, _ position: Int, _ type: T.Type) -> MakoError {
        unreadable(row, position, "\(row.reader.value(position).brief) is no \(T.self)")
    }

    /// The error for a field that cannot be read.
    static func unreadable(_ row: EntityRow, _ position: Int, _ reason: String) -> MakoError {
        let names = row.reader.layout.names
        let column = names.indices.contains(position) ? names[position] : "\(position)"
        let (entity, key, property) = row.names(ofColumn: column)
        return .unreadableValue(entity: entity, key: key, property: property ?? column, reason: reason)
    }

    /// The error for a row whose number the key's type cannot be.
    @usableFromInline
    static func unreadableNumber<T: FixedWidthInteger>(_ row: EntityRow, _ type: T.Type) -> MakoError {
        let (entity, key, property) = row.names(ofColumn: nil)
        return .unreadableValue(
            entity: entity, key: key, property: property ?? "id", reason: "\(row.rowID) is no \(T.self)")
    }

    /// The error for a value that cannot be written.
    @usableFromInline
    static func unstorable(_ writer: borrowing RowWriter, _ position: Int, _ reason: String) -> MakoError {
        let (table, column) = writer.names(of: position)
        return .unstorableValue(entity: table, key: nil, property: column, reason: reason)
    }
}

extension MakoError {
    /// The error with the names of the entity and its property, if it is that of a value that cannot be stored.
    func naming(_ model: EntityModel, _ key: RowKey?) -> MakoError {
        guard case .unstorableValue(_, nil, let column, let reason) = self else { return self }
        let property = model.place(ofColumn: column).map { model.columns[$0.position].name } ?? column
        var text: String?
        do throws(MakoError) {
            let schema = try model.schema()
            text = key?.text(in: schema)
            if let whole = text, whole.count > 100 { text = "\(whole.prefix(100))…" }
        } catch {}
        return .unstorableValue(entity: model.name, key: text, property: property, reason: reason)
    }
}

// MARK: - Statements

/// Refuses rows of an INSERT or UPDATE that could not be read as objects.
///
/// A column has a type such as text, but does not know that its property is a `Character`. The properties of the types
/// in use do, so each that may refuse the content of its columns reads the row before it is stored. References and
/// encrypted properties are left out, because statements check them by other rules.
final class ReadableRows: RowCheck {
    private struct Property: Sendable {
        let position: Int
        let name: String
        let coding: any AnyPropertyCoding
        let ordinals: [Int]
    }

    /// The properties of one type that is bound to the table.
    private struct Reading: Sendable {
        let entity: String
        let layout: RowLayout
        let properties: [Property]
    }

    private let table: EntitySchema
    private let readings: [Reading]

    /// Nil: every row that fits the columns can be read.
    init?(_ bindings: [Binding]) {
        guard let first = bindings.first else { return nil }
        table = first.table.schema
        readings = bindings.compactMap { binding in
            let properties = Self.properties(binding)
            if properties.isEmpty { return nil }
            return Reading(entity: binding.model.name, layout: binding.layout, properties: properties)
        }
        if readings.isEmpty { return nil }
    }

    private static func properties(_ binding: Binding) -> [Property] {
        let schema = binding.table.schema
        return binding.model.columns.enumerated().compactMap { position, property in
            guard case .column(let type, _, _, nil) = property.kind, type != .keys, !property.refersToAny,
                !property.isEncrypted, let coding = property.coding, coding.refusesFields
            else { return nil }
            let ordinals = property.fields.compactMap { schema.column(named: $0.column)?.ordinal }
            return Property(position: position, name: property.name, coding: coding, ordinals: ordinals)
        }
    }

    func check(_ row: RowReader, key: RowKey?, changed: ColumnSet) throws(RecordError) {
        for reading in readings {
            let concerned = reading.properties.filter { $0.ordinals.contains { changed.contains($0) } }
            if concerned.isEmpty { continue }
            // Without a database, because encrypted properties are not read.
            let row = EntityRow(
                try row.arranged(by: reading.layout), rowID: key?.rowID ?? 0, database: 0, extra: nil,
                rows: BorrowedRowChunk(nil), offset: 0, pending: 0)
            for property in concerned {
                guard let reason = property.coding.fault(reading: row, property.position) else { continue }
                throw .valueRefused(
                    table: reading.entity, key: key?.text(in: table), column: property.name, reason: reason)
            }
        }
    }
}
