import MakoStorage

/// An INSERT with its names resolved in one catalogue.
package final class PreparedInsert: Sendable {
    /// The target of a value.
    struct Place: Sendable {
        /// The column; `nil` for the row id.
        let column: ColumnSchema?
        /// The position in the layout; -1 for the row id.
        let position: Int
        let name: ColumnName
    }

    /// A value of a single-row INSERT that needs no binder.
    enum Source: Sendable {
        case constant(Value)
        case parameter(Parameter, SourcePosition)

        fileprivate init?(_ expr: Expr) {
            switch expr {
            case .literal(let value, _): self = .constant(value)
            case .parameter(let parameter, let at): self = .parameter(parameter, at)
            default: return nil
            }
        }
    }

    package let target: TableHandle
    let places: [Place]
    private let positions: [Int]
    /// The values of a single row that is inserted or refused; `nil` for other INSERTs.
    private let row: [Source]?
    /// Whether the statement inserts a single row of constants and parameters, which is stored as given or refused.
    package var isPlain: Bool { row != nil }
    /// The number of parameters, if they are the values of the plain row in order; otherwise `nil`.
    package let plainParameters: Int?
    /// The text of the statement, for errors without a position.
    private let text: String
    private let parameterCount: Int

    /// Resolves the names of an INSERT.
    ///
    /// - Throws: `syntax`, pointing into the text.
    init(_ statement: InsertStatement, _ catalogue: Catalogue) throws(RecordError) {
        let target = try statement.table.findWritable(in: catalogue)
        self.target = target
        let places = try PreparedInsert.places(statement, target)
        self.places = places
        positions = places.map(\.position)
        text = statement.table.at.text
        parameterCount = statement.parameterCount
        let columns = places.map(\.column)
        let isPlain =
            statement.conflict == .refuse && statement.onConflict == nil && statement.returning.isEmpty
            && !columns.contains { $0?.target != nil || $0?.sealedType != nil || $0?.type == .keys }
            && !target.schema.liveColumns.contains { ReferenceCheck.hasDefault($0, besides: columns) }
        guard isPlain, case .values(let rows) = statement.source, rows.count == 1, rows[0].count == places.count else {
            row = nil
            plainParameters = nil
            return
        }
        let sources = rows[0].compactMap(Source.init)
        row = sources.count == places.count ? sources : nil
        let isInOrder = sources.enumerated().allSatisfy { place, source in
            if case .parameter(.position(place), _) = source { true } else { false }
        }
        plainParameters = row != nil && isInOrder && statement.parameterCount == places.count ? places.count : nil
    }

    private static func places(
        _ statement: InsertStatement, _ target: TableHandle
    ) throws(RecordError) -> [Place] {
        var places: [Place] = []
        let named = statement.columns
        if case .defaults = statement.source, named.isEmpty { return [] }
        if named.isEmpty {
            let at = statement.table.at
            if let id = target.schema.idColumn, !target.schema.hidesID {
                places.append(Place(column: nil, position: -1, name: ColumnName(name: id, at: at)))
            }
            for column in target.schema.liveColumns {
                places.append(try place(column, ColumnName(name: column.name, at: at), target))
            }
            return places
        }
        for name in named {
            let place: Place
            if name.isID(of: target) {
                place = Place(column: nil, position: -1, name: name)
            } else {
                place = try self.place(try name.find(in: target), name, target)
            }
            if places.contains(where: { $0.column?.ordinal == place.column?.ordinal }) {
                throw name.at.error("\(name.name) is named twice")
            }
            places.append(place)
        }
        return places
    }

    private static func place(
        _ column: ColumnSchema, _ name: ColumnName, _ target: TableHandle
    ) throws(RecordError) -> Place {
        guard let position = target.layout.position(of: column.name) else {
            throw name.at.error("\(target.schema.name) has no column \(name.name)")
        }
        return Place(column: column, position: position, name: name)
    }
}

extension PreparedInsert {
    /// Returns the values of the plain row, in the order of its columns.
    ///
    /// - Throws: `syntax` for missing or extra values.
    package func values(_ parameters: [Value], _ named: [String: Value]) throws(RecordError) -> [Value] {
        if parameters.count > parameterCount {
            throw SourcePosition.valuesLeftOver(parameters.count, places: parameterCount, in: text)
        }
        if let plainParameters, parameters.count == plainParameters { return parameters }
        var values: [Value] = []
        for source in row ?? [] { values.append(try source.value(parameters, named)) }
        return values
    }

    /// Inserts the plain row. A refused row changes nothing, so that no savepoint is needed, which would copy each page
    /// that is changed next.
    ///
    /// - Parameter values: those of ``values(_:_:)``; what follows them is passed over.
    /// - Throws: `duplicateKey`, `uniqueViolation`, `nullViolation`, `typeMismatch`, `valueRefused`; nothing has
    ///   changed then.
    package func store(
        _ values: [Value], with writer: inout RowWriter, in tx: borrowing WriteTransaction, changes: inout ChangeSet,
        check: (any RowCheck)?
    ) throws(RecordError) -> RowKey {
        assert(values.count >= places.count)
        writer.begin(target.layout)
        var id: RowKey?
        for place in positions.indices {
            if positions[place] < 0 {
                id = try target.rowID(of: values[place], named: places[place].name.name)
            } else {
                writer.set(positions[place], values[place])
            }
        }
        return try target.insert(&writer, key: id, in: tx, changes: &changes, check: check)
    }
}

extension TableHandle {
    /// Returns the row id in a statement; `nil` if the table must assign one.
    func rowID(of value: Value, named name: String) throws(RecordError) -> RowKey? {
        if value.isNull { return nil }
        guard case .integer(let number)? = ColumnType.integer.coerced(value) else {
            throw .typeMismatch(
                table: schema.name, column: name, expected: .integer, found: "\(value.typeName) \(value)")
        }
        return .rowID(number)
    }
}

extension PreparedInsert.Source {
    func value(_ parameters: [Value], _ named: [String: Value]) throws(RecordError) -> Value {
        switch self {
        case .constant(let value): value
        case .parameter(.position(let number), _) where number < parameters.count: parameters[number]
        case .parameter(let parameter, let at): try Binder.value(of: parameter, at, parameters, named)
        }
    }
}
