import MakoRecords
import MakoStorage

/// The rows of a `SELECT`, of which only some are in memory; see ``Database/rows(_:_:named:)``.
///
/// ```swift
/// let rows = try db.rows("SELECT name, age FROM Person ORDER BY age")
/// while let row = try rows.next() { print(row["name"] ?? .null) }
///
/// for try await row in try db.rows("SELECT name FROM Person") { try await send(row) }
/// ```
///
/// It can be iterated once. All rows are of the snapshot of its creation, whatever is written later; pages that are
/// freed meanwhile are not reused until the stream has ended, is closed or released. The first call starts a thread
/// that finds the rows, a few hundred ahead of the consumer. One thread or task may use it at a time.
public final class RowStream: AsyncSequence {
    /// A row of the result.
    public typealias Element = ResultRow
    /// The error type of the iterator.
    public typealias Failure = MakoError

    /// The most rows of a batch.
    static let batchRows = 256
    /// The most bytes of texts and blobs of a batch, beyond which no row is added.
    static let batchBytes = 64 << 10

    private let places: ColumnPlaces
    private let database: Database
    private let channel = RowChannel<RowBatch, MakoError>()
    /// The input of the thread; nil after its start.
    private var work: Work?
    /// The next row of the last batch.
    private var following: ResultRow?
    /// The number of rows of all batches.
    private var count = 0
    private var isAtEnd = false
    private var fault: MakoError?

    private struct Work: Sendable {
        let rows: PlannedQuery
        let view: Snapshot
        /// Whether the snapshot belongs to an enclosing read, which ends it.
        let isBorrowed: Bool
    }

    init(_ call: StatementCall, _ database: Database) throws(MakoError) {
        try call.requireQuery()
        if ThreadScope.current(of: database)?.transaction != nil {
            throw .invalidArgument(
                "rows are not read by a thread of their own inside a transaction; call forEachRow there, or rawQuery")
        }
        let isBorrowed = ThreadScope.current(of: database) != nil
        let (rows, view) = try database.viewing { (view, schema) throws(MakoError) in
            (try call.planned(schema, view), view)
        }
        self.database = database
        places = ColumnPlaces(rows.columns)
        work = Work(rows: rows, view: view, isBorrowed: isBorrowed)
    }

    deinit { channel.leave() }

    /// The names of the columns.
    public var columns: [String] { places.names }

    /// Returns the next row, for which it waits; nil at the end.
    ///
    /// - Throws: `MakoError.storage` when a row cannot be read, or the disk is full for the temporary file of a sort or
    ///   a group; `.closed`; `.cancelled`. All later calls throw the same error.
    public func next() throws(MakoError) -> ResultRow? {
        if let row = taken() { return row }
        guard try begin() else { return nil }
        do throws(MakoError) {
            if CurrentCancellation.current?.isCancelled == true { throw .cancelled }
            return take(try channel.next())
        } catch { throw failed(error) }
    }

    /// Calls a closure with each remaining row. The closure may write, and stops the iteration by throwing.
    ///
    /// - Throws: what the closure throws, and as ``next()``.
    public func forEach(_ body: (ResultRow) throws -> Void) throws {
        while let row = try next() { try body(row) }
    }

    /// Ends the stream: there are no more rows, and its resources are released soon. Releasing the stream has the same
    /// effect.
    public func close() {
        (following, isAtEnd, work) = (nil, true, nil)
        channel.leave()
    }

    /// Returns an iterator that continues at the current position of the stream.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    /// Reads the rows of the stream from its current position.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: RowStream

        public mutating func next() async throws(MakoError) -> ResultRow? { try await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(MakoError) -> ResultRow? {
            if let row = stream.taken() { return row }
            guard try stream.begin() else { return nil }
            let channel = stream.channel
            do throws(MakoError) { return stream.take(try await channel.nextOfTask(cancelled: .cancelled)) } catch {
                throw stream.failed(error)
            }
        }
    }

    // MARK: Steps

    private func taken() -> ResultRow? {
        guard let row = following else { return nil }
        if following?.advance() != true { following = nil }
        return row
    }

    private func take(_ batch: RowBatch?) -> ResultRow? {
        guard let batch else {
            isAtEnd = true
            return nil
        }
        if !batch.isEmpty { following = ResultRow(places, firstOf: batch, number: count) }
        count += batch.count
        return taken()
    }

    private func failed(_ error: MakoError) -> MakoError {
        fault = error
        close()
        return error
    }

    /// Starts the thread at the first call. False: there are no more rows.
    private func begin() throws(MakoError) -> Bool {
        if let fault { throw fault }
        if isAtEnd { return false }
        do throws(MakoError) {
            try database.requireOpen()
            if let work { try start(work) }
        } catch { throw failed(error) }
        work = nil
        return true
    }

    private func start(_ work: Work) throws(MakoError) {
        let (database, channel) = (database, channel)
        database.channels.add(channel)
        do throws(FileError) {
            _ = try startThread(name: "mako rows") {
                let result = RowStream.run(work, channel)
                if !work.isBorrowed { work.view.close() }
                database.channels.remove(channel)
                channel.finish(result)
            }
        } catch {
            database.channels.remove(channel)
            throw .storage(.io(error))
        }
        // The database may have been closed before the channel was registered.
        try database.requireOpen()
    }

    private static func run(_ work: Work, _ channel: RowChannel<RowBatch, MakoError>) -> Result<Void, MakoError> {
        do throws(MakoError) {
            try CurrentCancellation.with(channel.cancellation) { () throws(MakoError) in
                try records { () throws(RecordError) in
                    try work.rows.give(
                        in: work.view, cancellation: channel.cancellation, rows: batchRows, bytes: batchBytes
                    ) { (batch) in channel.put(batch) }
                }
            }
            return .success(())
        } catch { return .failure(error) }
    }
}

extension StatementCall {
    /// - Throws: `MakoError.invalidArgument` for a statement that writes.
    fileprivate func requireQuery() throws(MakoError) {
        if statement.isReadOnly { return }
        throw .invalidArgument(
            "a statement that writes is run whole; call rawQuery, which gives the rows of RETURNING as well")
    }

    fileprivate func planned(_ schema: SchemaState, _ view: Snapshot) throws(MakoError) -> PlannedQuery {
        try records { () throws(RecordError) in
            try kept.planned(schema.catalogue, view: view, parameters: values, named: named)
        }
    }
}

extension Database {
    /// Returns the rows of a `SELECT`, with a few of them in memory at a time.
    ///
    /// ```swift
    /// let rows = try db.rows("SELECT name, age FROM Person WHERE age > \(30) ORDER BY age")
    /// while let row = try rows.next() {
    ///     print(row["name"] ?? .null)
    /// }
    /// ```
    ///
    /// The stream is an asynchronous sequence as well: `for try await row in try db.rows("…")`. Scans, limits and index
    /// orders need memory for a few hundred rows; sorts, groups and joins that exceed ``DatabaseOptions/queryMemory``
    /// use a temporary file.
    ///
    /// Inside `read` the rows are those of its snapshot. For a few rows ``rawQuery(_:_:named:)`` is faster, because it
    /// needs no thread.
    ///
    /// - Throws: `MakoError.query`, with the position in the text; `.closed`; `.invalidArgument` for a statement that
    ///   writes, and inside a transaction, whose changes no other thread may read: use ``forEachRow(_:_:named:_:)``
    ///   there.
    public func rows(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RowStream {
        try RowStream(try StatementCall(text, parameters, named), self)
    }

    /// Returns the rows of a `SELECT` whose text is known only at run time.
    public func rows(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RowStream {
        try RowStream(try StatementCall(WhereText(text: text), parameters, named), self)
    }

    /// Calls a closure with each row of a `SELECT` on this thread, with a few rows in memory at a time.
    ///
    /// ```swift
    /// try db.forEachRow("SELECT name FROM Person ORDER BY name") { row in print(row[0] ?? .null) }
    /// ```
    ///
    /// Inside a transaction the rows include its changes, and the closure must not write. Elsewhere they are of one
    /// snapshot, and it may write. The closure stops the iteration by throwing.
    ///
    /// - Throws: what the closure throws, and as ``rows(_:_:named:)`` and ``RowStream/next()``;
    ///   `MakoError.invalidArgument` in a closure that writes inside a transaction.
    public func forEachRow(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:],
        _ body: (ResultRow) throws -> Void
    ) throws {
        try forEachRow(of: try StatementCall(text, parameters, named), body)
    }

    func forEachRow(of call: StatementCall, _ body: (ResultRow) throws -> Void) throws {
        try call.requireQuery()
        let transaction = ThreadScope.current(of: self)?.transaction
        var fault: (any Error)?
        try viewing { (view, schema) throws(MakoError) in
            let rows = try call.planned(schema, view)
            let places = ColumnPlaces(rows.columns)
            var number = 0
            let borrowed = transaction?.writeLock.hasBorrowedRows ?? false
            transaction?.writeLock.hasBorrowedRows = true
            defer { transaction?.writeLock.hasBorrowedRows = borrowed }
            let result: Result<Void, MakoError> = withoutActuallyEscaping(body) { body in
                do throws(MakoError) {
                    try records { () throws(RecordError) in
                        try rows.give(
                            in: view, cancellation: CurrentCancellation.current, rows: RowStream.batchRows,
                            bytes: RowStream.batchBytes
                        ) { (batch) in
                            do { try batch.forEachRow(places, number, body) } catch {
                                fault = error
                                return false
                            }
                            number += batch.count
                            return true
                        }
                    }
                    return .success(())
                } catch { return .failure(error) }
            }
            try result.get()
        }
        if let fault { throw fault }
    }
}

extension RowBatch {
    /// - Parameter number: that of the first row.
    fileprivate func forEachRow(_ places: ColumnPlaces, _ number: Int, _ body: (ResultRow) throws -> Void) throws {
        if isEmpty { return }
        // One variable for all rows: making one for each would retain and release the batch.
        var row = ResultRow(places, firstOf: self, number: number)
        repeat { try body(row) } while row.advance()
    }
}

extension PreparedStatement {
    /// Returns the rows of a `SELECT` with these values; see ``Database/rows(_:_:named:)``.
    public func rows(
        _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RowStream {
        try RowStream(try call(parameters, named), database)
    }
}
