import MakoCore
import MakoReplication
import MakoStorage

extension Database {
    /// Opens a copy of a database that another machine writes and ships to an object store, and keeps it up to date.
    ///
    /// ```swift
    /// let objects = try FolderObjectStore(at: "/mnt/backup/mako")
    /// let db = try Database(replicaOf: objects, at: "replica.mako", entities: [Person.self])
    /// for try await difference in db.query(Person.self).orderBy(\.name).observe() { show(difference.results) }
    /// ```
    ///
    /// A new file begins with all that the newest branch has; the file of an earlier follower goes on. Queries see
    /// whole commits, in the order in which they were made, behind the writer by the time of its shipment and of
    /// ``/MakoObjectReplication/ReplicaOptions/interval``. Live queries and handlers are notified of all commits of a step as one, on the
    /// follower's thread, as ``Database/refresh()`` describes. Saving throws `MakoError.readOnly`.
    ///
    /// The follower ends when the database closes, or is released.
    ///
    /// - Parameters:
    ///   - objectStore: where the branch is.
    ///   - prefix: the prefix that the replicator used.
    ///   - path: the file, which nothing else may write.
    ///   - entities: the types to check now; the writer must have shipped their tables.
    ///   - options: the options.
    /// - Throws: `ReplicationError` when the file cannot follow, or the object store has no backup; `MakoError` when the
    ///   file cannot be opened, or a type does not match its table.
    public convenience init(
        replicaOf objectStore: any ObjectStore, prefix: String = "", at path: String,
        entities: [any Entity.Type] = [], options: ReplicaOptions = ReplicaOptions()
    ) throws {
        var reading = options.database
        var following = options.follower
        // A follower's thread uses the file at any time.
        reading.fileLocking = .whileOpen
        reading.readOnly = false
        following.store = reading.storeOptions
        reading.readOnly = true
        let follower = try Follower(objectStore, prefix: prefix, at: path, options: following)
        if follower.firstRestart != nil { try follower.follow() }
        try self.init(at: path, entities: entities, options: reading)
        let replica = DatabaseReplica(self, follower, options)
        attachment = replica
        try replica.start()
    }

    /// The follower of a database that ``init(replicaOf:prefix:at:entities:options:)`` opened; nil of any other one.
    public var follower: Follower? { (attachment as? DatabaseReplica)?.follower }

    private func openReplica() throws(MakoError) -> DatabaseReplica {
        if let replica = attachment as? DatabaseReplica { return replica }
        throw .invalidArgument("\(path) is closed, or was not opened by Database(replicaOf:)")
    }

    /// Applies what was shipped since the last step, and notifies live queries and handlers before it returns.
    ///
    /// ```swift
    /// var options = ReplicaOptions()
    /// options.interval = nil
    /// let db = try Database(replicaOf: objects, at: "replica.mako", entities: [Person.self], options: options)
    /// try db.follow()
    /// ```
    ///
    /// - Throws: `ReplicationError` when the object store does not answer, or an object is damaged; `MakoError` for errors
    ///   of the file. The next call goes on.
    @discardableResult
    public func follow() throws -> Follower.Report {
        let replica = try openReplica()
        let report = try replica.follower.follow()
        try refresh()
        return report
    }

    /// Makes the replica the database that continues the branch: closes it, and opens its file for writing.
    ///
    /// ```swift
    /// var options = DatabaseOptions()
    /// options.storage.logArchiveBytes = 256 << 20
    /// let writer = try db.promote(entities: [Person.self], options: options)
    /// let replicator = try Replicator(writer, to: objects)
    /// ```
    ///
    /// Everything that the object store has acknowledged is in it. The writer before is fenced: its next shipment throws.
    /// Objects of the replica belong to the closed database; read them again.
    ///
    /// - Parameters:
    ///   - entities: the types to migrate.
    ///   - options: of the new database; with `storage.logArchiveBytes`, a `Replicator` ships it.
    /// - Throws: `ReplicationError` when the promotion failed; the replica goes on then. `MakoError` when it is promoted,
    ///   and cannot be opened; open the file by `Database(at:)` then.
    public func promote(entities: [any Entity.Type] = [], options: DatabaseOptions) throws -> Database {
        let replica = try openReplica()
        let store: Store
        do throws(ReplicationError) { store = try replica.follower.promote(options: options.storeOptions) } catch {
            try replica.start()
            throw error
        }
        try close()
        return try Database(at: path, entities: entities, options: options) { store }
    }
}

extension Replicator {
    /// Attaches a database to the branch that it continues, or begins one; see ``init(_:to:prefix:branch:options:)``.
    ///
    /// ```swift
    /// var options = DatabaseOptions()
    /// options.storage.logArchiveBytes = 256 << 20
    /// let db = try Database(at: "people.mako", entities: [Person.self], options: options)
    /// let replicator = try Replicator(db, to: objects)
    /// try replicator.confirmCommits(timeout: .seconds(10))
    /// ```
    ///
    /// With ``confirmCommits(timeout:)``, saving an object returns when an object store has it. A save that is not
    /// confirmed in time throws `MakoError.storage(.unconfirmed)`: it is in the file, the objects keep its values, and
    /// queries, handlers, live queries and callbacks get it when it is confirmed. It must not be repeated.
    public convenience init(
        _ database: Database, to objectStore: any ObjectStore, prefix: String = "", branch: Branch = .continued,
        options: Options = Options()
    ) throws(ReplicationError) {
        do throws(StorageError) { try database.requireFile(for: "a replicator") } catch { throw .storage(error) }
        try self.init(database.store, to: objectStore, prefix: prefix, branch: branch, options: options)
    }
}
