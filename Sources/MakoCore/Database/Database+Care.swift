import MakoRecords
import MakoStorage

// What a database needs now and then.

extension Database {
    /// Reads the whole database and says what does not hold: pages, tables, indexes and full-text indexes.
    ///
    /// ```swift
    /// let report = try db.verify()
    /// if !report.isClean { print(report.findings + report.damagedCopies) }
    /// ```
    ///
    /// Waits for the writer while pages are read; readers go on. Time grows with the file.
    ///
    /// - Throws: `MakoError.closed`, `.storage`. Damage is found, not thrown.
    public func verify() throws(MakoError) -> DatabaseReport {
        try requireOpen()
        return try records { () throws(RecordError) in try Catalogue.verify(store) }
    }

    /// The budget of memory for pages, in bytes: ``DatabaseOptions/cacheBytes``, or what ``setCacheBytes(_:)`` set. `store.cacheBytes` is what
    /// of it holds at this moment.
    public var cacheBytes: Int { pressure.wanted }

    /// Changes the budget of memory for pages while the database is open.
    ///
    /// ```swift
    /// try db.setCacheBytes(8 << 20)
    /// ```
    ///
    /// A smaller budget gives memory back to the system before the call returns, but for pages that wait for the checkpoint, which begins at
    /// once in the background, and pages that are being read at that moment. Everything goes on meanwhile: what is no longer in memory is
    /// read from the file. See ``/MakoStorage/Store/setCacheBytes(_:)``.
    ///
    /// On Apple systems a database lowers its budget by itself while the system is short of memory: to a quarter at a warning, to 1 MiB when it
    /// is critical. It takes all of it again when the system says so, or a minute after it said last that memory is short.
    ///
    /// - Parameter bytes: the budget; less than 256 KiB is 256 KiB.
    /// - Throws: `MakoError.closed`.
    public func setCacheBytes(_ bytes: Int) throws(MakoError) {
        try requireOpen()
        try storage { () throws(StorageError) in try pressure.want(bytes) }
    }

    /// Makes the file as short as its content allows, while everybody goes on reading and writing.
    ///
    /// A database does this by itself when much of its file is free and nothing is written for a while. ``compact(at:options:progress:)`` makes
    /// the smallest file, of a database that nobody has open.
    ///
    /// - Throws: `MakoError.storage`; nothing is lost then.
    public func compact() throws(MakoError) {
        try requireOpen()
        try storage { () throws(StorageError) in try store.shrink() }
    }

    /// Reads what can be read of a damaged database into a new one, whose indexes are built anew.
    ///
    /// ```swift
    /// let report = try Database.salvage(from: "people.mako", to: "people-2.mako")
    /// if !report.isComplete { print(report.findings) }
    /// ```
    ///
    /// - Parameters:
    ///   - damaged: the file; nobody may have it open for writing. It is only read.
    ///   - path: where nothing must be yet.
    ///   - options: for the new database; what the damaged one is encrypted with counts for both.
    ///   - progress: told from time to time how far it has come.
    /// - Throws: `MakoError.storage`; nothing is left under the new name then.
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
