import MakoRecords
import MakoStorage

// The part of reading that knows the entity's type is inlined into the user's module, where the type is known; it calls what is here,
// which knows rows only.

/// What the rows of one fetch have in common; makes rows ready to become objects. It keeps what it puts into the row that it made last.
@frozen @usableFromInline
struct RowMaker {
    @usableFromInline let database: UInt32
    @usableFromInline let context: FetchContext?
    /// The properties that stay in the row.
    @usableFromInline let lazyProperties: UInt64
    @usableFromInline var keeper: RowKeeper
    @usableFromInline var extra: ObjectExtra?

    @inlinable
    init(database: UInt32, context: FetchContext?, layout: RowLayout, lazyProperties: UInt64) {
        self.database = database
        self.context = context
        self.lazyProperties = lazyProperties
        extra = ObjectExtra(context: context)
        keeper = RowKeeper(firstChunk: 1024, textsOnly: layout.areTexts(lazyProperties), companion: extra)
    }

    @inlinable @inline(__always)
    mutating func row(_ id: Int64, _ reader: RowReader) -> EntityRow {
        if lazyProperties == 0 {
            return EntityRow(
                reader, rowID: id, database: database, extra: extra, rows: LentChunk(nil), offset: 0, pending: 0)
        }
        let offset = keeper.keep(reader)
        return EntityRow(
            reader, rowID: id, database: database, extra: nil, rows: keeper.lentChunk, offset: offset,
            pending: lazyProperties)
    }

    @inlinable @inline(__always)
    mutating func row(_ key: RowKey, _ reader: RowReader) -> EntityRow {
        if case .rowID(let id) = key { return row(id, reader) }
        let offset = lazyProperties == 0 ? 0 : keeper.keep(reader)
        let rows = lazyProperties == 0 ? nil : keeper.chunk
        extra = ObjectExtra(context: context, key: key, rows: rows)
        return EntityRow(
            reader, rowID: 0, database: database, extra: extra, rows: LentChunk(rows), offset: offset,
            pending: lazyProperties)
    }
}

/// A query that does something with its objects when all are made. An object, as few do: others are spared the room.
final class FollowedQuery<T: Entity>: Sendable {
    let query: Query<T>

    init(_ query: Query<T>) { self.query = query }
}

/// A planned query on the view it is to be run on.
@usableFromInline
final class PlannedRows: Sendable {
    @usableFromInline let plan: Plan
    @usableFromInline let walk: PlainWalk?
    @usableFromInline let layout: RowLayout
    @usableFromInline let view: Snapshot
    @usableFromInline let context: FetchContext?
    @usableFromInline let database: UInt32
    /// How many rows there are, where that is known.
    @usableFromInline let count: Int
    /// Keeps the database open meanwhile.
    private let owner: Database
    private let schema: SchemaState
    /// Where something is done with the objects when all are made: the query that says what.
    private let query: (any AnyObject & Sendable)?
    @usableFromInline let isFollowed: Bool
    /// Whether the rows are those that an index names.
    @usableFromInline let isIndexed: Bool
    private let model: EntityModel
    private let start: QueryStart?

    init(
        _ plan: Plan, _ binding: Binding, _ view: Snapshot, _ schema: SchemaState, _ database: Database,
        sharing shared: FetchContext?, followedBy query: (any AnyObject & Sendable)?
    ) throws(MakoError) {
        self.plan = plan
        self.schema = schema
        isFollowed = query != nil
        self.query = query
        self.view = view
        walk = plan.plainWalk
        isIndexed = plan.isIndexedWalk
        layout = binding.layout
        context = shared ?? binding.fetchContext(view, schema)
        self.database = database.number
        owner = database
        model = binding.model
        start = database.queryStart
        count =
            walk?.isWhole == true
            ? try records { () throws(RecordError) in try binding.table.count(in: view) } : 0
    }

    @inlinable
    func makeObjects<T: Entity>(of type: T.Type) throws(MakoError) -> [T] {
        let objects = try readObjects(of: type)
        noteEnd()
        context?.note(results: objects)
        if isFollowed { try follow(objects) }
        // After the walk: a hook may change what was walked over.
        if T._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
        return objects
    }

    /// Not inlined: what is done with all objects is seldom asked for.
    @usableFromInline
    func follow<T: Entity>(_ objects: [T]) throws(MakoError) {
        try (query as? FollowedQuery<T>)?.query.follow(objects, owner, view, schema, context)
    }

    @usableFromInline
    func endIfCancelled() throws(MakoError) {
        if plan.cancellation?.isCancelled == true { throw .cancelled }
    }

    @usableFromInline
    func noteEnd() { owner.noteQuery(plan, model, since: start) }

    /// Those that an index names.
    @inlinable
    func readNamed<T: Entity>(of type: T.Type) throws(MakoError) -> [T] {
        var maker = RowMaker(database: database, context: context, layout: layout, lazyProperties: T._$lazyProperties)
        var objects: [T] = []
        do {
            try plan.forEachGroup(in: view) { group in
                // Made where they will stay, which most often are all.
                let found = try [T](unsafeUninitializedCapacity: group.count) { places, made in
                    try plan.withRows(group, layout, in: view) { id, reader in
                        places.initializeElement(at: made, to: try T(row: maker.row(id, reader)))
                        made += 1
                    }
                }
                if objects.isEmpty { objects = found } else { objects += found }
                return true
            }
        } catch {
            throw MakoError(any: error)
        }
        return objects
    }

    @inlinable
    func readObjects<T: Entity>(of type: T.Type) throws(MakoError) -> [T] {
        if isIndexed { return try readNamed(of: type) }
        var maker = RowMaker(database: database, context: context, layout: layout, lazyProperties: T._$lazyProperties)
        do {
            if let walk, walk.isWhole {
                // Made where they will stay: nothing asks for each object whether there is room and nobody else holds the array.
                var isLonger = false
                // At least one: the empty array is one object for all threads, and would be written to.
                let objects = try [T](unsafeUninitializedCapacity: max(1, count)) { places, made in
                    try walk.forEachRow(layout, in: view) { id, reader in
                        if made & 1023 == 1023 { try endIfCancelled() }
                        guard made < places.count else {
                            isLonger = true
                            return false
                        }
                        places.initializeElement(at: made, to: try T(row: maker.row(id, reader)))
                        made += 1
                        return true
                    }
                }
                // A table that has not as many rows as it says is damaged; the rows that are there are answered.
                if !isLonger { return objects }
            }
            var objects: [T] = []
            if let walk {
                try walk.forEachRow(layout, in: view) { id, reader in
                    if objects.count & 1023 == 1023 { try endIfCancelled() }
                    objects.append(try T(row: maker.row(id, reader)))
                    return true
                }
            } else {
                try plan.forEachRow(layout: layout, in: view) { key, reader in
                    let object = try T(row: maker.row(key, reader))
                    // Where there is a second one, there are often some more.
                    if objects.count == 1 { objects.reserveCapacity(16) }
                    objects.append(object)
                    return true
                }
            }
            return objects
        } catch {
            throw MakoError(any: error)
        }
    }
}

/// The rows of a table that are to be found by their numbers, on the view they are to be read on.
@usableFromInline
final class NumberedRows: Sendable {
    @usableFromInline let table: TableHandle
    @usableFromInline let layout: RowLayout
    @usableFromInline let view: Snapshot
    @usableFromInline let context: FetchContext?
    @usableFromInline let database: UInt32
    /// Keeps the database open meanwhile.
    private let owner: Database

    init(_ binding: Binding, _ view: Snapshot, _ schema: SchemaState, _ database: Database) {
        table = binding.table
        layout = binding.layout
        self.view = view
        context = binding.fetchContext(view, schema)
        self.database = database.number
        owner = database
    }

    @inlinable
    func makeObjects<T: Entity>(of type: T.Type, _ ids: [Int]) throws(MakoError) -> [T] {
        var maker = RowMaker(
            database: database, context: context, layout: layout, lazyProperties: type._$lazyProperties)
        let keys = ids.map { Int64($0) }
        let objects: [T]
        do {
            objects = try [T](unsafeUninitializedCapacity: max(1, keys.count)) { places, made in
                try table.withRows(ids: keys, layout: layout, in: view) { place, reader in
                    guard let reader else { return }
                    places.initializeElement(at: made, to: try type.init(row: maker.row(keys[place], reader)))
                    made += 1
                }
            }
        } catch {
            throw MakoError(any: error)
        }
        context?.note(results: objects)
        // After the reading: a hook may change what is read.
        if type._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
        return objects
    }
}

/// A row that was found by its key and copied. Small, so that it is answered in registers.
@frozen @usableFromInline
struct FoundRow {
    @usableFromInline let rows: RowChunk
    @usableFromInline let extra: ObjectExtra?
    @usableFromInline let rowID: Int64
    @usableFromInline let database: UInt32
    @usableFromInline let offset: UInt16
    @usableFromInline let isPlain: Bool

    /// Copies a row.
    ///
    /// - Parameter extra: of the object, and of the keeper's chunks.
    init?(_ key: RowKey, _ reader: RowReader, _ keeper: inout RowKeeper, _ database: UInt32, _ extra: ObjectExtra?) {
        offset = keeper.keep(reader)
        // There is one as soon as a row was kept.
        guard let chunk = keeper.lentChunk.chunk else { return nil }
        rows = chunk
        self.database = database
        rowID = key.rowID ?? 0
        self.extra = extra
        isPlain = reader.isPlain
    }

    /// Makes the object or value, and tells it.
    @inlinable @inline(__always)
    func object<T: Entity>(_ type: T.Type) throws(MakoError) -> T {
        let object = try untoldObject(type)
        if type._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
        return object
    }

    @inlinable @inline(__always)
    func untoldObject<T: Entity>(_ type: T.Type, isRefresh: Bool = false) throws(MakoError) -> T {
        try rows.withRow(at: offset, isPlain: isPlain) { (reader) throws(MakoError) in
            let lazyProperties = type._$lazyProperties
            // By the type that was given: an object's own class may be a subclass of the static one.
            return try type.init(
                row: EntityRow(
                    reader, rowID: rowID, database: database, extra: extra,
                    rows: LentChunk(lazyProperties == 0 ? nil : rows), offset: offset, pending: lazyProperties,
                    isRefresh: isRefresh))
        }
    }
}
