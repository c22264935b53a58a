/// A commit that is in the log but not published yet.
struct PendingCommit {
    var version: Version
    var durability: Durability
    /// How many pages it brought, and how many it removed.
    var allocated: Int
    var freed: Int
}

extension Durability {
    var flushLevel: FlushLevel {
        switch self {
        case .full: .durable
        case .barrier: .ordered
        case .ordered, .async, .asyncWithin: .written
        }
    }
}

/// Commits on their way to publication, in order, and the pages of all of them.
///
/// The lists are kept when it is emptied, so that a commit allocates nothing on its way through.
struct CommitQueue {
    private(set) var commits: [PendingCommit] = []
    /// What the commits changed, one behind the other. A page that one of them removed serves no other before both are published, so
    /// they can be entered together.
    var pages = ChangedPages()

    var isEmpty: Bool { commits.isEmpty }
    var count: Int { commits.count }
    /// Where the frame of the last commit ends in the log.
    var end: UInt64 { commits.last?.version.log.lsn ?? 0 }

    /// Adds a commit at the end; its pages are taken out of their lists.
    mutating func append(_ version: Version, _ durability: Durability, _ changed: inout ChangedPages) {
        commits.append(
            PendingCommit(
                version: version, durability: durability, allocated: changed.allocated.count,
                freed: changed.freed.count))
        pages.append(&changed)
    }

    /// Moves the first commits to an empty queue.
    mutating func move(_ count: Int, to other: inout CommitQueue) {
        if count == commits.count { return swap(&self, &other) }
        var (allocated, freed) = (0, 0)
        for index in 0..<count {
            allocated += commits[index].allocated
            freed += commits[index].freed
            other.commits.append(commits[index])
        }
        commits.removeFirst(count)
        other.pages = pages.removeFirst(allocated: allocated, freed: freed)
    }

    mutating func removeAll() {
        commits.removeAll(keepingCapacity: true)
        pages.removeAll()
    }

    /// How many commits end at a position of the log or before it.
    func count(upTo lsn: UInt64) -> Int {
        commits.firstIndex { $0.version.log.lsn > lsn } ?? commits.count
    }

    /// How many commits come before the first that waits itself.
    var countBeforeWaiting: Int {
        for index in 0..<commits.count where commits[index].durability.maxDelay == nil { return index }
        return commits.count
    }

    /// Whether one of them has been acknowledged: it waits for nothing.
    var hasAcknowledged: Bool { commits.contains { $0.durability.maxDelay != nil } }

    /// What all of them together wait for.
    var flushLevel: FlushLevel {
        var level = FlushLevel.written
        for index in 0..<commits.count where level < .durable {
            level = max(level, commits[index].durability.flushLevel)
        }
        return level
    }
}

/// Commits that were in the log's memory when the system refused to write them, not a byte of which is in a file.
struct RefusedCommits {
    /// The error for their committers; nil when there are none.
    var reason: StorageError?
    var pages = ChangedPages()
}
