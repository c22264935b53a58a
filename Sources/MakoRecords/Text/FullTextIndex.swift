import MakoStorage

// A full-text index is a byte tree. Rows have numbers: the row id with its highest bit inverted, which preserves the
// order of the ids; in a table with byte keys a number assigned when the row is indexed. Numbers in keys are big
// endian.
//
//   00                     format (1) = 1; then as LEB128 numbers: rows, numbers assigned, and the words of each column
//   01 number>>6 (8)       lengths of rows: for each, ascending, the low 6 bits of its number (1) and the number of
//                          words of each column
//   02 word                postings of the word (Postings.swift), the first row relative to 80 00 00 00 00 00 00 00
//   02 word 00 number (8)  further postings, relative to this number; a word contains no byte 00
//   03 key                 of a byte key: the row's number (8); a key above 700 bytes is its first 684 and a hash
//   04 number (8)          the byte key of a row

/// A full-text index of some columns.
final class FullTextIndex: Sendable {
    static let format: UInt8 = 1
    /// The implied number in the key of a word's first chunk.
    static let firstBase: UInt64 = 1 << 63
    /// The size in bytes from which on a chunk is split.
    static let chunkLimit = 256
    /// The number of bits of a row's number within a block of lengths.
    static let lengthShift: UInt64 = 6

    let id: UInt32
    let schema: IndexSchema
    let table: String
    /// The schema of the table, for keys in errors.
    private let rows: EntitySchema
    let tree: Tree
    let slots: [ColumnSlot]
    let columns: ColumnSet
    let options: FullTextOptions
    /// The number of bits of a column's index.
    let columnBits: UInt64
    let isRowID: Bool

    /// - Parameter layout: that of all live columns of the table.
    init(
        _ stored: TableRecord.Index, _ options: FullTextOptions, of table: EntitySchema, _ tree: Tree,
        _ layout: RowLayout
    ) {
        id = stored.id
        schema = stored.schema
        self.table = table.name
        rows = table
        self.tree = tree
        self.options = options
        isRowID = table.idColumn != nil
        slots = stored.schema.columns.compactMap { layout.position(of: $0.name) }.map { layout.slots[$0] }
        var columns = ColumnSet()
        for slot in slots { columns.insert(Int(slot.ordinal)) }
        self.columns = columns
        var bits: UInt64 = 0
        while 1 << bits < slots.count { bits += 1 }
        columnBits = bits
    }

    /// Returns whether two rows have the same indexed texts.
    func isSame(_ old: RowReader, _ new: RowReader) -> Bool { slots.allSatisfy { old.isSame($0, as: new) } }

    func damaged(_ reason: String) -> RecordError {
        .indexDamaged(table: table, index: schema.name, reason: reason)
    }

    func unknown(_ row: RowKey) -> RecordError { damaged("it does not know row \(row.text(in: rows))") }

    // MARK: Keys

    static let totalsKey: [UInt8] = [0]

    static func lengthKey(_ block: UInt64, into key: inout KeyBuffer) {
        key.clear()
        key.append(byte: 1)
        key.append(bigEndian: block)
    }

    /// The first byte of the keys of words.
    static let wordMark: UInt8 = 2

    /// Encodes the key of a word's first chunk.
    static func termKey(_ term: UnsafeRawBufferPointer, into key: inout KeyBuffer) {
        key.clear()
        key.append(byte: wordMark)
        key.append(raw: term)
    }

    /// Turns the key of a first chunk into that of a further one.
    static func appendChunk(_ row: UInt64, to key: inout KeyBuffer) {
        key.append(byte: 0)
        key.append(bigEndian: row)
    }

    static func rowKey(_ key: [UInt8]) -> [UInt8] {
        var buffer = KeyBuffer([3])
        if key.count <= KeyHash.longestWhole {
            key.withUnsafeBytes { buffer.append(raw: $0) }
        } else {
            key.withUnsafeBytes { buffer.append(raw: .init(rebasing: $0[..<KeyHash.keptBytes])) }
            KeyHash.append(of: key[KeyHash.keptBytes...], to: &buffer)
        }
        return buffer.bytes
    }

    static func numberKey(_ row: UInt64) -> [UInt8] {
        var buffer = KeyBuffer([4])
        buffer.append(bigEndian: row)
        return buffer.bytes
    }

    /// Returns the base number of a chunk from its key; `nil` if it is not one of this word.
    @inline(__always)
    static func base(of key: UnsafeRawBufferPointer, term: UnsafeRawBufferPointer) -> UInt64? {
        let length = term.count &+ 1
        guard key.count >= length, key[0] == wordMark else { return nil }
        guard KeyOrder.compareRaw(UnsafeRawBufferPointer(rebasing: key[1..<length]), term) == 0 else { return nil }
        if key.count == length { return firstBase }
        guard key.count == length &+ 9, key[length] == 0 else { return nil }
        var number: UInt64 = 0
        for place in (length &+ 1)..<key.count { number = number << 8 | UInt64(key[place]) }
        return number
    }

    // MARK: Rows

    /// Returns the number of a row; `nil` if the row is not indexed.
    func number(of key: RowKey, in view: Snapshot) throws(RecordError) -> UInt64? {
        switch key {
        case .rowID(let id): return KeyOrder.treeKey(id)
        case .bytes(let bytes):
            let stored = try engine { () throws(StorageError) in try view.get(FullTextIndex.rowKey(bytes), in: tree) }
            guard let stored else { return nil }
            guard stored.count == 8 else { throw damaged("a row's number has \(stored.count) bytes") }
            return stored.reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// Returns the key of a row by its number.
    func key(of row: UInt64, in view: Snapshot) throws(RecordError) -> RowKey {
        if isRowID { return .rowID(KeyOrder.rowID(row)) }
        let stored = try engine { () throws(StorageError) in try view.get(FullTextIndex.numberKey(row), in: tree) }
        guard let stored else { throw damaged("it names row number \(row), which it does not know") }
        return .bytes(stored)
    }
}

/// The number of rows and words in an index.
struct TextTotals: Equatable {
    var rows: UInt64 = 0
    /// The next number for a row of a table with byte keys.
    var nextNumber: UInt64 = FullTextIndex.firstBase
    var words: [UInt64]

    init(_ index: FullTextIndex) { words = Array(repeating: 0, count: index.slots.count) }

    init(_ index: FullTextIndex, in view: Snapshot) throws(RecordError) {
        self.init(index)
        let stored = try engine { () throws(StorageError) in try view.get(FullTextIndex.totalsKey, in: index.tree) }
        guard let stored else { return }
        guard stored.first == FullTextIndex.format else { throw index.damaged("it has another format") }
        let isWhole = stored.withUnsafeBytes { bytes in
            var numbers = NumberReader(bytes, at: 1)
            guard let rows = numbers.next(), let next = numbers.next() else { return false }
            self.rows = rows
            nextNumber = FullTextIndex.firstBase &+ next
            for column in words.indices {
                guard let count = numbers.next() else { return false }
                words[column] = count
            }
            return numbers.isAtEnd
        }
        if !isWhole { throw index.damaged("its totals cannot be read") }
    }

    var encoded: [UInt8] {
        var buffer = KeyBuffer([FullTextIndex.format])
        buffer.append(varint: rows)
        buffer.append(varint: nextNumber &- FullTextIndex.firstBase)
        for count in words { buffer.append(varint: count) }
        return buffer.bytes
    }

    mutating func add(_ lengths: ArraySlice<UInt64>) {
        rows &+= 1
        for (column, length) in zip(words.indices, lengths) { words[column] &+= length }
    }

    mutating func remove(_ lengths: [UInt64]) {
        rows &-= 1
        for column in words.indices { words[column] &-= lengths[column] }
    }

    func store(_ index: FullTextIndex, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let bytes = encoded
        try engine { () throws(StorageError) in try tx.put(bytes, for: FullTextIndex.totalsKey, in: index.tree) }
    }
}
