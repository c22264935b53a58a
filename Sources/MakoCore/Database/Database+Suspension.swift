import MakoRecords
import MakoStorage

extension Database {
    /// Whether the database is suspended.
    public var isSuspended: Bool { turns?.isStopped ?? store.isSuspended }

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
    /// give the next difference after `resume()`; sequences of the history wait. Has no effect on a suspended database.
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
        let suspend = { () throws(MakoError) in
            try storage { () throws(StorageError) in try self.store.suspendSilently(timeout: timeout) }
        }
        defer { deliverEvents() }
        if let turns { try turns.stop(self, suspend) } else { try suspend() }
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
        if let turns { return try turns.start(self, timeout: timeout) }
        let taken = takeFile(within: timeout)
        try taken.announce()
        return taken.hasNews
    }
}

// MARK: - Taking the file

extension Database: FileOwner {
    var isInsideScope: Bool { ThreadScope.current(of: self) != nil }
    var isFileAwaited: Bool { store.isFileAwaited }

    func releaseFile() throws(StorageError) { try store.suspendSilently(timeout: .zero, leavingLog: true) }
    func deliverEvents() { store.deliverEvents() }

    /// Resumes the store, if it is suspended, and shows its newest commit.
    func takeFile(within timeout: Duration) -> TakenFile {
        var (ticket, resumed, failure) = lastNotified.withLock { reported -> (Int?, Resumed, MakoError?) in
            var resumed = Resumed()
            guard store.isSuspended else { return (nil, resumed, nil) }
            // The ticket is taken before the newer commits are visible, as in `refresh()`.
            let ticket = hub.takeTicket()
            do throws(MakoError) { try resumeStore(&resumed, &reported, timeout) } catch {
                return (ticket, resumed, error)
            }
            return (ticket, resumed, nil)
        }
        guard let ticket else { return TakenFile() }
        return TakenFile(hasNews: resumed.news != nil, failure: failure) { () throws(MakoError) in
            if failure == nil {
                // Before live queries run again, because they need the tables of their types.
                do throws(MakoError) { try self.prepare(resumed.unbound) } catch { failure = error }
            }
            self.hub.follow(ticket, resumed.news?.commit)
            CurrentCancellation.without {
                if let news = resumed.news { self.hub.publish(ticket, news, self) } else { self.hub.pass(ticket) }
            }
            // After the ticket, because the event handler may commit.
            self.deliverEvents()
            if let failure { throw failure }
        }
    }

    private struct Resumed {
        /// The commits of other processes during the suspension.
        var news: News?
        /// The types to bind again, because the tables have changed.
        var unbound: [EntityModel] = []
    }

    private func resumeStore(
        _ resumed: inout Resumed, _ reported: inout UInt64, _ timeout: Duration
    ) throws(MakoError) {
        var failure: MakoError?
        do throws(StorageError) {
            _ = try store.resumeSilently(timeout: timeout) { view, hasNews in
                // A read-only database has opened the file again, and its tables belong to one opening.
                guard hasNews || options.readOnly else { return true }
                do throws(MakoError) {
                    let now = try takeOver(view)
                    if hasNews { (resumed.news, resumed.unbound) = now }
                    reported = view.commitNumber
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch { throw failure ?? MakoError(error) }
    }

    /// Replaces the schemas of readers and of the next writer by those of a snapshot, before anything else can be read or
    /// written.
    private func takeOver(_ view: Snapshot) throws(MakoError) -> (news: News, unbound: [EntityModel]) {
        let (before, writers) = state.withLock { ($0.schemas.published, $0.schemas.newest) }
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
        state.withLock { $0.shown = VisibleCommits(view) }
        changeSchemas { $0.replace(by: schema) }
        historyWriter.invalidate()
        // Which rows differ is unknown, because the earlier commit cannot be read any more.
        let news = News(base: max(view.commitNumber, 1) - 1, schema: schema, covered: [])
        return (news, unbound)
    }
}

// MARK: - Turns

extension Database {
    /// Locks the file until the turn has ended, where it is locked for each transaction; elsewhere nil.
    @inline(__always)
    func takeTurn() throws(MakoError) -> FileTurn<Database>? {
        guard let turns else { return nil }
        return try turn(turns).turn
    }

    @inline(never)
    func turn(_ turns: FileTurns<Database>) throws(MakoError) -> (turn: FileTurn<Database>, hasNews: Bool) {
        do throws(MakoError) { return try turns.take(self, timeout: options.writerTimeout) } catch {
            guard case .alreadyOpen = error, let timeout = options.writerTimeout else { throw error }
            throw .writerTimeout(seconds: timeout.seconds)
        }
    }

    /// - Throws: `invalidArgument` where the file is locked for each transaction only.
    package func requireFile(for user: String) throws(StorageError) {
        guard turns != nil else { return }
        throw .invalidArgument("\(user) needs a database with FileLocking.whileOpen; \(path) has perTransaction")
    }

    /// The durability of a commit: without a background thread nothing would flush an `async` one before the end of the
    /// last turn.
    func turnDurability(_ durability: Durability?) -> Durability? {
        guard turns != nil else { return durability }
        switch durability ?? options.durability {
        case .async, .asyncWithin: return .ordered
        case .full, .barrier, .ordered: return durability
        }
    }

    /// Keeps the log short where turns overlap for long.
    func checkpointIfDue() {
        if turns == nil { return }
        // The commit is durable without it, and the end of the turn writes one.
        do throws(StorageError) { try store.checkpointIfDue() } catch {}
    }

    /// Whether an error passes once the database is resumed, or another process has ended its turn. What observes the
    /// database waits for that.
    func isUnavailable(_ error: MakoError) -> Bool {
        switch error {
        case .storage(.suspended): isOpen
        case .writerTimeout: turns != nil && isOpen
        default: false
        }
    }

    /// Whether an error of a read only says that the task was cancelled, or that the database was closed meanwhile. The
    /// database is closed before its observers are notified.
    func endsObservation(_ error: MakoError) -> Bool {
        switch error {
        case .cancelled: true
        case .closed, .storage(.suspended), .writerTimeout: !isOpen
        default: false
        }
    }

    /// A snapshot of the newest commit, in a turn that was taken, or in one of its own. It keeps the turn.
    func newestView(in taken: FileTurn<Database>? = nil) throws(MakoError) -> Snapshot {
        let turn = if let taken { taken } else { try takeTurn() }
        let view = try storage { () throws(StorageError) in try store.snapshot() }
        if let turn { view.keep(turn) }
        return view
    }
}
