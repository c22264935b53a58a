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
