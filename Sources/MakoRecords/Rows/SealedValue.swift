import MakoStorage

// What is sealed of a value is what the catalogue would store of it: one byte says its type, so that it is opened as what it was.
// It is bound to its table and column by their numbers, which outlive every new name. It is not bound to its row: rows change their keys when
// tables are merged, and whoever may write rows may write whole ones.

/// The way to the cipher of sealed values: found when the first of them is met, since finding it may take time and fail.
package final class CipherAccess {
    private let find: () throws(PropertyKeyProblem) -> ValueCipher
    private var found: Result<ValueCipher, PropertyKeyProblem>?

    package init(_ find: @escaping () throws(PropertyKeyProblem) -> ValueCipher) { self.find = find }

    /// No key was given.
    package static var none: CipherAccess {
        CipherAccess { () throws(PropertyKeyProblem) in throw .missing }
    }

    /// Whether there is a cipher at all.
    func check(for column: String, of table: String) throws(RecordError) {
        do throws(PropertyKeyProblem) { _ = try cipher() } catch {
            throw .valueSealed(table: table, column: column, error)
        }
    }

    package func cipher() throws(PropertyKeyProblem) -> ValueCipher {
        if let found { return try found.get() }
        let result: Result<ValueCipher, PropertyKeyProblem>
        do throws(PropertyKeyProblem) { result = .success(try find()) } catch { result = .failure(error) }
        found = result
        return try result.get()
    }
}

extension RowLayout {
    /// The column at a position, where it is an encrypted one that is still there.
    fileprivate func sealed(_ position: Int) -> (column: ColumnSchema, type: ColumnType)? {
        guard let column = column(position), let type = column.sealedType, !column.isDead else { return nil }
        return (column, type)
    }

    fileprivate func sealingContext(_ column: ColumnSchema) -> [UInt8] {
        var sink = ByteSink()
        sink.number(tableID)
        sink.number(UInt32(truncatingIfNeeded: column.ordinal))
        return sink.bytes
    }

    fileprivate func failure(_ column: ColumnSchema, _ problem: PropertyKeyProblem) -> RecordError {
        .valueSealed(table: table, column: column.name, problem)
    }
}

extension RowReader {
    /// The field as a dynamic value; one that is sealed, opened.
    ///
    /// - Throws: `RecordError.valueSealed`.
    package func value(
        _ position: Int, opening cipher: () throws(PropertyKeyProblem) -> ValueCipher
    ) throws(RecordError) -> Value {
        let layout = layout
        guard let (column, _) = layout.sealed(position) else { return value(position) }
        guard case .blob(let bytes) = value(position) else { return .null }
        do throws(PropertyKeyProblem) {
            let plain = try cipher().open(bytes, context: layout.sealingContext(column))
            var source = ByteSource(plain, what: column.name)
            guard let value = try? source.value(), source.isAtEnd else { throw .damaged }
            return value
        } catch { throw layout.failure(column, error) }
    }

    func value(_ position: Int, opening access: CipherAccess) throws(RecordError) -> Value {
        try value(position, opening: { () throws(PropertyKeyProblem) in try access.cipher() })
    }
}

extension RowWriter {
    /// A dynamic value, sealed where the column is encrypted.
    ///
    /// - Throws: `RecordError.valueSealed`, `.typeMismatch` for a value that is no value of the encrypted type.
    package mutating func set(
        _ position: Int, _ value: Value, sealing cipher: () throws(PropertyKeyProblem) -> ValueCipher
    ) throws(RecordError) {
        guard let layout, let (column, type) = layout.sealed(position) else { return set(position, value) }
        if value.isNull { return setNull(position) }
        guard let fitting = type.coerced(value) else {
            // The value itself is not for messages.
            throw .typeMismatch(table: layout.table, column: column.name, expected: type, found: value.typeName)
        }
        var sink = ByteSink()
        sink.value(fitting)
        do throws(PropertyKeyProblem) {
            set(position, try cipher().seal(sink.bytes, context: layout.sealingContext(column)))
        } catch { throw layout.failure(column, error) }
    }

    mutating func set(_ position: Int, _ value: Value, sealing access: CipherAccess) throws(RecordError) {
        try set(position, value, sealing: { () throws(PropertyKeyProblem) in try access.cipher() })
    }
}
