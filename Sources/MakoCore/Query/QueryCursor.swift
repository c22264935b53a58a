import MakoRecords
import MakoStorage

/// Iterates over the objects of a query with a few of them in memory; see ``Query/cursor()``.
///
/// The caller may stop at any time. A cursor is for one thread.
public final class QueryCursor<T: Entity> {
    private enum Source {
        case snapshot(ObjectBatches<T>)
        case transaction(Transaction, keys: [RowKey], next: Int)
        case nothing
    }

    private let query: Query<T>
    private let database: Database
    private var source: Source
    private var objects: [T] = []
    private var place = 0

    init(_ query: Query<T>) throws(MakoError) {
        let database = try query.target()
        self.query = query
        self.database = database
        if let running = ThreadScope.current(of: database)?.transaction {
            source = .transaction(running, keys: try query.keys(), next: 0)
        } else {
            source = .snapshot(try ObjectBatches(query, database))
        }
    }

    /// Returns the next object; nil at the end.
    ///
    /// - Throws: `MakoError.storage` when the row cannot be read, or the snapshot is too old; `.closed`;
    ///   `.transactionEnded` for a cursor of a transaction that has ended.
    public func next() throws(MakoError) -> T? {
        switch source {
        case .nothing: return nil
        case .transaction(let transaction, let keys, let next): return try nextOf(keys, from: next, transaction)
        case .snapshot(var batches):
            while place == objects.count {
                (objects, place) = ([], 0)
                objects = try batches.next()
                source = objects.isEmpty ? .nothing : .snapshot(batches)
                if objects.isEmpty { return nil }
            }
            place += 1
            return objects[place - 1]
        }
    }

    private func nextOf(_ keys: [RowKey], from start: Int, _ transaction: Transaction) throws(MakoError) -> T? {
        guard ThreadScope.current(of: database)?.transaction === transaction else { throw .transactionEnded }
        for place in start..<keys.count {
            source = .transaction(transaction, keys: keys, next: place + 1)
            if CurrentCancellation.current?.isCancelled == true { throw .cancelled }
            let found = try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) -> T? in
                let context = binding.fetchContext(view, schema)
                let row = try database.foundRow(T.entityModel, key: keys[place], context: context)
                guard let object = try row?.objectWithoutLoadHook(T.self) else { return nil }
                try query.follow([object], database, view, schema, context)
                return object
            }
            guard let found else { continue }
            if T._$hooks.contains(.didLoad) { _ = found._$call(.didLoad) }
            return found
        }
        source = .nothing
        return nil
    }
}

/// Reads the objects of a query in batches on one snapshot.
struct ObjectBatches<T: Entity>: Sendable {
    /// The number of objects in a batch.
    private static var size: Int { 256 }

    private let query: Query<T>
    private let database: Database
    private let view: Snapshot
    private let binding: Binding
    private let schema: SchemaState
    private var rows: BatchedCursor

    init(_ query: Query<T>, _ database: Database) throws(MakoError) {
        try query.prepareJoins(database)
        let (view, binding, schema, plan) = try database.viewing(T.entityModel) {
            (view, binding, schema) throws(MakoError) in
            let selection = try query.selection(binding, schema, view)
            let plan = try records { () throws(RecordError) in
                try selection.plan(schema.catalogue, in: view)
            }
            return (view, binding, schema, plan)
        }
        (self.query, self.database, self.view, self.binding, self.schema) = (query, database, view, binding, schema)
        rows = BatchedCursor(of: plan)
    }

    /// The next objects; empty at the end.
    mutating func next() throws(MakoError) -> [T] {
        try database.requireOpen()
        let context = binding.fetchContext(view, schema)
        var maker = RowMaker(
            database: database.number, context: context, layout: binding.layout, lazyProperties: T._$lazyProperties)
        var objects: [T] = []
        rows.cancellation = CurrentCancellation.current
        try translated {
            while objects.isEmpty, !rows.isAtEnd {
                try rows.next(Self.size, layout: binding.layout, in: view) { key, reader in
                    objects.append(try T(row: maker.row(key, reader)))
                }
            }
        }
        context?.note(results: objects)
        try query.follow(objects, database, view, schema, context)
        if T._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
        return objects
    }

    /// Releases the snapshot. Must not be called for that of a running transaction.
    func close() { view.close() }
}

extension Query {
    /// Returns a cursor over the objects, with a few of them in memory at a time.
    ///
    /// ```swift
    /// let people = try db.query(Person.self).where(\.age > 30).cursor()
    /// while let person = try people.next() {
    ///     if try export(person) { break }
    /// }
    /// ```
    ///
    /// All objects show the snapshot of the query, so later writes have no effect on them, and the caller may write
    /// between two objects. Pages that are freed meanwhile are not reused until the cursor is released. Where the order
    /// needs a sort, the keys stay in memory, 16 bytes each. References to one row lead to one object within a fetch,
    /// here within about 256 objects.
    ///
    /// Inside a transaction, of which there is no snapshot, the cursor holds the keys as well: it returns the objects
    /// that the query found, each in the state of its read, and skips those deleted before.
    ///
    /// - Throws: `MakoError.query` for an invalid condition.
    public func cursor() throws(MakoError) -> QueryCursor<T> { try QueryCursor(self) }

    /// Calls a closure with each object, as ``cursor()`` returns them. The closure may write, and stops the iteration
    /// by throwing.
    ///
    /// ```swift
    /// try db.query(Person.self).forEach { person in try export(person) }
    /// ```
    ///
    /// - Throws: what the closure throws, and as ``QueryCursor/next()``.
    public func forEach(_ body: (T) throws -> Void) throws {
        let cursor = try cursor()
        while let object = try cursor.next() { try body(object) }
    }

    /// Returns the objects as an asynchronous sequence that a thread of the database reads, with a few of them in
    /// memory at a time.
    ///
    /// ```swift
    /// for try await person in db.query(Person.self).where(\.age > 30).stream() { try await send(person) }
    /// ```
    ///
    /// They show the snapshot of the start of the iteration, as those of a ``cursor()`` do. The loop may end at any
    /// time. When its task is cancelled it throws `MakoError.cancelled`, so that a part of the objects is not mistaken
    /// for all.
    public func stream() -> ObjectStream<T> {
        do throws(MakoError) { return ObjectStream(on(try target()), nil) } catch { return ObjectStream(self, error) }
    }
}

/// The objects of a query as an asynchronous sequence; see ``Query/stream()``. Each iteration runs the query again.
public struct ObjectStream<T: Entity>: AsyncSequence, Sendable {
    /// An object of the query.
    public typealias Element = T
    /// The error type of the iterator.
    public typealias Failure = MakoError

    private let query: Query<T>
    private let fault: MakoError?

    init(_ query: Query<T>, _ fault: MakoError?) {
        self.query = query
        self.fault = fault
    }

    /// Returns an iterator that runs the query at its first element.
    public func makeAsyncIterator() -> Iterator { Iterator(query, fault) }

    /// Reads the objects of one run of the query in batches.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: Query<T>
        private let fault: MakoError?
        private var batches: ObjectBatches<T>?
        private var objects: [T] = []
        private var place = 0
        private var hasEnded = false

        init(_ query: Query<T>, _ fault: MakoError?) {
            self.query = query
            self.fault = fault
        }

        public mutating func next() async throws(MakoError) -> T? { try await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(MakoError) -> T? {
            if hasEnded { return nil }
            do throws(MakoError) {
                if let fault { throw fault }
                if Task.isCancelled { throw .cancelled }
                if place == objects.count {
                    (objects, batches) = try await Self.read(query, batches)
                    place = 0
                }
            } catch {
                end()
                throw error
            }
            if objects.isEmpty {
                end()
                return nil
            }
            place += 1
            return objects[place - 1]
        }

        private static func read(
            _ query: Query<T>, _ before: ObjectBatches<T>?
        ) async throws(MakoError) -> ([T], ObjectBatches<T>) {
            let database = try query.target()
            return try await database.onOwnThread(writes: false) { () throws(MakoError) in
                var batches = if let before { before } else { try ObjectBatches(query, database) }
                return (try batches.next(), batches)
            }
        }

        private mutating func end() {
            hasEnded = true
            // The thread that read last may retain them a little longer.
            batches?.close()
            (batches, objects) = (nil, [])
        }
    }
}
