import MakoRecords
import MakoStorage

/// The results of a query, of which only a window is in memory: all are counted, and asking for an object reads the batch that it is in
/// where the window does not have it.
///
/// ```swift
/// let people = try Person.query().orderBy(\.name).batch(100)
/// for row in visibleRows { show(try people.object(at: row)) }
/// ```
///
/// All batches show the moment of the query; the space of what is deleted meanwhile stays taken until the results go. The keys of all objects are kept:
/// 16 bytes each.
public final class BatchedResults<T: Entity>: Sendable {
    private struct Window {
        var start = 0
        var objects: [T] = []

        func object(at place: Int) -> T? {
            objects.indices.contains(place - start) ? objects[place - start] : nil
        }
    }

    private let keys: [RowKey]
    private let size: Int
    private let query: Query<T>
    private let database: Database
    private let view: Snapshot
    private let schema: SchemaState
    private let window = Protected(Window())

    init(
        _ keys: [RowKey], size: Int, _ query: Query<T>, _ database: Database, _ view: Snapshot, _ schema: SchemaState
    ) {
        self.keys = keys
        self.size = size
        self.query = query
        self.database = database
        self.view = view
        self.schema = schema
    }

    /// How many objects there are in all.
    public var count: Int { keys.count }

    /// One of the objects. The same instance, as long as it is in the window.
    ///
    /// - Throws: `MakoError.storage` when it cannot be read, or the snapshot became too old; `.closed` after the database is.
    public func object(at place: Int) throws(MakoError) -> T {
        guard keys.indices.contains(place) else {
            throw .query(message: "there is no object at \(place); the results have \(keys.count)")
        }
        if let known = window.with({ $0.object(at: place) }) { return known }
        // Read outside the lock: hooks may ask for other objects.
        let read = Window(start: place - place % size, objects: try self.read(place - place % size))
        let object = window.with { window in
            if let known = window.object(at: place) { return known }
            window = read
            return read.objects[place - read.start]
        }
        if T._$hooks.contains(.didLoad) { for each in read.objects { _ = each._$call(.didLoad) } }
        return object
    }

    private func read(_ start: Int) throws(MakoError) -> [T] {
        try database.requireOpen()
        let end = start + Swift.min(size, keys.count - start)
        let scope = ThreadScope(
            database: database, transaction: nil, view: view, schema: schema, outer: ThreadScope.current)
        let context = schema.binding(T.entityModel)?.fetchContext(view, schema)
        let found = try ThreadScope.with(scope) { () throws(MakoError) in
            try database.objects(T.self, keys: Array(keys[start..<end]), context: context, isTold: false)
        }
        guard found.count == end - start else {
            throw .damaged(reason: "a row of \(T.entityModel.name) that was found is not there")
        }
        let objects = found.map(\.object)
        context?.note(results: objects)
        try query.follow(objects, database, view, schema, context)
        return objects
    }
}

extension BatchedResults: Sequence, Collection, BidirectionalCollection, RandomAccessCollection where T: ObjectEntity {
    public typealias Element = T
    public typealias Index = Int
    public var startIndex: Int { 0 }
    public var endIndex: Int { keys.count }

    /// One of the objects; where it cannot be read, one that is not stored and cannot be, with the reason in its `loadError`.
    public subscript(place: Int) -> T {
        do throws(MakoError) { return try object(at: place) } catch { return T.unread(error) }
    }
}

extension ObjectEntity {
    /// What stands for an object that could not be read: it is not stored, cannot be, and has the reason.
    static func unread(_ error: MakoError) -> Self {
        let empty = Self()
        ObjectLock(empty).locked {
            empty._$state.flags.insert(.sterile)
            empty._$state.setLoadError(error)
        }
        return empty
    }
}

extension Query {
    /// Counts all objects and reads them when they are asked for, so many at a time; see ``BatchedResults``.
    ///
    /// - Parameter size: how many objects are in memory at a time; at least one.
    /// - Throws: `MakoError.query` for a condition that does not hold together; `.unsupported` inside a transaction, whose state nobody sees
    ///   behind its end.
    public func batch(_ size: Int) throws(MakoError) -> BatchedResults<T> {
        let database = try target()
        if ThreadScope.current(of: database)?.transaction != nil {
            throw .unsupported("batch() inside a transaction (fetch there, or ask before it)")
        }
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let selection = try selection(binding, schema, view)
            let keys = try records { () throws(RecordError) in
                try selection.plan(schema.catalogue, in: view).keys(in: view)
            }
            return BatchedResults(keys, size: Swift.max(1, size), self, database, view, schema)
        }
    }
}
