import MakoRecords
import MakoStorage

/// The results of a query of which only a window is in memory: the keys of all objects are known, and an access outside
/// the window reads the batch that has the object.
///
/// ```swift
/// let people = try Person.query().orderBy(\.name).batch(100)
/// for row in visibleRows { show(try people.object(at: row)) }
/// ```
///
/// All batches show the snapshot of the query. The pages that later commits free are not reused until the results are
/// released. The keys of all objects stay in memory: 16 bytes each.
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
    private let window = Guarded(Window())

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

    /// The number of all objects.
    public var count: Int { keys.count }

    /// Returns one of the objects: the same instance as long as it is in the window.
    ///
    /// - Parameter place: the position of the object, from 0.
    /// - Throws: `MakoError.invalidArgument` for a position outside the results; `.storage` when the row cannot be read,
    ///   or the snapshot is too old; `.closed` after the database was closed.
    public func object(at place: Int) throws(MakoError) -> T {
        guard keys.indices.contains(place) else {
            throw .invalidArgument("there is no object at \(place); the results have \(keys.count)")
        }
        if let known = window.withLock({ $0.object(at: place) }) { return known }
        // Read outside the lock, because hooks may read other objects.
        let read = Window(start: place - place % size, objects: try self.read(place - place % size))
        let object = window.withLock { window in
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
            try database.objects(T.self, keys: Array(keys[start..<end]), context: context, callsHook: false)
        }
        guard found.objects.count == end - start else {
            throw .damaged(reason: "a row of \(T.entityModel.name) that was found is not there")
        }
        context?.note(results: found.objects)
        try query.follow(found.objects, database, view, schema, context)
        return found.objects
    }
}

extension BatchedResults: Sequence, Collection, BidirectionalCollection, RandomAccessCollection where T: ObjectEntity {
    /// An object of the results.
    public typealias Element = T
    /// The position of an object, from 0.
    public typealias Index = Int
    /// The position of the first object: 0.
    public var startIndex: Int { 0 }
    /// The position behind the last object.
    public var endIndex: Int { keys.count }

    /// The object at a position. Where it cannot be read, a detached object that cannot be stored, with the error in
    /// its `loadError`.
    public subscript(place: Int) -> T {
        do throws(MakoError) { return try object(at: place) } catch { return T.unread(error) }
    }
}

extension ObjectEntity {
    /// A detached object in place of one that could not be read: saving it throws the error, which is its `loadError`.
    static func unread(_ error: MakoError) -> Self {
        let empty = Self()
        ObjectLock(empty).locked {
            empty._$state.flags.insert(.removed)
            empty._$state.setLoadError(error)
        }
        return empty
    }
}

extension Query {
    // async
    /// Returns the objects as a collection that reads them in batches when they are accessed; see ``BatchedResults``.
    ///
    /// - Parameter size: the number of objects in a batch; at least one.
    /// - Throws: `MakoError.query` for an invalid condition; `.unsupported` inside a transaction, whose state no
    ///   snapshot shows after its end.
    /// - Complexity: that of reading the keys of all objects.
    public func batch(_ size: Int) throws(MakoError) -> BatchedResults<T> {
        let database = try target()
        if ThreadScope.current(of: database)?.transaction != nil {
            throw .unsupported("batch() inside a transaction (fetch there, or query before it)")
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
