// The value of a column of type `keys`: a tree whose leaves are row keys. Counts, lengths and ids (zigzag) are LEB128
// numbers of at most ten bytes, in their shortest form.
//
//   01 id                       a row of the column's target table, by its id
//   02 length, bytes            a row of the target table, by its byte key
//   03 table (4), 01 or 02 …    a row of another table, by the number of that table (little endian)
//   04 count, trees             a list
//   05 count, then name length, name, tree
//                               a dictionary; a name is the type of its column (1) and the sortable encoding of one
//                               value (KeyBuffer)

/// Row keys in nested lists and dictionaries: the value of a column of type ``ColumnType/keys``.
///
///     let friends = KeyTree.list([.key(.rowID(7)), .key(.rowID(9))])
///     row.set(2, friends.encoded)
public enum KeyTree: Sendable, Hashable {
    /// A row of the column's target table.
    case key(RowKey)
    /// A row of another table, by its ``TableHandle/number``.
    case foreign(table: UInt32, RowKey)
    /// A list.
    case list([KeyTree])
    /// A dictionary.
    case named([Entry])

    /// An entry of a dictionary.
    public struct Entry: Sendable, Hashable {
        /// The key of the entry.
        public let name: Value
        /// The tree of the entry.
        public let tree: KeyTree

        /// Makes an entry.
        public init(name: Value, tree: KeyTree) {
            self.name = name
            self.tree = tree
        }
    }

    /// The largest depth of nested lists.
    static let depthLimit = 16

    /// Decodes a tree; `nil` for invalid bytes.
    package init?(_ bytes: [UInt8]) {
        var source = KeyTreeSource(bytes)
        guard let tree = KeyTree(&source, depth: 0), source.isAtEnd else { return nil }
        self = tree
    }

    /// The encoded tree.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// The keys of a list of rows of the target table; `nil` for another form.
    package var listedKeys: [RowKey]? {
        guard case .list(let trees) = self else { return nil }
        var keys: [RowKey] = []
        keys.reserveCapacity(trees.count)
        for tree in trees {
            guard case .key(let key) = tree else { return nil }
            keys.append(key)
        }
        return keys
    }

    /// All keys, in order.
    package var keys: [RowKey] {
        var keys: [RowKey] = []
        forEachKey { _, key in keys.append(key) }
        return keys
    }

    /// Calls a closure with each key, in order; table 0 is the column's target table.
    package func forEachKey(_ body: (_ table: UInt32, RowKey) -> Void) {
        switch self {
        case .key(let key): body(0, key)
        case .foreign(let table, let key): body(table, key)
        case .list(let trees): for tree in trees { tree.forEachKey(body) }
        case .named(let entries): for entry in entries { entry.tree.forEachKey(body) }
        }
    }

    /// Returns the tree without some keys; `nil` if it is one of them. Lists close the gap, and dictionaries lose the
    /// entry.
    package func removing(_ isGone: (_ table: UInt32, RowKey) -> Bool) -> KeyTree? {
        switch self {
        case .key(let key): isGone(0, key) ? nil : self
        case .foreign(let table, let key): isGone(table, key) ? nil : self
        case .list(let trees): .list(trees.compactMap { $0.removing(isGone) })
        case .named(let entries):
            .named(
                entries.compactMap { entry in entry.tree.removing(isGone).map { Entry(name: entry.name, tree: $0) } })
        }
    }
}

extension KeyTree {
    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .key(let key): KeyTree.append(key, to: &bytes)
        case .foreign(let table, let key):
            bytes.append(3)
            for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: table >> shift)) }
            KeyTree.append(key, to: &bytes)
        case .list(let trees):
            bytes.append(4)
            KeyTree.append(UInt64(trees.count), to: &bytes)
            for tree in trees { tree.append(to: &bytes) }
        case .named(let entries):
            bytes.append(5)
            KeyTree.append(UInt64(entries.count), to: &bytes)
            for entry in entries {
                var name = KeyBuffer()
                name.append(entry.name)
                KeyTree.append(UInt64(name.count + 1), to: &bytes)
                bytes.append(KeyTree.type(ofName: entry.name).rawValue)
                bytes.append(contentsOf: name.raw)
                entry.tree.append(to: &bytes)
            }
        }
    }

    private static func append(_ key: RowKey, to bytes: inout [UInt8]) {
        switch key {
        case .rowID(let id):
            bytes.append(1)
            append(UInt64(bitPattern: id << 1 ^ id >> 63), to: &bytes)
        case .bytes(let content):
            bytes.append(2)
            append(UInt64(content.count), to: &bytes)
            bytes.append(contentsOf: content)
        }
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 128 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Returns the column type that a dictionary's key is encoded as.
    private static func type(ofName name: Value) -> ColumnType {
        switch name {
        case .null, .blob: .blob
        case .bool: .bool
        case .integer: .integer
        case .unsigned: .unsigned
        case .double: .double
        case .text: .text
        case .date: .date
        case .uuid: .uuid
        }
    }

    private init?(_ source: inout KeyTreeSource, depth: Int) {
        guard depth < KeyTree.depthLimit, let tag = source.byte() else { return nil }
        switch tag {
        case 1, 2:
            guard let key = KeyTree.key(tag, &source) else { return nil }
            self = .key(key)
        case 3:
            guard let table = source.fixed(), let tag = source.byte(), let key = KeyTree.key(tag, &source) else {
                return nil
            }
            self = .foreign(table: table, key)
        case 4:
            guard let count = source.count() else { return nil }
            var trees: [KeyTree] = []
            for _ in 0..<count {
                guard let tree = KeyTree(&source, depth: depth + 1) else { return nil }
                trees.append(tree)
            }
            self = .list(trees)
        case 5:
            guard let count = source.count() else { return nil }
            var entries: [Entry] = []
            for _ in 0..<count {
                guard let name = KeyTree.name(&source), let tree = KeyTree(&source, depth: depth + 1) else {
                    return nil
                }
                entries.append(Entry(name: name, tree: tree))
            }
            self = .named(entries)
        default: return nil
        }
    }

    private static func key(_ tag: UInt8, _ source: inout KeyTreeSource) -> RowKey? {
        switch tag {
        case 1:
            guard let number = source.number() else { return nil }
            return .rowID(Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1))
        case 2: return source.bytes().map { .bytes($0) }
        default: return nil
        }
    }

    private static func name(_ source: inout KeyTreeSource) -> Value? {
        guard let bytes = source.bytes(), let first = bytes.first, let type = ColumnType(rawValue: first) else {
            return nil
        }
        var decoder = KeyDecoder(Array(bytes.dropFirst()))
        guard let value = decoder.next(type), decoder.isAtEnd else { return nil }
        return value
    }
}

/// Decodes a tree; every read is checked.
private struct KeyTreeSource {
    private let content: [UInt8]
    private var place = 0

    init(_ content: [UInt8]) { self.content = content }

    var isAtEnd: Bool { place == content.count }

    mutating func byte() -> UInt8? {
        guard place < content.count else { return nil }
        place += 1
        return content[place - 1]
    }

    mutating func number() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = byte(), shift < 63 || byte < 2 else { return nil }
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return number }
        }
        return nil
    }

    mutating func fixed() -> UInt32? {
        var number: UInt32 = 0
        for shift: UInt32 in [0, 8, 16, 24] {
            guard let byte = byte() else { return nil }
            number |= UInt32(byte) << shift
        }
        return number
    }

    /// Reads a count of elements, each of which takes at least one byte.
    mutating func count() -> Int? {
        guard let number = number(), number <= UInt64(content.count - place) else { return nil }
        return Int(number)
    }

    mutating func bytes() -> [UInt8]? {
        guard let count = count() else { return nil }
        place += count
        return Array(content[place - count..<place])
    }
}
