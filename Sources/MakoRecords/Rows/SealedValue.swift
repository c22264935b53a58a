import MakoStorage

// An encrypted value has the stored form of the value in the catalogue, with one byte for its type. It is bound to its
// table and column by their numbers, which do not change when they are renamed. It is not bound to its row: keys change
// when tables are merged, and a writer that can swap values can swap rows.

/// Finds the cipher on first use, because that may take time and fail.
package final class CipherAccess {
    private let find: () throws(PropertyKeyProblem) -> ValueCipher
    private var found: Result<ValueCipher, PropertyKeyProblem>?

    package init(_ find: @escaping () throws(PropertyKeyProblem) -> ValueCipher) { self.find = find }

    /// The access without a key.
    package static var none: CipherAccess {
        CipherAccess { () throws(PropertyKeyProblem) in throw .missing }
    }

    /// Checks that there is a cipher.
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
    /// Returns the column at a position, if it is encrypted and not dropped.
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
    /// Returns the field as a dynamic value, decrypted if necessary.
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
    /// Sets a dynamic value, encrypted if the column is.
    ///
    /// - Throws: `RecordError.valueSealed`, `.typeMismatch` for a value of another type than the encrypted one.
    package mutating func set(
        _ position: Int, _ value: Value, sealing cipher: () throws(PropertyKeyProblem) -> ValueCipher
    ) throws(RecordError) {
        guard let layout, let (column, type) = layout.sealed(position) else { return set(position, value) }
        if value.isNull { return setNull(position) }
        guard let fitting = type.coerced(value) else {
            // The error must not contain the value.
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
