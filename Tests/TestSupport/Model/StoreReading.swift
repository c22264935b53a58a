import MakoStorage

extension ModelStore {
    /// Everything a snapshot shows, read by cursors.
    public init(reading snapshot: Snapshot) throws {
        self.init()
        for info in snapshot.trees {
            let tree = try ModelTree(reading: info.tree, of: snapshot)
            let count = try snapshot.count(of: info.tree)
            guard count == UInt64(tree.count) else {
                throw Disagreement("tree \(info.name) counts \(count) entries and holds \(tree.count)")
            }
            createTree(info.name, holding: tree)
        }
    }
}

extension ModelTree {
    public init(reading tree: Tree, of snapshot: Snapshot) throws {
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        switch tree.keys {
        case .integer:
            var map = SortedMap<UInt64>()
            while isThere {
                if let last = map.keys.last, last >= cursor.integerKey {
                    throw Disagreement("the cursor went from key \(last) to \(cursor.integerKey)")
                }
                map.put(try cursor.value(), for: cursor.integerKey)
                isThere = try cursor.next()
            }
            self = .integers(map)
        case .bytes:
            var map = SortedMap<ByteKey>()
            while isThere {
                let key = ByteKey(cursor.key)
                if let last = map.keys.last, last >= key {
                    throw Disagreement("the cursor went from key \(last.bytes) to \(key.bytes)")
                }
                map.put(try cursor.value(), for: key)
                isThere = try cursor.next()
            }
            self = .bytes(map)
        }
    }
}

/// What a store did and what it should have done differ.
public struct Disagreement: Error, CustomStringConvertible {
    public var description: String

    public init(_ description: String) { self.description = description }
}
