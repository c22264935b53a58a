import Foundation
import MakoReplication
import MakoStorage

/// What a process says on standard output, a line each.
enum Word: String {
    case opened, following, promoting, fenced
    /// With the number of the newest transaction that is there.
    case attached, promoted
    /// With the number of a transaction: it is durable in the file of the writer, or in the file of the follower.
    case durable
    /// It is in the object store.
    case acknowledged
    /// A reader of a store whose commits wait for the object store has seen it.
    case seen
    /// A restored file has it.
    case restored

    func say(_ number: UInt64? = nil) {
        FileHandle.standardOutput.write(Data((number.map { "\(rawValue) \($0)\n" } ?? "\(rawValue)\n").utf8))
    }

    /// The status with which a fenced writer ends.
    static let fencedStatus: Int32 = 4
}

/// Commits and ships without end, until it is killed or fenced.
struct WriterProcess {
    let life: Life
    let path: String
    let objects: LethalObjects

    func run() throws -> Never {
        let store = try Store(at: path, options: Workload.options())
        Word.opened.say()
        try write(store)
    }

    func write(_ store: Store) throws -> Never {
        do {
            var options = Replicator.Options()
            options.objectBytes = life.objectBytes
            options.backupAfterBytes = life.backupAfterBytes
            let replicator = try Replicator(store, to: objects, options: options)
            Word.attached.say(try store.read { try WriterProcess.head($0) })
            switch life.shipping {
            case .each: while true { try shipEach(store, replicator) }
            case .beside: try shipBeside(store, replicator)
            case .byItself: try shipByItself(store, replicator)
            case .confirmed: try confirm(store, replicator)
            }
        } catch { WriterProcess.end(error) }
    }

    private static func end(_ error: any Error) -> Never {
        if case ReplicationError.fenced = error {
            Word.fenced.say()
            exit(Word.fencedStatus)
        }
        FileHandle.standardError.write(Data("writer: \(error)\n".utf8))
        exit(3)
    }

    // MARK: Ways to ship

    private func shipEach(_ store: Store, _ replicator: Replicator) throws {
        let number = try Workload.commit(life, store, .full)
        Word.durable.say(number)
        try replicator.ship()
        Word.acknowledged.say(number)
        if number % 50 == 0 { try store.checkpoint() }
    }

    private func shipBeside(_ store: Store, _ replicator: Replicator) throws -> Never {
        try commit(store, [.full, .ordered, .async]) { _ in }
        while true {
            let number = try store.read { try WriterProcess.head($0) }
            let report = try replicator.ship()
            guard try store.read({ $0.commitNumber }) >= report.commit else {
                throw Failure("commit \(report.commit) was shipped and is not there")
            }
            if number > 0 { Word.acknowledged.say(number) }
            Thread.sleep(forTimeInterval: 0.002)
        }
    }

    private func shipByItself(_ store: Store, _ replicator: Replicator) throws -> Never {
        try replicator.start(interval: .milliseconds(3))
        try commit(store, [.full, .async]) { _ in }
        var made: [(commit: UInt64, number: UInt64)] = []
        while true {
            if let failure = replicator.failure { throw failure }
            made.append(try store.read { ($0.commitNumber, try WriterProcess.head($0)) })
            let shipped = replicator.shippedCommit ?? 0
            if let last = made.lastIndex(where: { $0.commit <= shipped }) {
                if made[last].number > 0 { Word.acknowledged.say(made[last].number) }
                made.removeSubrange(...last)
            }
            Thread.sleep(forTimeInterval: 0.004)
        }
    }

    private func confirm(_ store: Store, _ replicator: Replicator) throws -> Never {
        try replicator.confirmCommits(timeout: .seconds(60))
        // Readers see large transactions and values before they are confirmed, and commits of durability `async` that are behind none that waits.
        let isStrict = !life.hasLargeChanges
        try commit(store, isStrict ? [.full, .barrier, .full] : [.full, .barrier, .async], replicator) {
            Word.acknowledged.say($0)
        }
        while true {
            if isStrict { Word.seen.say(try store.read { try WriterProcess.head($0) }) }
            Thread.sleep(forTimeInterval: 0.002)
        }
    }

    /// Starts threads that commit without end.
    private func commit(
        _ store: Store, _ durabilities: [Durability], _ replicator: Replicator? = nil,
        _ onReturn: @escaping @Sendable (UInt64) -> Void
    ) throws {
        for (index, durability) in durabilities.enumerated() {
            _ = try startThread(name: "commits \(index)") {
                do {
                    while true {
                        let number = try Workload.commit(life, store, durability)
                        if durability != .async {
                            Word.durable.say(number)
                            onReturn(number)
                        }
                        // Not faster than objects are made, so that the log stays short.
                        if durability == .async { Thread.sleep(forTimeInterval: 0.001) }
                    }
                } catch {
                    // The store is read-only as soon as it is fenced.
                    do { try replicator?.ship() } catch { WriterProcess.end(error) }
                    WriterProcess.end(error)
                }
            }
        }
    }

    private static func head(_ snapshot: Snapshot) throws -> UInt64 {
        guard let counters = snapshot.tree(named: Workload.counters) else { return 0 }
        return Workload.number(try snapshot.get(Workload.head, in: counters))
    }
}
