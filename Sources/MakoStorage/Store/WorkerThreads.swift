/// The store's threads for the async methods: bodies run here, never in Swift's cooperative pool, and may wait for
/// files and locks.
///
/// A thread is started when there is work and no thread is idle, up to a limit, and ends after some idle time.
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

    /// Queues a job, which runs as soon as a thread is free.
    ///
    /// - Returns: the ticket for `withdraw`.
    /// - Throws: if there is no thread and the system creates none.
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
                // The existing threads will run it.
                guard threads == 0 else { return ticket }
                _ = jobs.remove(ticket)
                throw error
            }
        }
        return ticket
    }

    /// Removes a job from the queue. Returns false if it has begun.
    func withdraw(_ ticket: UInt64) -> Bool { lock.withLock { jobs.remove(ticket) != nil } }

    /// The number of queued jobs.
    var waiting: Int { lock.withLock { jobs.count } }

    /// Ends the threads as soon as the queue is empty.
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
