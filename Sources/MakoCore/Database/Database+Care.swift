import MakoRecords
import MakoStorage

// Maintenance.

extension Database {
    // async: uncancelled
    /// Checks the whole database: pages, tables, indexes and full-text indexes.
    ///
    /// ```swift
    /// let report = try db.verify()
    /// if !report.isClean { print(report.findings + report.damagedCopies) }
    /// ```
    ///
    /// Blocks the writer while it reads pages; readers continue. The time grows with the file.
    ///
    /// - Returns: the findings. Damage is reported, not thrown.
    /// - Throws: `MakoError.closed`, `.storage`; `.invalidArgument` inside a transaction of the database, for whose end it
    ///   would wait.
    public func verify() throws(MakoError) -> DatabaseReport {
        try requireOpen()
        if isInTransaction { throw waitsForItsTransaction("verify()") }
        let turn = try takeTurn()
        defer { turn?.end() }
        return try records { () throws(RecordError) in try Catalogue.verify(store) }
    }

    /// The memory budget for pages, in bytes: ``DatabaseOptions/cacheBytes``, or the value of the last
    /// ``setCacheBytes(_:)``. `store.cacheBytes` is the budget in effect, which memory pressure lowers.
    public var cacheBytes: Int { pressure.wanted }

    /// Changes the memory budget for pages while the database is open.
    ///
    /// ```swift
    /// try db.setCacheBytes(8 << 20)
    /// ```
    ///
    /// A smaller budget returns memory to the system before the call returns, except for dirty pages, whose checkpoint
    /// starts in the background, and for pages that are being read. Readers and the writer continue; evicted pages are
    /// read from the file again. See ``/MakoStorage/Store/setCacheBytes(_:)``.
    ///
    /// On Apple systems a database lowers its budget under memory pressure: to a quarter at a warning, to 1 MiB when
    /// critical. The full budget applies again when the system reports the end of the pressure, or 60 seconds after the
    /// last event.
    ///
    /// - Parameter bytes: the budget; smaller values count as 256 KiB.
    /// - Throws: `MakoError.closed`.
    public func setCacheBytes(_ bytes: Int) throws(MakoError) {
        try requireOpen()
        try storage { () throws(StorageError) in try pressure.want(bytes) }
    }

    // async: writes, uncancelled
    /// Shrinks the file to the size of its content, while readers and the writer continue.
    ///
    /// A database compacts itself when much of its file is free and it is idle. ``compact(at:options:progress:)`` makes
    /// the smallest file, of a database that is not open.
    ///
    /// - Throws: `MakoError.invalidArgument` inside a transaction of the database, for whose end it would wait;
    ///   `.storage`. No data is lost.
    public func compact() throws(MakoError) {
        try requireOpen()
        if isInTransaction { throw waitsForItsTransaction("compact()") }
        let turn = try takeTurn()
        defer { turn?.end() }
        try storage { () throws(StorageError) in try store.shrink() }
    }

    // async
    /// Salvages the readable content of a damaged database into a new one, and rebuilds its indexes.
    ///
    /// ```swift
    /// let report = try Database.salvage(from: "people.mako", to: "people-2.mako")
    /// if !report.isComplete { print(report.findings) }
    /// ```
    ///
    /// - Parameters:
    ///   - damaged: the damaged file, which no process may have open for writing. It is not changed.
    ///   - path: the new file, which must not exist.
    ///   - options: options of the new database; the encryption is that of both files.
    ///   - progress: called from time to time with the progress.
    /// - Returns: what was recovered and what was not.
    /// - Throws: `MakoError.storage`; the new file does not exist then.
    @discardableResult
    public static func salvage(
        from damaged: String, to path: String, options: DatabaseOptions = DatabaseOptions(),
        progress: @escaping (SalvageProgress) -> Void = { _ in }
    ) throws(MakoError) -> SalvageReport {
        try records { () throws(RecordError) in
            try Catalogue.salvage(from: damaged, to: path, options: options.storeOptions, progress: progress)
        }
    }
}

extension Database {
    /// Whether this thread is inside a transaction of the database, or inside a hook, which runs in one.
    var isInTransaction: Bool { ThreadScope.current(of: self)?.transaction != nil }

    /// The error of a call that would wait for its own thread's transaction, and so for ever.
    func waitsForItsTransaction(_ call: String) -> MakoError {
        .invalidArgument("\(call) would wait for the transaction inside which it was called; call it afterwards")
    }
}
