import MakoRecords
import MakoStorage

/// A query as another program with the rows of the database runs it: its logical plans, and the decoder of the rows.
package struct RemoteQuery<T: Entity>: Sendable {
    /// The database whose schema the plans have.
    package let database: Database
    package let catalogue: Catalogue
    /// Whether conditions were looked up in rows of the database.
    package let isLookedUp: Bool
    private let selection: Selection
    private let binding: Binding

    package init(_ query: Query<T>) throws(MakoError) {
        let database = try query.target()
        try query.prepareJoins(database)
        (catalogue, binding, selection) = try database.viewing(T.entityModel) {
            (view, binding, schema) throws(MakoError) -> (Catalogue, Binding, Selection) in
            (schema.catalogue, binding, try query.selection(binding, schema, view))
        }
        self.database = database
        isLookedUp = query.hasReferences
    }

    /// A property whose value is read from rows of other tables; nil: there is none.
    package var holdingProperty: String? {
        binding.model.columns.first { $0.coding?.holdsValue == true }?.name
    }

    // MARK: - Plans

    /// The plan of the rows as ``decoder()`` takes them.
    package func rows() throws(MakoError) -> LogicalPlan {
        let columns = RemoteRowDecoder<T>.columns(binding)
        return try records { () throws(RecordError) in try selection.logicalPlan(columns, catalogue) }
    }

    /// The plan of the row numbers; nil: the key has columns.
    package func rowNumbers() throws(MakoError) -> LogicalPlan? {
        guard case .rowID(let id) = binding.table.schema.key else { return nil }
        return try records { () throws(RecordError) in try selection.logicalPlan([.column([id])], catalogue) }
    }

    /// The plan of one row, if there is any.
    package func existence() throws(MakoError) -> LogicalPlan {
        var first = selection
        first.limit = min(first.limit ?? 1, 1)
        return try records { () throws(RecordError) in
            try first.logicalPlan([.literal(.integer(1))], catalogue)
        }
    }

    /// The plan of an aggregate.
    ///
    /// - Parameter argument: nil for the number of rows.
    package func aggregate(_ function: AggregateFunction, of argument: Expr?) throws(MakoError) -> LogicalPlan {
        try records { () throws(RecordError) in try selection.logicalPlan(function, of: argument, catalogue) }
    }

    /// Returns a decoder of rows of ``rows()``.
    package func decoder() -> RemoteRowDecoder<T> { RemoteRowDecoder(binding) }
}

extension Query {
    /// The property as an argument of ``RemoteQuery/aggregate(_:of:)``.
    package static func argument<V>(_ property: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> Expr {
        try property.path().expr()
    }
}

/// Decodes rows of values as rows of the file are decoded: by the type's initializer.
///
/// The values belong to no database of this process: saving one, or loading an object through one, throws
/// `MakoError.foreignObject`.
package struct RemoteRowDecoder<T: Entity>: ~Copyable {
    private var writer = RowWriter()
    private let layout: RowLayout
    /// The position in the layout of each value, without that of the row number.
    private let positions: [Int]
    private let hasRowNumber: Bool

    init(_ binding: Binding) {
        layout = binding.layout
        positions = Self.positions(binding.layout)
        hasRowNumber = Self.rowNumber(binding) != nil
    }

    /// The columns of a row: the row number, if that is the key, and those of the type.
    static func columns(_ binding: Binding) -> [Expr] {
        let names = positions(binding.layout).map { binding.layout.names[$0] }
        return (rowNumber(binding).map { [$0] + names } ?? names).map { .column([$0]) }
    }

    private static func rowNumber(_ binding: Binding) -> String? {
        if case .rowID(let id) = binding.table.schema.key { id } else { nil }
    }

    /// Without the positions of properties that have no column.
    private static func positions(_ layout: RowLayout) -> [Int] {
        layout.names.indices.filter { !layout.names[$0].isEmpty }
    }

    /// Returns the value of a row.
    ///
    /// - Throws: `MakoError.unreadableValue` where a value does not fit its property.
    package mutating func value(_ fields: [StoredValue]) throws(MakoError) -> T {
        var rowNumber: Int64 = 0
        if hasRowNumber, case .integer(let id)? = fields.first { rowNumber = id }
        writer.begin(layout)
        for (position, value) in zip(positions, fields.dropFirst(hasRowNumber ? 1 : 0)) { writer.set(position, value) }
        let draft: RowReader?
        do throws(RecordError) { draft = try writer.draft() } catch { throw MakoError(error) }
        guard let draft else { throw .damaged(reason: "a row of \(T.entityModel.name) was not begun") }
        return try T(
            row: EntityRow(
                draft, rowID: rowNumber, database: DatabaseRegistry.foreign, extra: nil, rows: BorrowedRowChunk(nil),
                offset: 0, pending: 0))
    }
}
