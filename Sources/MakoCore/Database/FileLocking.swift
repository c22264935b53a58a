/// When a database has the lock of its file, which one process at a time can have.
public enum FileLocking: Sendable, Hashable {
    /// From opening to closing. Faster, and the choice for a file that one process writes.
    case whileOpen
    /// For opening, and for each transaction and each read, so that several processes, as an app and its extensions, use
    /// one file by turns and each sees the commits of the others.
    ///
    /// ```swift
    /// var options = DatabaseOptions()
    /// options.fileLocking = .perTransaction
    /// options.writerTimeout = .seconds(5)
    /// let db = try Database(at: group.appendingPathComponent("people.mako"), entities: [Person.self], options: options)
    /// ```
    ///
    /// All processes need the option; one without it keeps the others waiting as long as it has the file open. While a
    /// process waits for the file, those that have used it wait behind it. A wait longer than
    /// ``DatabaseOptions/writerTimeout`` throws `MakoError.writerTimeout`, by reads too.
    ///
    /// No lock is held while nothing runs. Streams of rows, cursors and batched results lock the file until they have
    /// ended or are released. Before an app is suspended, ``Database/suspend(timeout:)`` makes sure that nothing holds it.
    ///
    /// As long as no other process comes, a transaction costs one sync, as with ``whileOpen``. After another one's it costs
    /// about ten, because the log is replayed into a checkpoint, and the cache is empty: gather writes in
    /// `transaction { }`, and reads in `read { }`. A log of at most 1 MiB stays beside the file between transactions, until
    /// the database is closed. A commit with `async` is `ordered`, and every commit is durable once the file is unlocked. Live queries and handlers learn of commits of other processes at the next
    /// transaction, read or ``Database/refresh()``; a history sequence looks once a second.
    ///
    /// `Database.store` is suspended between transactions and reads. There is no background work: `snapshotAgeLimit`,
    /// `statisticsInterval` and `shrinksWhenIdle` have no effect. Replication and mirrors need ``whileOpen``. Without
    /// effect in memory and in a sandbox.
    case perTransaction
}
