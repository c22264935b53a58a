/// The engine's own threads for the async forms: bodies run here, never on Swift's cooperative pool, and may wait for files and locks.
///
/// A thread is started when there is work and none is idle, up to a limit, and ends when it has had nothing to do for a while.
final class WorkerThreads: @unchecked Sendable {
    private static let patience = Duration.seconds(5)

    private let lock = Lock()
    private let work = ConditionVariable()
    private let limit: Int
    // Guarded by `lock`.
    private var jobs = TicketQueue<@Sendable () -> Void>()
    private var threads = 0
    private var idle = 0
    private var isStopping = false

    init(limit: Int) { self.limit = limit }

    /// Has a job run as soon as a thread is free.
    ///
    /// - Returns: what `withdraw` needs.
    /// - Throws: when there is no thread at all and the system gives none.
    func run(_ job: @escaping @Sendable () -> Void) throws(FileError) -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        let ticket = jobs.append(job)
        if idle >= jobs.count {
            work.signal()
        } else if threads < limit {
            do throws(FileError) {
                _ = try startThread(name: "mako worker") { [self] in serve() }
                threads += 1
            } catch {
                // Those that are there will come to it.
                guard threads == 0 else { return ticket }
                _ = jobs.remove(ticket)
                throw error
            }
        }
        return ticket
    }

    /// Takes a job back. False when it has begun.
    func withdraw(_ ticket: UInt64) -> Bool { lock.withLock { jobs.remove(ticket) != nil } }

    /// How many jobs wait.
    var waiting: Int { lock.withLock { jobs.count } }

    /// Lets the threads end as soon as nothing is left to do.
    func stop() {
        lock.withLock {
            isStopping = true
            work.broadcast()
        }
    }

    private func serve() {
        lock.lock()
        while true {
            if let job = jobs.popFirst() {
                lock.unlock()
                job()
                lock.lock()
                continue
            }
            if isStopping { break }
            idle += 1
            let isWoken = work.wait(lock, timeout: WorkerThreads.patience)
            idle -= 1
            if !isWoken && jobs.isEmpty { break }
        }
        threads -= 1
        lock.unlock()
    }
}
