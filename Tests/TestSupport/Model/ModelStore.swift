import MakoStorage

/// A key of either kind of tree.
package enum ModelKey: Hashable, Sendable {
    case integer(UInt64)
    case bytes([UInt8])
}

/// A tree as a sorted map.
package enum ModelTree: Sendable, Equatable {
    case integers(SortedMap<UInt64>)
    case bytes(SortedMap<ByteKey>)

    package init(_ keys: KeyKind) {
        self = keys == .integer ? .integers(SortedMap()) : .bytes(SortedMap())
    }

    /// The kind of its keys.
    package var kind: KeyKind {
        if case .integers = self { .integer } else { .bytes }
    }

    /// The number of its entries.
    package var count: Int {
        switch self {
        case .integers(let map): map.count
        case .bytes(let map): map.count
        }
    }

    package subscript(key: ModelKey) -> [UInt8]? {
        switch (self, key) {
        case (.integers(let map), .integer(let key)): map[key]
        case (.bytes(let map), .bytes(let key)): map[ByteKey(key)]
        default: nil
        }
    }

    /// Whether a key comes behind all others.
    package func isBehind(_ key: ModelKey) -> Bool {
        switch (self, key) {
        case (.integers(let map), .integer(let key)): map.keys.last.map { $0 < key } ?? true
        case (.bytes(let map), .bytes(let key)): map.keys.last.map { $0 < ByteKey(key) } ?? true
        default: false
        }
    }

    package mutating func put(_ value: [UInt8], for key: ModelKey) {
        switch (self, key) {
        case (.integers(var map), .integer(let key)):
            self = .integers(SortedMap())  // Gives the map's storage up, so that the change copies nothing.
            map.put(value, for: key)
            self = .integers(map)
        case (.bytes(var map), .bytes(let key)):
            self = .bytes(SortedMap())
            map.put(value, for: ByteKey(key))
            self = .bytes(map)
        default: break
        }
    }

    package mutating func delete(_ key: ModelKey) -> Bool {
        switch (self, key) {
        case (.integers(var map), .integer(let key)):
            self = .integers(SortedMap())
            defer { self = .integers(map) }
            return map.delete(key)
        case (.bytes(var map), .bytes(let key)):
            self = .bytes(SortedMap())
            defer { self = .bytes(map) }
            return map.delete(ByteKey(key))
        default: return false
        }
    }

    package mutating func delete(_ range: ClosedRange<UInt64>) -> Int {
        guard case .integers(var map) = self else { return 0 }
        defer { self = .integers(map) }
        return map.delete(range)
    }

    package mutating func delete(from first: [UInt8], to end: [UInt8]?) -> Int {
        guard case .bytes(var map) = self else { return 0 }
        defer { self = .bytes(map) }
        return map.delete(from: ByteKey(first), to: end.map { ByteKey($0) })
    }
}

/// The expected content of a store, as plain Swift values: a copy of it is a snapshot or a savepoint.
package struct ModelStore: Sendable, Equatable {
    /// The trees by their names.
    package private(set) var trees: [String: ModelTree] = [:]
    /// Of an encrypted store: which of `TestKeys` opens it.
    package var keyNumber = 0

    package init() {}

    package mutating func createTree(_ name: String, _ keys: KeyKind) { trees[name] = ModelTree(keys) }

    mutating func createTree(_ name: String, holding tree: ModelTree) { trees[name] = tree }

    package mutating func renameTree(_ name: String, to other: String) {
        guard let tree = trees.removeValue(forKey: name) else { return }
        trees[other] = tree
    }

    package mutating func dropTree(_ name: String) { trees[name] = nil }

    package mutating func put(_ value: [UInt8], for key: ModelKey, in tree: String) {
        trees[tree]?.put(value, for: key)
    }

    /// Whether the key was new.
    package mutating func insert(_ value: [UInt8], for key: ModelKey, in tree: String) -> Bool {
        guard trees[tree]?[key] == nil else { return false }
        trees[tree]?.put(value, for: key)
        return true
    }

    package mutating func delete(_ key: ModelKey, in tree: String) -> Bool { trees[tree]?.delete(key) ?? false }

    package mutating func delete(_ range: ClosedRange<UInt64>, in tree: String) -> Int {
        trees[tree]?.delete(range) ?? 0
    }

    package mutating func delete(from first: [UInt8], to end: [UInt8]?, in tree: String) -> Int {
        trees[tree]?.delete(from: first, to: end) ?? 0
    }

    package mutating func deleteAll(in tree: String) {
        if let kind = trees[tree]?.kind { trees[tree] = ModelTree(kind) }
    }

    /// How this model differs from another, in a few words; nil when they are equal.
    package func difference(from other: ModelStore) -> String? {
        if self == other { return nil }
        let names = Set(trees.keys).symmetricDifference(other.trees.keys)
        if let name = names.min() { return "tree \(name) is only on one side" }
        for (name, tree) in trees.sorted(by: { $0.key < $1.key }) {
            guard let second = other.trees[name], tree != second else { continue }
            return "tree \(name) differs: \(tree.count) entries, \(second.count) entries, "
                + tree.firstDifference(from: second)
        }
        return nil
    }
}

extension ModelTree {
    fileprivate func firstDifference(from other: ModelTree) -> String {
        switch (self, other) {
        case (.integers(let left), .integers(let right)):
            describe(left.keys, left.values, right.keys, right.values)
        case (.bytes(let left), .bytes(let right)):
            describe(left.keys.map(\.bytes), left.values, right.keys.map(\.bytes), right.values)
        default: "of another kind"
        }
    }

    private func describe<Key: Equatable>(
        _ leftKeys: [Key], _ left: [[UInt8]], _ rightKeys: [Key], _ right: [[UInt8]]
    ) -> String {
        for index in 0..<min(leftKeys.count, rightKeys.count) {
            if leftKeys[index] != rightKeys[index] {
                return "at entry \(index) key \(leftKeys[index]) against \(rightKeys[index])"
            }
            if left[index] != right[index] {
                return "at key \(leftKeys[index]) \(left[index].count) bytes \(left[index].prefix(4)) against "
                    + "\(right[index].count) bytes \(right[index].prefix(4))"
            }
        }
        return "one goes on where the other ends"
    }
}
