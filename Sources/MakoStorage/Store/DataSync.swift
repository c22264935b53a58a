/// A sync of the data file, or a barrier, on a thread of its own.
///
/// After a checkpoint's pages a sync takes as long as the device needs for all of them, a second or more. Meanwhile the
/// waiting thread does work that committers would otherwise have to do.
private final class DataSync: @unchecked Sendable {
    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var result: Result<Void, FileError>?

    /// Starts the sync. The caller must join the thread.
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

    /// Waits for the result; nil if the sync takes longer than `time`.
    func outcome(within time: Duration) -> Result<Void, FileError>? {
        lock.withLock {
            if result == nil { _ = change.wait(lock, timeout: time) }
            return result
        }
    }
}

extension Store {
    /// The interval of log checks during a sync of the data file. A writer at full speed fills half a segment in a
    /// third of a second.
    private static let lookInterval = Duration.milliseconds(5)

    /// Orders the data file's pages before all later writes. With threads it checks the log meanwhile, so that no
    /// committer has to create a segment or raise the high-water mark of write ids while the background thread waits for the
    /// device.
    func syncDataFile() throws(FileError) {
        guard options.background == .threads else { return try dataFile.file.barrier() }
        let sync = DataSync()
        let thread: JoinableThread
        do throws(FileError) { thread = try sync.start(dataFile.file) } catch { return try dataFile.file.barrier() }
        defer { thread.join() }
        while true {
            if let outcome = sync.outcome(within: Store.lookInterval) { return try outcome.get() }
            // On a failure the next step tries again, or the committer that needs the result.
            _ = try? lookAfterLog()
        }
    }
}
