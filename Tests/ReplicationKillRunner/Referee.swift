import Foundation
import MakoReplication
import MakoStorage
import MakoTestSupport

/// What must be in the objects and in the files, by what the processes said before they died.
struct Referee {
    /// A transaction that is in the object store, by the words of the process that made it.
    private struct Acknowledgement {
        var life: UInt64
        var number: UInt64
    }

    let objects: String
    let scratch: String
    private var acknowledged: [Acknowledgement] = []
    /// The transactions of the branch, as far as they were restored.
    private(set) var branch: [UInt64] = []
    private var shipped: UInt64 = 0
    /// The cycles whose new transactions allow no gap, and the gaps of other cycles that were examined.
    private(set) var gaplessCycles = 0
    private(set) var gaps = 0
    /// The transactions of the branch with a value that the log only names.
    private(set) var naming = 0

    init(objects: String, scratch: String) {
        self.objects = objects
        self.scratch = scratch
    }

    // MARK: Words

    mutating func hear(_ child: Child) throws {
        var isFenced = false
        // Transactions of earlier lives.
        var found: UInt64 = 0
        for (word, number) in child.words {
            switch word {
            case .fenced: isFenced = true
            case .attached: found = number
            case .acknowledged, .seen:
                guard !isFenced else { throw Failure("\(child.description) shipped after it was fenced") }
                if number > found && word == .acknowledged {
                    acknowledged.append(Acknowledgement(life: child.life.id, number: number))
                }
                reach = max(reach, number)
            case .restored, .promoted: reach = max(reach, number)
            case .durable:
                // What a follower has was shipped.
                if child.role == .follow && !child.said(.promoting) { reach = max(reach, number) }
            default: break
            }
        }
    }

    /// The number of transactions that the branch must have.
    private var reach: UInt64 = 0

    // MARK: The objects

    /// Restores the newest commit, and another one.
    mutating func checkBranch(_ random: inout SplitMix) throws {
        let replica = try Replica(FolderObjectStore(at: objects))
        let unfinished = try FileManager.default.contentsOfDirectory(atPath: objects + "/.mako-unfinished")
        guard unfinished.isEmpty else { throw Failure("left behind among the objects: \(unfinished)") }
        guard try !replica.databases().isEmpty else { return try checkNothing() }
        let branches = try replica.restorePoints()
        guard branches.count == 1, let points = branches.first else { throw Failure("\(branches.count) branches") }
        guard points.findings.isEmpty else { throw Failure("findings: \(points.findings)") }
        guard let newest = points.newest else { return try checkNothing() }
        guard newest >= shipped else { throw Failure("the branch ends at commit \(newest), and ended at \(shipped)") }
        let fresh = points.gaps.filter { $0.lowerBound > shipped }
        shipped = newest
        let history = try restored(newest, replica)
        guard history.starts(with: branch) else { throw Failure("the branch lost or changed transactions") }
        try checkGaps(fresh, history, replica, &random)
        naming += (branch.count..<history.count).count {
            Workload.namesValue(Life(id: history[$0]), UInt64($0) + 1)
        }
        branch = history
        guard UInt64(history.count) >= reach else {
            throw Failure("\(history.count) transactions are in the objects, and \(reach) were acknowledged or read")
        }
        for one in acknowledged where history[Int(one.number) - 1] != one.life {
            throw Failure(
                "transaction \(one.number) of life \(one.life) was acknowledged, and is of \(history[Int(one.number) - 1])"
            )
        }
        acknowledged = []
        let run = points.runs[random.below(points.runs.count)].commits
        let commit = run.lowerBound + UInt64(random.below(run.count))
        guard try history.starts(with: restored(commit, replica)) else {
            throw Failure("commit \(commit) is not a state of the branch")
        }
    }

    /// A shipment leaves a gap only where a backup passes over a transaction that is not in frames: no log reaches the limit of the archive, the folder
    /// always answers, log that is not shipped outlives a kill, and the full backup of a promotion follows the frames before it. Such a transaction may also
    /// be one that a kill interrupted behind its barrier in the log: its number is another's in the history.
    ///
    /// - Parameter gaps: behind the transactions of `branch`.
    private mutating func checkGaps(
        _ gaps: [ClosedRange<UInt64>], _ history: [UInt64], _ replica: Replica, _ random: inout SplitMix
    ) throws {
        let isWithoutLarge = Referee.areSelfContained(branch.count..<history.count, of: history)
        if isWithoutLarge && history.count > branch.count { gaplessCycles += 1 }
        guard !gaps.isEmpty else { return }
        let gap = gaps[random.below(gaps.count)]
        let first = try restored(gap.lowerBound - 1, replica).count
        let end = try restored(gap.upperBound + 1, replica).count
        let isInterrupted = first > 0 && !Workload.isSelfContained(Life(id: history[first - 1]), UInt64(first) + 1)
        let isAllowed = isInterrupted || !isWithoutLarge && !Referee.areSelfContained(first..<end, of: history)
        guard isAllowed else {
            throw Failure("commits \(gap) cannot be restored, and all of them are in frames, unless the disk was full")
        }
        self.gaps += 1
    }

    /// Whether frames hold all of the transactions at some places of a history.
    private static func areSelfContained(_ places: Range<Int>, of history: [UInt64]) -> Bool {
        places.allSatisfy { Workload.isSelfContained(Life(id: history[$0]), UInt64($0) + 1) }
    }

    private func checkNothing() throws {
        guard reach == 0, branch.isEmpty else {
            throw Failure("there is nothing to restore, and \(reach) transactions were")
        }
    }

    private func restored(_ commit: UInt64, _ replica: Replica) throws -> [UInt64] {
        try? FileManager.default.removeItem(atPath: scratch)
        try replica.restore(to: scratch, at: commit, beginsBranch: false, options: Workload.options())
        let history = try Referee.read(scratch, "commit \(commit)").history
        try FileManager.default.removeItem(atPath: scratch)
        return history
    }

    // MARK: Files

    /// Opens a file as a reader does, and compares its content with what its transactions leave.
    static func read(_ path: String, _ name: String) throws -> Contents {
        do {
            let store = try Store(at: path, options: Workload.options(readOnly: true))
            defer { try? store.close() }
            let report = try store.verify()
            guard report.isClean else { throw Failure("verify: \(report.findings)") }
            let contents = try Contents(reading: store)
            guard contents.entries == Contents.expected(contents.history) else {
                throw Failure("it does not hold what its \(contents.history.count) transactions leave")
            }
            return contents
        } catch { throw Failure("\(name): \(error)") }
    }

    /// A follower's file has what it had, and nothing that the branch has not.
    func checkFollower(_ path: String, _ name: String, least: UInt64) throws {
        let history = try Referee.read(path, name).history
        guard branch.starts(with: history) else { throw Failure("\(name) has transactions that the branch has not") }
        guard UInt64(history.count) >= least else {
            throw Failure("\(name) has \(history.count) transactions, and had \(least)")
        }
    }

    /// A writer's file has what it had, and each transaction that it called durable.
    func checkWriter(_ path: String, _ name: String, before: [UInt64], durable: [(life: UInt64, number: UInt64)]) throws
        -> [UInt64]
    {
        let history = try Referee.read(path, name).history
        guard history.starts(with: before) else { throw Failure("\(name) lost transactions that it had") }
        for one in durable where one.number > history.count || history[Int(one.number) - 1] != one.life {
            throw Failure("\(name) lost transaction \(one.number) of life \(one.life)")
        }
        return history
    }
}
