import MakoStorage

extension ModelStore {
    /// Everything a snapshot shows, read by cursors.
    package init(reading snapshot: Snapshot) throws {
        self.init()
        for info in snapshot.trees {
            let tree = try ModelTree(reading: info.tree, of: snapshot)
            let count = try snapshot.count(of: info.tree)
            guard count == UInt64(tree.count) else {
                throw Disagreement("tree \(info.name) counts \(count) entries and holds \(tree.count)")
            }
            try tree.checkPlaces(of: info.tree, in: snapshot)
            createTree(info.name, holding: tree)
        }
    }
}

extension ModelTree {
    package init(reading tree: Tree, of snapshot: Snapshot) throws {
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

extension ModelTree {
    /// Checks some entries by their position, from both ends, and the number of entries before them, with and without
    /// subtree counts.
    func checkPlaces(of tree: Tree, in snapshot: Snapshot) throws {
        for place in Set([0, 1, count / 3, count / 2, count - 2, count - 1]) where place >= 0 && place < count {
            var cursor = try snapshot.cursor(in: tree)
            guard try cursor.seek(offset: UInt64(place)) else { throw Disagreement("no entry at position \(place)") }
            var behind = try snapshot.cursor(in: tree)
            let isThere = try behind.seek(offsetFromEnd: UInt64(count - 1 - place))
            let (rank, tail, isRight): (UInt64, UInt64, Bool)
            switch self {
            case .integers(let map):
                let key = map.keys[place]
                isRight = cursor.integerKey == key && behind.integerKey == key
                rank = try snapshot.rank(of: key, in: tree)
                tail = try snapshot.count(of: key...(.max), in: tree)
            case .bytes(let map):
                let key = map.keys[place].bytes
                isRight = cursor.key == key && behind.key == key
                rank = try snapshot.rank(of: key, in: tree)
                tail = try snapshot.count(from: key, in: tree)
            }
            guard isThere, isRight, rank == UInt64(place), tail == UInt64(count - place) else {
                throw Disagreement("the entry at \(place) of \(count) is elsewhere: \(rank) before, \(tail) from it on")
            }
        }
        var cursor = try snapshot.cursor(in: tree)
        guard try !cursor.seek(offset: UInt64(count)) else { throw Disagreement("an entry follows the last") }
    }
}

/// A difference between a store and its model.
package struct Disagreement: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}
