/// Replays logged operations on trees that may be incomplete or missing.
struct SalvageReplay {
    /// The new tree for each tree of the damaged database.
    private(set) var trees: [UInt32: Tree]

    /// The file with the pages of named values.
    private let source: DamagedFile
    private let page = SalvagedPage()

    init(trees: [UInt32: Tree], source: DamagedFile) {
        self.trees = trees
        self.source = source
    }

    /// Replays one operation. Skips it if it does not fit the trees.
    mutating func apply(
        _ step: OperationReader.Step, _ transaction: borrowing WriteTransaction, _ name: (UInt32) -> String
    ) throws(StorageError) {
        do throws(StorageError) {
            switch step {
            case .put(let tree, .integer(let key), let value):
                try transaction.put(value, for: key, in: place(tree, .integer, transaction, name))
            case .put(let tree, .bytes(let key), let value):
                try transaction.put(value, for: key, in: place(tree, .bytes, transaction, name))
            case .putRuns(let tree, .integer(let key), let value):
                try put(value, at: .integer(key), in: place(tree, .integer, transaction, name), transaction)
            case .putRuns(let tree, .bytes(let key), let value):
                try put(value, at: .bytes([UInt8](key)), in: place(tree, .bytes, transaction, name), transaction)
            case .delete(let tree, .integer(let key)):
                if let tree = trees[tree] { _ = try transaction.delete(key, in: tree) }
            case .delete(let tree, .bytes(let key)):
                if let tree = trees[tree] { _ = try transaction.delete(key, in: tree) }
            case .createTree(let tree, let keys, let options, let name):
                if trees[tree] == nil {
                    trees[tree] = try SalvageTarget.createTree(tree, keys: keys, options, named: name, transaction).tree
                }
            case .renameTree(let tree, let name):
                // A tree without records is created with its first record, under its last name in the log.
                if let tree = trees[tree] { try transaction.renameTree(tree, to: name) }
            case .dropTree(let tree): if let tree = trees.removeValue(forKey: tree) { try transaction.dropTree(tree) }
            case .deleteRange(let tree, let range):
                if let tree = trees[tree] { _ = try transaction.deleteRange(range, in: tree) }
            case .deleteByteRange(let tree, let lower, let upper):
                if let tree = trees[tree] { _ = try transaction.deleteRange(from: lower, to: upper, in: tree) }
            case .deleteAll(let tree): if let tree = trees[tree] { try transaction.deleteAll(in: tree) }
            }
        } catch {
            switch error {
            case .wrongKeyKind, .keyTooLong, .valueTooLarge, .treeExists, .invalidArgument: return
            default: throw error
            }
        }
    }

    /// Puts a value whose pages the log names. If they are lost or overwritten, removes the entry, because an earlier
    /// value would be wrong.
    private func put(
        _ value: ValueExtents, at position: TreePosition, in tree: Tree, _ transaction: borrowing WriteTransaction
    ) throws(StorageError) {
        do throws(StorageError) { try source.check(value, with: page) } catch {
            return try transaction.delete(at: position, in: tree)
        }
        guard !value.isCompressed else {
            var block: [UInt8] = []
            try source.forEachShare(of: value, with: page) { block += $0 }
            guard let bytes = LZ4.decompress(block, length: Int(value.length)) else {
                return try transaction.delete(at: position, in: tree)
            }
            return try transaction.put(at: position, in: tree) { (blob) throws(StorageError) in try blob.append(bytes) }
        }
        try transaction.put(at: position, in: tree) { (blob) throws(StorageError) in
            try source.forEachShare(of: value, with: page) { (share) throws(StorageError) in try blob.append(share) }
        }
    }

    /// Returns the tree of a value; creates it if only the log has it.
    private mutating func place(
        _ number: UInt32, _ keys: KeyKind, _ transaction: borrowing WriteTransaction, _ name: (UInt32) -> String
    ) throws(StorageError) -> Tree {
        if let known = trees[number] {
            guard known.keys == keys else { throw .wrongKeyKind(tree: name(number), expected: known.keys) }
            return known
        }
        let made = try SalvageTarget.createTree(number, keys: keys, [], named: name(number), transaction).tree
        trees[number] = made
        return made
    }
}
