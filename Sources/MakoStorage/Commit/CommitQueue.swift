/// A commit that is in the log but not published yet.
struct PendingCommit {
    var version: Version
    var durability: Durability
    /// The number of pages that the commit allocated, and that it freed.
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

extension Durability {
    /// Whether a commit waits for step 10.
    var awaitsConfirmation: Bool { flushLevel > .written }
}

/// Commits that wait for publication, in order, and their changed pages.
///
/// An emptied queue keeps the capacity of its lists, so that commits allocate no memory here.
struct CommitQueue {
    private(set) var commits: [PendingCommit] = []
    /// The changed pages of all commits, in their order. The commits may be entered into the space map together,
    /// because a page that one of them freed is not reused before both are published.
    var pages = ChangedPages()

    var isEmpty: Bool { commits.isEmpty }
    var count: Int { commits.count }
    /// The end of the last commit's frame in the log.
    var end: UInt64 { commits.last?.version.log.lsn ?? 0 }

    /// Appends a commit, and moves its pages out of `changed`.
    mutating func append(_ version: Version, _ durability: Durability, _ changed: inout ChangedPages) {
        commits.append(
            PendingCommit(
                version: version, durability: durability, allocated: changed.allocated.count,
                freed: changed.freed.count))
        pages.append(&changed)
    }

    /// Moves all commits to the end of another queue.
    mutating func move(to other: inout CommitQueue) {
        if other.isEmpty { return swap(&self, &other) }
        other.commits += commits
        other.pages.append(&pages)
        commits.removeAll(keepingCapacity: true)
    }

    /// Moves the first `count` commits to an empty queue.
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

    /// Returns the number of commits that end at or before a log position.
    func count(upTo lsn: UInt64) -> Int {
        commits.firstIndex { $0.version.log.lsn > lsn } ?? commits.count
    }

    /// The number of commits that may be published when the log up to a position is confirmed.
    func count(confirmedThrough lsn: UInt64) -> Int {
        commits.firstIndex { $0.version.log.lsn > lsn && $0.durability.awaitsConfirmation } ?? commits.count
    }

    /// The number of commits before the first whose committer waits.
    var countBeforeWaiting: Int {
        for index in 0..<commits.count where commits[index].durability.maxDelay == nil { return index }
        return commits.count
    }

    /// Whether it has `async` commits, which are acknowledged before they are durable.
    var hasAcknowledged: Bool { commits.contains { $0.durability.maxDelay != nil } }

    /// The strongest flush level that a commit in the queue needs.
    var flushLevel: FlushLevel {
        var level = FlushLevel.written
        for index in 0..<commits.count where level < .durable {
            level = max(level, commits[index].durability.flushLevel)
        }
        return level
    }
}

/// Commits whose write the system refused, and of which no byte is in a file.
struct RefusedCommits {
    /// The error for their committers; nil without refused commits.
    var reason: StorageError?
    var pages = ChangedPages()
}
