import MakoRecords
import MakoStorage

extension Database {
    /// Whether the database is suspended.
    public var isSuspended: Bool { store.isSuspended }

    // async: writes, uncancelled
    /// Releases every lock on the file, until ``resume(timeout:)``.
    ///
    /// iOS ends an app that is suspended while it has a lock on a file in a container that it shares with its
    /// extensions (exception code `0xDEAD10CC`), and no extension can write the file meanwhile. So call `suspend()`
    /// before the app is suspended, and `resume()` before it goes on. A database that no extension needs belongs in the
    /// app's own container, where a lock does no harm and neither call is needed.
    ///
    /// ```swift
    /// func applicationDidEnterBackground(_ application: UIApplication) {
    ///     do { try db.suspend(timeout: .seconds(2)) } catch { log(error) }
    /// }
    /// func applicationWillEnterForeground(_ application: UIApplication) {
    ///     do { try db.resume(timeout: .seconds(2)) } catch { log(error) }
    /// }
    /// ```
    ///
    /// Waits for the running transaction, and makes all commits durable. Running reads end with an error, and so do
    /// cursors and row streams, after `resume()` too. Until then every read and transaction throws
    /// `MakoError.storage(.suspended)`; objects keep the values that they have read. Live queries keep their results, and
    /// give the next difference after `resume()`. Has no effect on a suspended database.
    ///
    /// - Parameter timeout: the longest time to wait for the running transaction; nil for that of the options.
    /// - Throws: `MakoError.writerTimeout` after the timeout; `.invalidArgument` inside a read or transaction of the
    ///   database, and for a database that is replicated; `.storage` for I/O errors. The database goes on then, with its
    ///   lock.
    public func suspend(timeout: Duration? = nil) throws(MakoError) {
        try requireOpen()
        guard ThreadScope.current(of: self) == nil else {
            throw .invalidArgument(
                "suspend() would wait for the read or transaction inside which it was called; call it afterwards")
        }
        guard attachment == nil else {
            throw .invalidArgument(
                "\(path) is replicated, for which it must stay open; close it instead of suspending it")
        }
        try storage { () throws(StorageError) in try store.suspend(timeout: timeout) }
    }

    // async: writes, uncancelled
    /// Acquires the lock again, and shows the newest commit.
    ///
    /// If another process has committed meanwhile, its tables are read again, handlers and sequences of all entities get
    /// one ``ChangeKind/missed`` before the call returns, and live queries run again. A table that the other process has
    /// migrated is migrated to the types of this one, as at opening.
    ///
    /// - Parameter timeout: the longest time to wait for another process that has the file open for writing.
    /// - Returns: whether there are newer commits than at the suspension; false if the database is not suspended.
    /// - Throws: `MakoError.alreadyOpen` after the timeout; `.storage(.replaced)` when another file has taken the place
    ///   of this one; `.storage` and `.damaged` for read errors: the database is still suspended then, see
    ///   ``isSuspended``. `.migration` when a table does not fit its type any more: the database is resumed, and the type
    ///   throws at its next use.
    @discardableResult
    public func resume(timeout: Duration = .zero) throws(MakoError) -> Bool {
        try requireOpen()
        let (ticket, outcome) = lastNotified.with { reported -> (Int?, Result<TakenOver?, MakoError>) in
            guard store.isSuspended else { return (nil, .success(nil)) }
            // The ticket is taken before the newer commits are visible, as in `refresh()`.
            let ticket = hub.takeTicket()
            do throws(MakoError) { return (ticket, .success(try takeFile(&reported, timeout))) } catch {
                return (ticket, .failure(error))
            }
        }
        guard let ticket else { return false }
        var failure: MakoError?
        var news: News?
        switch outcome {
        case .failure(let error): failure = error
        case .success(let taken):
            news = taken?.news
            // Before live queries run again, because they need the tables of their types.
            do throws(MakoError) { try prepare(taken?.unbound ?? []) } catch { failure = error }
        }
        hub.follow(ticket, news?.commit)
        CurrentCancellation.without {
            if let news { hub.publish(ticket, news, self) } else { hub.pass(ticket) }
        }
        if let failure { throw failure }
        return news != nil
    }

    /// The commits of other processes during a suspension.
    private struct TakenOver {
        var news: News
        /// The types to bind again, because the tables have changed.
        var unbound: [EntityModel]
    }

    private func takeFile(_ reported: inout UInt64, _ timeout: Duration) throws(MakoError) -> TakenOver? {
        var failure: MakoError?
        var taken: TakenOver?
        do throws(StorageError) {
            _ = try store.resume(timeout: timeout) { view, hasNews in
                // A read-only database has opened the file again, and its tables belong to one opening.
                guard hasNews || options.readOnly else { return true }
                do throws(MakoError) {
                    let now = try takeOver(view)
                    if hasNews { taken = now }
                    reported = view.commitNumber
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch { throw failure ?? MakoError(error) }
        return taken
    }

    /// Replaces the schemas of readers and of the next writer by those of a snapshot, before anything else can be read or
    /// written.
    private func takeOver(_ view: Snapshot) throws(MakoError) -> TakenOver {
        let (before, writers) = state.with { ($0.schema, $0.writerSchema) }
        var unbound: [EntityModel] = []
        let schema: SchemaState
        if options.readOnly {
            schema = try readTables(of: view, before.models)
        } else {
            let catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
            if catalogue.tables != before.catalogue.tables { unbound = before.models }
            schema = try SchemaState(
                catalogue: catalogue, models: unbound.isEmpty ? before.models : [],
                version: max(before.version, writers.version) + 1)
        }
        state.with { state in
            (state.schema, state.writerSchema) = (schema, schema)
            state.shown = VisibleCommits(view)
        }
        schemaChange.broadcast()
        historyWriter.invalidate()
        // Which rows differ is unknown, because the earlier commit cannot be read any more.
        let news = News(base: max(view.commitNumber, 1) - 1, schema: schema, covered: [])
        return TakenOver(news: news, unbound: unbound)
    }
}
