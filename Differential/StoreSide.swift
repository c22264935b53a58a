import MakoStorage
import MakoTestSupport

/// The operations on a Mako store, in memory but with all of its log and checkpoints.
final class StoreSide {
    private let files = MemoryFileSystem()
    private let seed: UInt64
    private var store: Store
    private var kept: Snapshot?
    private var answers: [StoreAnswer] = []

    init(seed: UInt64) throws {
        self.seed = seed
        store = try StoreSide.open(files, seed)
        try store.write { transaction in
            _ = try transaction.createTree(named: "integers", keys: .integer)
            _ = try transaction.createTree(named: "bytes", keys: .bytes)
        }
    }

    private static func open(_ files: MemoryFileSystem, _ seed: UInt64) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.entropy = SeededEntropy(seed: seed)
        options.logSegmentBytes = seed % 2 == 0 ? 32 << 10 : 256 << 10
        options.checkpointBytes = options.logSegmentBytes / 2
        options.cacheBytes = 1 << 20
        return try Store(at: "store.mako", options: options)
    }

    func run(_ steps: [StoreStep]) throws -> [StoreAnswer] {
        for step in steps {
            switch step {
            case .transaction(let changes, let commits): try transaction(changes, commits)
            case .get(let key): answers.append(try store.read { try StoreSide.get(key, $0) })
            case .scan(let scan): answers.append(try store.read { try StoreSide.scan(scan, $0) })
            case .keepView: kept = try store.snapshot()
            case .readKeptView:
                guard let kept else { continue }
                for isInteger in [true, false] {
                    answers.append(try StoreSide.scan(.all(isInteger: isInteger), kept))
                    answers.append(.count(try kept.count(of: StoreSide.tree(isInteger, kept))))
                }
            case .reopen:
                kept = nil
                try store.close()
                store = try StoreSide.open(files, seed)
            }
            _ = try store.step()
        }
        kept = nil
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("seed \(seed), verify: \(report.findings)") }
        try store.close()
        return answers
    }

    private func transaction(_ changes: [StoreChange], _ commits: Bool) throws {
        let transaction = try store.beginWrite()
        var nested: Savepoint?
        for change in changes {
            switch change {
            case .beginNested: if nested == nil { nested = transaction.savepoint() }
            case .endNested(let keeps):
                if let savepoint = nested, !keeps { try transaction.rollback(to: savepoint) }
                nested = nil
            default: answers.append(try StoreSide.apply(change, transaction))
            }
        }
        if commits { try transaction.commit() } else { transaction.rollback() }
    }

    private static func apply(_ change: StoreChange, _ transaction: borrowing WriteTransaction) throws -> StoreAnswer {
        let view = transaction.view
        switch change {
        case .put(let key, let value): return .flag(try put(key, value, transaction))
        case .insert(.integer(let key), let value):
            return .flag(try transaction.insert(value, for: key, in: tree(true, view)))
        case .insert(.bytes(let key), let value):
            return .flag(try transaction.insert(value, for: key, in: tree(false, view)))
        case .append(let key, let value):
            if let last = try last(key.isInteger, view), !(last < key) { return .flag(false) }
            return .flag(try put(key, value, transaction))
        case .delete(.integer(let key)): return .flag(try transaction.delete(key, in: tree(true, view)))
        case .delete(.bytes(let key)): return .flag(try transaction.delete(key, in: tree(false, view)))
        case .deleteRange(let range): return .count(try transaction.deleteRange(range, in: tree(true, view)))
        case .deleteAll(let isInteger):
            let tree = try tree(isInteger, view)
            try transaction.deleteAll(in: tree)
            return .count(try view.count(of: tree))
        case .get(let key): return try get(key, view)
        case .scan(let scan): return try self.scan(scan, view)
        case .beginNested, .endNested: throw Disagreement("\(change) is no change")
        }
    }

    private static func put(_ key: ModelKey, _ value: [UInt8], _ transaction: borrowing WriteTransaction) throws -> Bool
    {
        switch key {
        case .integer(let key): try transaction.put(value, for: key, in: tree(true, transaction.view))
        case .bytes(let key): try transaction.put(value, for: key, in: tree(false, transaction.view))
        }
        return true
    }

    private static func tree(_ isInteger: Bool, _ view: Snapshot) throws -> Tree {
        guard let tree = view.tree(named: isInteger ? "integers" : "bytes") else {
            throw Disagreement("a tree is gone")
        }
        return tree
    }

    private static func last(_ isInteger: Bool, _ view: Snapshot) throws -> ModelKey? {
        var cursor = try view.cursor(in: tree(isInteger, view))
        guard try cursor.last() else { return nil }
        return isInteger ? .integer(cursor.integerKey) : .bytes(cursor.key)
    }

    private static func get(_ key: ModelKey, _ view: Snapshot) throws -> StoreAnswer {
        switch key {
        case .integer(let key): .value(try view.get(key, in: tree(true, view)))
        case .bytes(let key): .value(try view.get(key, in: tree(false, view)))
        }
    }

    private static func scan(_ scan: StoreScan, _ view: Snapshot) throws -> StoreAnswer {
        var cursor = try view.cursor(in: tree(scan.isInteger, view))
        var isThere =
            switch scan.start {
            case .first: try cursor.first()
            case .last: try cursor.last()
            case .key(.integer(let key)): try cursor.seek(key)
            case .key(.bytes(let key)): try cursor.seek(key)
            }
        var entries: [StoreAnswer.Entry] = []
        for move in scan.moves {
            var left = move.count
            while isThere, left > 0 {
                let key: ModelKey = scan.isInteger ? .integer(cursor.integerKey) : .bytes(cursor.key)
                entries.append(StoreAnswer.Entry(key: key, value: try cursor.value()))
                isThere = try move.forwards ? cursor.next() : cursor.previous()
                left -= 1
            }
        }
        return .entries(entries)
    }
}

extension ModelKey {
    var isInteger: Bool { if case .integer = self { true } else { false } }

    /// Whether this key sorts before another of the same tree.
    static func < (left: ModelKey, right: ModelKey) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.bytes(let left), .bytes(let right)): ByteKey(left) < ByteKey(right)
        default: false
        }
    }
}
