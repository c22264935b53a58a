import MakoStorage

/// Stores in which all values have the same bytes: the round in which they were written. So a state that mixes commits shows.
protocol RoundValues {}

extension RoundValues {
    /// Options of a process at a file that others open, too.
    func options(_ files: any FileSystem, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.readOnly = readOnly
        options.logSegmentBytes = 256 << 10
        options.cacheBytes = 256 << 10
        return options
    }

    /// Puts `count` values, all of `round`.
    func fill(
        _ store: Store, round: UInt8, count: UInt64 = 100, _ durability: Durability = .full, in name: String = "t"
    ) throws {
        try store.write(durability: durability) { transaction in
            let tree = try transaction.view.tree(named: name) ?? transaction.createTree(named: name, keys: .integer)
            for key in 0..<count { try transaction.put([UInt8](repeating: round, count: 200), for: key, in: tree) }
        }
    }

    /// The rounds of all values of a snapshot.
    func round(_ snapshot: Snapshot, in name: String = "t") throws -> Set<UInt8> {
        guard let tree = snapshot.tree(named: name) else { return [] }
        var rounds = Set<UInt8>()
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        while isThere {
            rounds.formUnion(try cursor.value())
            isThere = try cursor.next()
        }
        return rounds
    }

    func round(_ store: Store) throws -> Set<UInt8> { try store.read { try round($0) } }
}
