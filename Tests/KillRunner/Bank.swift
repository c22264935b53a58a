import Foundation
import MakoStorage
import MakoTestSupport

/// A store whose every commit keeps a rule: money goes from account to account, and the sum stays.
struct Bank {
    let path: String

    private static let accounts: UInt64 = 3000
    private static let start: UInt64 = 1000
    private static let tree = "accounts"
    private static let ballast = "ballast"

    private func options(readOnly: Bool) -> StoreOptions {
        var options = Workload.options(readOnly: readOnly)
        // Less than the data, so that pages are read from the file again and again.
        if readOnly { options.cacheBytes = 256 << 10 }
        return options
    }

    // MARK: The writer

    /// Moves money without end, in small transactions and in such that are too large for the log; makes the file grow and shrink.
    /// Prints the numbers of commits that the end of the process must not take.
    ///
    /// - Parameter committed: the newest commit that must be there.
    func transfer(after committed: UInt64) throws -> Never {
        let store = try Store(at: path, options: options(readOnly: false))
        let newest = try store.read { $0.commitNumber }
        guard newest >= committed else {
            throw Referee.Failure(description: "commit \(committed) was there; commit \(newest) is the newest")
        }
        try store.write { transaction in
            if transaction.view.tree(named: Bank.ballast) == nil {
                _ = try transaction.createTree(named: Bank.ballast, keys: .integer)
            }
            guard transaction.view.tree(named: Bank.tree) == nil else { return }
            let tree = try transaction.createTree(named: Bank.tree, keys: .integer)
            for account in 0..<Bank.accounts { try put(Bank.start, account, tree, transaction) }
        }
        var random = SplitMix(seed: UInt64.random(in: 0...UInt64.max))
        print("open")
        fflush(nil)
        while true {
            let isLarge = random.below(80) == 0
            let durability: Durability = random.pick([.full, .ordered, .async, .async])
            try store.write(durability: durability) { transaction in
                guard let tree = transaction.view.tree(named: Bank.tree) else { return }
                for _ in 0..<(isLarge ? 800 : 1 + random.below(8)) {
                    let (from, to) = (random.next() % Bank.accounts, random.next() % Bank.accounts)
                    let amount = min(try balance(from, tree, transaction.view), UInt64(random.below(50)))
                    try put(balance(from, tree, transaction.view) - amount, from, tree, transaction)
                    try put(balance(to, tree, transaction.view) + amount, to, tree, transaction)
                }
            }
            if durability != .async {
                print(try store.read { $0.commitNumber })
                fflush(nil)
            }
            switch random.below(400) {
            case 0: try store.checkpoint()
            case 1:
                try store.write { transaction in
                    guard let tree = transaction.view.tree(named: Bank.ballast) else { return }
                    for key in 0..<300 as Range<UInt64> {
                        try transaction.put([UInt8](repeating: 7, count: 3000), for: key, in: tree)
                    }
                }
            case 2:
                try store.write { transaction in
                    if let tree = transaction.view.tree(named: Bank.ballast) { try transaction.deleteAll(in: tree) }
                }
                try store.shrink()
            default: break
            }
        }
    }

    private func balance(_ account: UInt64, _ tree: Tree, _ view: Snapshot) throws -> UInt64 {
        Workload.number(try view.get(account, in: tree).map { Array($0.prefix(8)) })
    }

    private func put(
        _ balance: UInt64, _ account: UInt64, _ tree: Tree, _ transaction: borrowing WriteTransaction
    ) throws {
        let padding = [UInt8](repeating: UInt8(truncatingIfNeeded: balance), count: 60 + Int(balance % 90))
        try transaction.put(Workload.word(balance) + padding, for: account, in: tree)
    }

    // MARK: Readers

    /// Reads the newest state again and again, and older ones too, and prints each on standard output.
    func audit() throws -> Never {
        let store = try open()
        var random = SplitMix(seed: UInt64.random(in: 0...UInt64.max))
        var kept: [(snapshot: Snapshot, digest: UInt64)] = []
        var latest: UInt64 = 0
        var latestDigest: UInt64 = 0
        while true {
            try store.refresh()
            let snapshot = try store.snapshot()
            guard snapshot.commitNumber >= latest else {
                throw Referee.Failure(description: "commit \(snapshot.commitNumber) after commit \(latest)")
            }
            let digest = try check(snapshot)
            guard snapshot.commitNumber > latest || latest == 0 || digest == latestDigest else {
                throw Referee.Failure(description: "commit \(latest) was another one before")
            }
            (latest, latestDigest) = (snapshot.commitNumber, digest)
            kept.append((snapshot, digest))
            if kept.count > 4 { kept.remove(at: random.below(kept.count)) }
            let old = random.pick(kept)
            guard try check(old.snapshot) == old.digest else {
                throw Referee.Failure(description: "a snapshot of commit \(old.snapshot.commitNumber) has changed")
            }
            print(latest)
            fflush(nil)
        }
    }

    private func open() throws -> Store {
        while true {
            do throws(StorageError) { return try Store(at: path, options: options(readOnly: true)) } catch {
                // The first writer may still be making it.
                guard case .notFound = error else { throw error }
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
    }

    /// Whether all the money is there, and what shows that nothing has changed.
    private func check(_ snapshot: Snapshot) throws -> UInt64 {
        guard let tree = snapshot.tree(named: Bank.tree) else { return 0 }
        var sum: UInt64 = 0
        var count: UInt64 = 0
        var digest: UInt64 = 1
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        while isThere {
            let value = try cursor.value()
            let balance = Workload.number(Array(value.prefix(8)))
            guard cursor.integerKey == count, value.count == 68 + Int(balance % 90),
                value.dropFirst(8).allSatisfy({ $0 == UInt8(truncatingIfNeeded: balance) })
            else { throw Referee.Failure(description: "account \(count) of commit \(snapshot.commitNumber)") }
            sum += balance
            count += 1
            digest = (digest ^ balance) &* 0x100_0000_01b3
            isThere = try cursor.next()
        }
        guard count == Bank.accounts, sum == Bank.accounts * Bank.start else {
            throw Referee.Failure(
                description: "commit \(snapshot.commitNumber) has \(count) accounts with \(sum) in all")
        }
        return digest
    }
}
