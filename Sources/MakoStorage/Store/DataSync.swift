/// A sync of the data file, or a barrier behind it, on a thread of its own.
///
/// Behind a checkpoint's pages it takes as long as the device needs for all of them, a second and more. Whoever waits for it sees to what
/// committers would otherwise have to do themselves.
private final class DataSync: @unchecked Sendable {
    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var result: Result<Void, FileError>?

    /// Begins. The thread is joined by whoever asks for the outcome.
    func start(_ file: any File) throws(FileError) -> JoinableThread {
        try startThread(name: "mako sync") { [self] in
            let outcome: Result<Void, FileError>
            do throws(FileError) {
                try file.barrier()
                outcome = .success(())
            } catch { outcome = .failure(error) }
            lock.withLock {
                result = outcome
                change.broadcast()
            }
        }
    }

    /// What came of it, when it is over within some time.
    func outcome(within time: Duration) -> Result<Void, FileError>? {
        lock.withLock {
            if result == nil { _ = change.wait(lock, timeout: time) }
            return result
        }
    }
}

extension Store {
    /// How often the log is looked at while the data file is synced: a writer at full speed fills half a segment in a third of a second.
    private static let lookInterval = Duration.milliseconds(5)

    /// Has the data file's pages reach the device before what is written next. With threads the log is looked after meanwhile, so that no committer has to fill a segment with
    /// zeros or to raise the serial ceiling because a checkpoint keeps the store's thread waiting.
    func syncDataFile() throws(FileError) {
        guard options.background == .threads else { return try dataFile.file.barrier() }
        let sync = DataSync()
        let thread: JoinableThread
        do throws(FileError) { thread = try sync.start(dataFile.file) } catch { return try dataFile.file.barrier() }
        defer { thread.join() }
        while true {
            if let outcome = sync.outcome(within: Store.lookInterval) { return try outcome.get() }
            // What fails here is tried again by the next step, or by the committer who needs it.
            _ = try? lookAfterLog()
        }
    }
}
