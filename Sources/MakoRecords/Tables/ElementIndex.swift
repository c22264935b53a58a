import MakoStorage

// The entries of an index of a column of keys are keys of a byte tree. A row has one for each distinct key in the
// column:
//
//   element   00 a row id, 01 a byte key; 02 and 03 the same for a row of another table than the column's target,
//             followed by that table's number (4, big endian); then the held key: a row id as 8 big-endian bytes,
//             a byte key as it is, or above 700 bytes its first 684 and a 128-bit hash of the rest
//   row       the row's own key, as in other indexes: a row id as 8 big-endian bytes, a byte key up to 64 bytes as
//             it is, a longer one as a hash
//
// The value of an entry is the row's own key if that is a byte key, otherwise empty.

/// The index of a column of keys: finds the rows that hold a key.
final class ElementIndex: Sendable {
    let id: UInt32
    let schema: IndexSchema
    let tree: Tree
    let slot: ColumnSlot
    let columns: ColumnSet
    let hasKeyInValue: Bool

    init(id: UInt32, schema: IndexSchema, tree: Tree, slot: ColumnSlot, hasKeyInValue: Bool) {
        self.id = id
        self.schema = schema
        self.tree = tree
        self.slot = slot
        var columns = ColumnSet()
        columns.insert(Int(slot.ordinal))
        self.columns = columns
        self.hasKeyInValue = hasKeyInValue
    }

    /// Returns the encoding of a held key.
    static func element(_ table: UInt32, _ key: RowKey) -> [UInt8] {
        var bytes: [UInt8] = [(table == 0 ? 0 : 2) + (key.rowID == nil ? 1 : 0)]
        if table != 0 {
            for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: table >> shift)) }
        }
        switch key {
        case .rowID(let id): append(KeyOrder.treeKey(id), to: &bytes)
        case .bytes(let key) where key.count <= KeyHash.longestWhole: bytes += key
        case .bytes(let key):
            bytes += key[..<KeyHash.keptBytes]
            appendHash(of: key[KeyHash.keptBytes...], to: &bytes)
        }
        return bytes
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    private static func appendHash(of content: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        var hash = KeyBuffer()
        KeyHash.append(of: content, to: &hash)
        bytes += hash.bytes
    }

    /// Returns the encodings of the keys that a row holds, ascending, each once; `nil` if the column's bytes are not a
    /// key tree.
    func elements(_ row: RowReader) -> [[UInt8]]? {
        guard case .blob(let bytes) = row.value(slot) else { return [] }
        guard let tree = KeyTree(bytes) else { return nil }
        var elements: [[UInt8]] = []
        tree.forEachKey { elements.append(ElementIndex.element($0, $1)) }
        elements.sort(by: KeyOrder.precedes)
        var last: [UInt8]?
        elements.removeAll { element in
            defer { last = element }
            return element == last
        }
        return elements
    }

    /// Returns whether the row's keys can be decoded.
    func isTree(_ row: RowReader) -> Bool {
        guard case .blob(let bytes) = row.value(slot) else { return true }
        return KeyTree(bytes) != nil
    }

    func entry(_ element: [UInt8], _ key: RowKey) -> [UInt8] {
        var bytes = element
        switch key {
        case .rowID(let id): ElementIndex.append(KeyOrder.treeKey(id), to: &bytes)
        case .bytes(let key) where key.count <= IndexHandle.longRowKey: bytes += key
        case .bytes(let key): ElementIndex.appendHash(of: key[...], to: &bytes)
        }
        return bytes
    }

    func value(_ key: RowKey) -> [UInt8] {
        if hasKeyInValue, case .bytes(let bytes) = key { return bytes }
        return []
    }
}

extension TableHandle {
    /// Returns the rows whose column of keys holds a key, in no particular order.
    ///
    ///     let owners = try people.keys(holding: .rowID(7), in: "friends", view: tx.view)
    ///
    /// - Parameters:
    ///   - table: the number of the held row's table, if it is not the column's target.
    ///   - column: the column's name; the result is empty for a column of another type.
    ///   - limit: the largest number of rows; `nil` for no limit.
    package func keys(
        holding key: RowKey, ofTable table: UInt32 = 0, in column: String, view: Snapshot, limit: Int? = nil
    ) throws(RecordError) -> [RowKey] {
        guard let index = elementIndexes.first(where: { $0.schema.columns.first?.name == column }) else { return [] }
        let element = ElementIndex.element(table, key)
        var found: [RowKey] = []
        do throws(StorageError) {
            var cursor = try view.cursor(in: index.tree)
            var isThere = try cursor.seek(element)
            while isThere, found.count != limit {
                let entry = cursor.key
                guard entry.starts(with: element) else { break }
                found.append(
                    isRowID
                        ? .rowID(KeyOrder.rowID(entry.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }))
                        : .bytes(try cursor.value()))
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return found
    }

    /// Checks that a row's columns of keys can be decoded.
    ///
    /// - Parameter changed: the columns to check.
    func checkElements(_ row: RowReader, _ changed: ColumnSet = .all) throws(RecordError) {
        for index in elementIndexes where changed.intersects(index.columns) && !index.isTree(row) {
            throw .typeMismatch(
                table: schema.name, column: index.schema.columns[0].name, expected: .keys,
                found: row.value(index.slot).description)
        }
    }

    /// Checks a stored row before any index is changed: it must not be updated if its keys cannot be decoded.
    func checkStoredElements(_ row: RowReader, _ key: RowKey) throws(RecordError) {
        for index in elementIndexes where !index.isTree(row) {
            throw .rowDamaged(
                table: schema.name, key: NamedKey(key, in: schema),
                reason: "\(index.schema.columns[0].name) holds bytes that are no keys")
        }
    }

    func elements(_ index: ElementIndex, _ row: RowReader, _ key: RowKey) throws(RecordError) -> [[UInt8]] {
        if let elements = index.elements(row) { return elements }
        throw .rowDamaged(
            table: schema.name, key: NamedKey(key, in: schema),
            reason: "\(index.schema.columns[0].name) holds bytes that are no keys")
    }

    /// Inserts the entries of keys that a row holds now, and removes those of keys that it no longer holds.
    func updateElements(_ change: RowChange, _ tx: borrowing WriteTransaction) throws(RecordError) {
        for index in elementIndexes {
            if let old = change.old, old.isSame(index.slot, as: change.new) { continue }
            let before = try change.old.map { (old) throws(RecordError) in try elements(index, old, change.key) } ?? []
            let after = try elements(index, change.new, change.key)
            let kept = Set(before).intersection(after)
            do throws(StorageError) {
                for element in before where !kept.contains(element) {
                    _ = try tx.delete(index.entry(element, change.key), in: index.tree)
                }
                for element in after where !kept.contains(element) {
                    try tx.put(index.value(change.key), for: index.entry(element, change.key), in: index.tree)
                }
            } catch { throw .storage(error) }
        }
    }

    /// Builds an index from the rows, in the order of its entries.
    func build(_ index: ElementIndex, in tx: borrowing WriteTransaction) throws(RecordError) {
        let entries = SpilledEntries(memory: tx.sideMemory)
        defer { tx.countSide(bytes: 0) }
        try recorded {
            try scan(in: tx.view) { key, row in
                for element in try elements(index, row, key) {
                    try entries.add(index.entry(element, key), index.value(key), tx)
                }
                return true
            }
        }
        try entries.forEach { (entry, value) throws(RecordError) in
            do throws(StorageError) { try tx.put(value, for: entry, in: index.tree) } catch { throw .storage(error) }
        }
    }

    /// Verifies an index against the rows.
    func verify(_ index: ElementIndex, in view: Snapshot) throws(RecordError) -> [String] {
        var findings: [String] = []
        var wanted: UInt64 = 0
        try recorded {
            try scan(in: view) { key, row in
                guard let elements = index.elements(row) else {
                    findings.append("\(schema.name): row \(key.text(in: schema)) holds no keys in \(index.schema.name)")
                    return true
                }
                for element in elements {
                    wanted += 1
                    if try view.get(index.entry(element, key), in: index.tree) != index.value(key) {
                        findings.append(
                            "\(schema.name): a key that row \(key.text(in: schema)) holds is missing in index "
                                + "\(index.schema.name)")
                    }
                }
                return true
            }
        }
        let entries = try engine { () throws(StorageError) in try view.count(of: index.tree) }
        if entries != wanted {
            findings.append(
                "\(schema.name): index \(index.schema.name) has \(entries) entries for \(wanted) held keys")
        }
        return findings
    }
}
