/// An INSERT with its names looked up in one catalogue.
final class PreparedInsert: Sendable {
    /// Where a value of an inserted row goes.
    struct Place: Sendable {
        /// Nil: the row's id.
        let column: ColumnSchema?
        let position: Int
        let name: ColumnName
    }

    /// A value of the one row of an INSERT that needs no binder.
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

    let target: TableHandle
    let places: [Place]
    /// The values of a single row that is stored as it is given, or refused; nil for any other INSERT.
    let row: [Source]?

    /// - Throws: `syntax`, pointing into the text.
    init(_ statement: InsertStatement, _ catalogue: Catalogue) throws(RecordError) {
        let target = try statement.table.findWritable(in: catalogue)
        self.target = target
        let places = try PreparedInsert.places(statement, target)
        self.places = places
        let isPlain =
            statement.conflict == .refuse && statement.onConflict == nil && statement.returning.isEmpty
            && !places.contains { $0.column?.target != nil || $0.column?.sealedType != nil || $0.column?.type == .keys }
        guard isPlain, case .values(let rows) = statement.source, rows.count == 1, rows[0].count == places.count else {
            row = nil
            return
        }
        let sources = rows[0].compactMap(Source.init)
        row = sources.count == places.count ? sources : nil
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
                places.append(Place(column: nil, position: 0, name: ColumnName(name: id, at: at)))
            }
            for column in target.schema.liveColumns {
                places.append(try place(column, ColumnName(name: column.name, at: at), target))
            }
            return places
        }
        for name in named {
            let place: Place
            if name.isID(of: target) {
                place = Place(column: nil, position: 0, name: name)
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

extension PreparedInsert.Source {
    func value(_ parameters: [Value], _ named: [String: Value]) throws(RecordError) -> Value {
        switch self {
        case .constant(let value): value
        case .parameter(.position(let number), _) where number < parameters.count: parameters[number]
        case .parameter(let parameter, let at): try Binder.value(of: parameter, at, parameters, named)
        }
    }
}
