import MakoRecords
import MakoStorage

// The part of reading that depends on the entity's type is inlined into the user's module, where the type is known. It
// calls the code here, which depends on rows only.

/// Wraps the rows of one fetch for the initializers of objects. Owns the storage of the last row that it returned.
@frozen @usableFromInline
struct RowMaker {
    @usableFromInline let database: UInt32
    @usableFromInline let context: FetchContext?
    /// The properties that stay in the row arena until they are read.
    @usableFromInline let lazyProperties: UInt64
    @usableFromInline var keeper: RowArena
    @usableFromInline var extra: ObjectExtra?

    @inlinable
    init(database: UInt32, context: FetchContext?, layout: RowLayout, lazyProperties: UInt64) {
        self.database = database
        self.context = context
        self.lazyProperties = lazyProperties
        extra = ObjectExtra(context: context)
        keeper = RowArena(firstChunk: 1024, textsOnly: layout.areTexts(lazyProperties), companion: extra)
    }

    @inlinable @inline(__always)
    mutating func row(_ id: Int64, _ reader: RowReader) -> EntityRow {
        if lazyProperties == 0 {
            return EntityRow(
                reader, rowID: id, database: database, extra: extra, rows: BorrowedRowChunk(nil), offset: 0, pending: 0)
        }
        let offset = keeper.keep(reader)
        return EntityRow(
            reader, rowID: id, database: database, extra: nil, rows: keeper.borrowedChunk, offset: offset,
            pending: lazyProperties)
    }

    @inlinable @inline(__always)
    mutating func row(_ key: RowKey, _ reader: RowReader) -> EntityRow {
        if case .rowID(let id) = key { return row(id, reader) }
        let offset = lazyProperties == 0 ? 0 : keeper.keep(reader)
        let rows = lazyProperties == 0 ? nil : keeper.chunk
        extra = ObjectExtra(context: context, key: key, rows: rows)
        return EntityRow(
            reader, rowID: 0, database: database, extra: extra, rows: BorrowedRowChunk(rows), offset: offset,
            pending: lazyProperties)
    }
}

/// A query that processes its objects after all are created. A class, so that other queries need only one pointer.
final class FollowedQuery<T: Entity>: Sendable {
    let query: Query<T>

    init(_ query: Query<T>) { self.query = query }
}

/// A planned query and the snapshot on which it runs.
@usableFromInline
final class PlannedRows: Sendable {
    @usableFromInline let plan: Plan
    @usableFromInline let plainScan: PlainScan?
    @usableFromInline let layout: RowLayout
    @usableFromInline let view: Snapshot
    @usableFromInline let context: FetchContext?
    @usableFromInline let database: UInt32
    /// The number of rows in a scan of the whole table; else 0.
    @usableFromInline let count: Int
    /// Keeps the database open while the rows are used.
    private let owner: Database
    private let schema: SchemaState
    /// The query that processes the objects after all are created; nil for most queries.
    private let query: (any AnyObject & Sendable)?
    @usableFromInline let isFollowed: Bool
    /// Whether the rows come from an index scan.
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
        plainScan = plan.plainScan
        isIndexed = plan.isIndexedScan
        layout = binding.layout
        context = shared ?? binding.fetchContext(view, schema)
        self.database = database.number
        owner = database
        model = binding.model
        start = database.queryStart
        count =
            plainScan?.isWhole == true
            ? try records { () throws(RecordError) in try binding.table.count(in: view) } : 0
    }

    @inlinable
    func makeObjects<T: Entity>(of type: T.Type) throws(MakoError) -> [T] {
        let objects = try readObjects(of: type)
        noteEnd()
        context?.note(results: objects)
        if isFollowed { try follow(objects) }
        // After the scan, because a hook may change the scanned table.
        if T._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
        return objects
    }

    /// Not inlined, because few queries need it.
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

    /// The objects of an index scan.
    @inlinable
    func readNamed<T: Entity>(of type: T.Type) throws(MakoError) -> [T] {
        var maker = RowMaker(database: database, context: context, layout: layout, lazyProperties: T._$lazyProperties)
        var objects: [T] = []
        do {
            try plan.forEachGroup(in: view) { group in
                // Created in their final place, because most often the group has all objects.
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
            if let plainScan, plainScan.isWhole {
                // Created in their final place, without a check of capacity and unique ownership for each object.
                var isLonger = false
                // At least one: all threads share the empty array, and the initializer would write to it.
                let objects = try [T](unsafeUninitializedCapacity: max(1, count)) { places, made in
                    try plainScan.forEachRow(layout, in: view) { id, reader in
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
                // The table of a damaged file may have fewer rows than it counts; the rows found are returned.
                if !isLonger { return objects }
            }
            var objects: [T] = []
            if let plainScan {
                try plainScan.forEachRow(layout, in: view) { id, reader in
                    if objects.count & 1023 == 1023 { try endIfCancelled() }
                    objects.append(try T(row: maker.row(id, reader)))
                    return true
                }
            } else {
                try plan.forEachRow(layout: layout, in: view) { key, reader in
                    let object = try T(row: maker.row(key, reader))
                    // After a second object there are often a few more.
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

/// The rows of a table to find by their numbers, and the snapshot on which to read them.
@usableFromInline
final class NumberedRows: Sendable {
    @usableFromInline let table: TableHandle
    @usableFromInline let layout: RowLayout
    @usableFromInline let view: Snapshot
    @usableFromInline let context: FetchContext?
    @usableFromInline let database: UInt32
    /// Keeps the database open while the rows are used.
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
        // After the scan, because a hook may change the scanned table.
        if type._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
        return objects
    }
}

/// The copy of a row that was found by its key. Small, so that it is returned in registers.
@frozen @usableFromInline
struct FoundRow {
    @usableFromInline let rows: RowArenaChunk
    @usableFromInline let extra: ObjectExtra?
    @usableFromInline let rowID: Int64
    @usableFromInline let database: UInt32
    @usableFromInline let offset: UInt16
    @usableFromInline let isPlain: Bool

    /// Copies a row.
    ///
    /// - Parameter extra: the extra state of the object and of the row arena's chunks.
    init?(_ key: RowKey, _ reader: RowReader, _ keeper: inout RowArena, _ database: UInt32, _ extra: ObjectExtra?) {
        offset = keeper.keep(reader)
        // There is a chunk as soon as the arena has a row.
        guard let chunk = keeper.borrowedChunk.chunk else { return nil }
        rows = chunk
        self.database = database
        rowID = key.rowID ?? 0
        self.extra = extra
        isPlain = reader.isPlain
    }

    /// Creates the object or value and calls its `didLoad` hook.
    @inlinable @inline(__always)
    func object<T: Entity>(_ type: T.Type) throws(MakoError) -> T {
        let object = try objectWithoutLoadHook(type)
        if type._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
        return object
    }

    @inlinable @inline(__always)
    func objectWithoutLoadHook<T: Entity>(_ type: T.Type, isRefresh: Bool = false) throws(MakoError) -> T {
        try rows.withRow(at: offset, isPlain: isPlain) { (reader) throws(MakoError) in
            let lazyProperties = type._$lazyProperties
            // By the given type: the class of an object may be a subclass of the static type.
            return try type.init(
                row: EntityRow(
                    reader, rowID: rowID, database: database, extra: extra,
                    rows: BorrowedRowChunk(lazyProperties == 0 ? nil : rows), offset: offset, pending: lazyProperties,
                    isRefresh: isRefresh))
        }
    }
}
