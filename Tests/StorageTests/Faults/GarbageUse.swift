import MakoStorage
import MakoTestSupport

/// Does with a database whatever can be done with one, though its files may hold nonsense. Errors that say so are right answers.
final class GarbageUse {
    var random: SplitMix
    /// How much ended in an error.
    private(set) var refused = 0
    private let encryption: Encryption?

    init(seed: UInt64, _ encryption: Encryption?) {
        random = SplitMix(seed: seed)
        self.encryption = encryption
    }

    static func options(_ image: DiskImage, _ encryption: Encryption?) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = SimulatedDisk(image)
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.cacheBytes = 1 << 20
        options.encryption = encryption
        return options
    }

    private func attempt(_ body: () throws -> Void) throws {
        do { try body() } catch is StorageError { refused += 1 }
    }

    /// Reads everything, in both directions and by key, writes here and there, and closes.
    func run(_ image: DiskImage) throws {
        let options = Self.options(image, encryption)
        try attempt {
            let store = try Store(at: ScriptRun.path, options: options)
            try attempt { _ = try store.verify() }
            try store.read { view in
                for info in view.trees { try read(info.tree, view) }
            }
            if random.chance(20) { try attempt { try store.copy(to: "d/first.mako") } }
            for _ in 0..<3 {
                try attempt {
                    try store.write { transaction in
                        for info in transaction.view.trees {
                            for _ in 0..<10 { try change(info.tree, transaction) }
                        }
                    }
                }
                try attempt { try store.write { try self.rearrange($0) } }
                try attempt { try store.checkpoint() }
            }
            try attempt { try store.backup(to: "d/backup.mako") }
            try attempt { try store.copy(to: "d/copy.mako") }
            if encryption != nil { try attempt { try store.changeKey(to: TestKeys.encryption(1)) } }
            try attempt { try store.shrink() }
            try store.close()
        }
    }

    /// Looks at the files without opening them, and saves what can be.
    func inspect(_ image: DiskImage) throws {
        let disk = SimulatedDisk(image)
        try attempt {
            let inspection = try PageInspection(path: ScriptRun.path, encryption: encryption, fileSystem: disk)
            for number in 0..<inspection.pageCount { _ = try inspection.page(number) }
        }
        try attempt {
            try LogInspection.log(
                of: ScriptRun.path, encryption: encryption, fileSystem: disk, operations: true, segment: { _ in },
                frame: { _ in })
        }
        var options = Self.options(image, encryption)
        try attempt { _ = try Store.salvage(from: ScriptRun.path, to: "d/saved.mako", options: options) }
        options.readOnly = true
        try attempt {
            let reader = try Store(at: ScriptRun.path, options: options)
            try attempt { _ = try reader.verify() }
            try reader.read { view in
                for info in view.trees { try read(info.tree, view) }
            }
            try reader.close()
        }
    }

    // MARK: Reading

    private func read(_ tree: Tree, _ view: Snapshot) throws {
        try attempt { try scan(view, tree, forwards: true) }
        try attempt { try scan(view, tree, forwards: false) }
        for _ in 0..<20 {
            let number = UInt64(random.below(600))
            let upper = number + UInt64(random.below(90))
            try attempt {
                switch tree.keys {
                case .integer:
                    _ = try view.get(number, in: tree)
                    _ = try view.rank(of: number, in: tree)
                    _ = try view.count(of: number...upper, in: tree)
                    try read(try view.blob(of: number, in: tree))
                case .bytes:
                    let key = self.key(number)
                    _ = try view.get(key, in: tree)
                    _ = try view.rank(of: key, in: tree)
                    _ = try view.count(from: key, to: self.key(upper), in: tree)
                    try read(try view.blob(of: key, in: tree))
                }
            }
            try attempt { try seek(number, view, tree) }
        }
    }

    private func read(_ blob: Blob?) throws {
        guard let blob else { return }
        for _ in 0..<3 {
            let start = random.next() % (blob.count + 2)
            _ = try blob.bytes(in: min(start, blob.count)..<min(blob.count, start + UInt64(random.below(9000))))
        }
    }

    private func seek(_ offset: UInt64, _ view: Snapshot, _ tree: Tree) throws {
        var cursor = try view.cursor(in: tree)
        if try cursor.seek(offset: offset) { _ = try cursor.value() }
        if try cursor.seek(offsetFromEnd: offset) { _ = try cursor.value() }
    }

    private func scan(_ view: Snapshot, _ tree: Tree, forwards: Bool) throws {
        var cursor = try view.cursor(in: tree)
        var isThere = try forwards ? cursor.first() : cursor.last()
        var steps = 0
        while isThere {
            _ = try cursor.value()
            isThere = try forwards ? cursor.next() : cursor.previous()
            steps += 1
            guard steps < 200_000 else { throw Disagreement("a scan without end") }
        }
    }

    /// Some of the samples' trees have keys of this length.
    private func key(_ number: UInt64) -> [UInt8] {
        ScriptRun.bytes(number, length: random.chance(30) ? 200 : 0)
    }

    // MARK: Writing

    private func change(_ tree: Tree, _ transaction: borrowing WriteTransaction) throws {
        let number = UInt64(random.below(600))
        let value = [UInt8](repeating: 1, count: random.chance(5) ? 9000 : random.below(300))
        let upper = number / 2 + UInt64(random.below(60))
        let action = random.below(20)
        switch tree.keys {
        case .integer:
            try transaction.put(value, for: number, in: tree)
            _ = try transaction.delete(number / 2, in: tree)
            if action == 0 { _ = try transaction.deleteRange(number / 2...upper, in: tree) }
            if action == 1 { try transaction.putBlob(for: number, in: tree) { try $0.append(value + value) } }
            if action == 2 { _ = try transaction.insert(value, for: number + 1, in: tree) }
            if action == 3 { _ = try transaction.view.rank(of: number, in: tree) }
        case .bytes:
            let key = self.key(number)
            try transaction.put(value, for: key, in: tree)
            _ = try transaction.delete(self.key(number / 2), in: tree)
            if action == 0 {
                _ = try transaction.deleteRange(from: self.key(number / 2), to: self.key(upper), in: tree)
            }
            if action == 1 { try transaction.putBlob(for: key, in: tree) { try $0.append(value + value) } }
            if action == 2 { _ = try transaction.insert(value, for: self.key(number + 1), in: tree) }
            if action == 3 { _ = try transaction.view.rank(of: key, in: tree) }
        }
    }

    /// Creates, drops and empties whole trees.
    private func rearrange(_ transaction: borrowing WriteTransaction) throws {
        let trees = transaction.view.trees
        guard !trees.isEmpty else { return }
        let info = trees[random.below(trees.count)]
        let savepoint = transaction.savepoint()
        switch random.below(6) {
        case 0: try transaction.renameTree(info.tree, to: info.name + "2")
        case 1: try transaction.dropTree(info.tree)
        case 2: try transaction.deleteAll(in: info.tree)
        case 3:
            if info.tree.keys == .integer {
                _ = try transaction.deleteRange(50...UInt64.max, in: info.tree)
            } else {
                _ = try transaction.deleteRange(from: key(50), in: info.tree)
            }
        default: _ = try transaction.createTree(named: "new", keys: info.tree.keys, options: .subtreeCounts)
        }
        if random.chance(40) { try transaction.rollback(to: savepoint) }
    }
}
