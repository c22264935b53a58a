import MakoStorage

/// The lengths of the rows of one block: the number of words of each column.
struct LengthBlock {
    private(set) var rows: [UInt8] = []
    /// The lengths of all columns, row by row.
    private(set) var lengths: [UInt64] = []
    private let columns: Int

    init(columns: Int) { self.columns = columns }

    /// Decodes a block; `nil` for invalid bytes.
    init?(_ bytes: UnsafeRawBufferPointer, columns: Int) {
        self.init(columns: columns)
        var numbers = NumberReader(bytes)
        while !numbers.isAtEnd {
            let row = bytes[numbers.place]
            guard row < 64, rows.last.map({ $0 < row }) ?? true else { return nil }
            numbers.skip(1)
            rows.append(row)
            for _ in 0..<columns {
                guard let length = numbers.next() else { return nil }
                lengths.append(length)
            }
        }
    }

    var encoded: [UInt8] {
        var buffer = KeyBuffer()
        for (place, row) in rows.enumerated() {
            buffer.append(byte: row)
            for column in 0..<columns { buffer.append(varint: lengths[place * columns + column]) }
        }
        return buffer.bytes
    }

    func lengths(of place: Int) -> ArraySlice<UInt64> { lengths[place * columns..<(place + 1) * columns] }

    /// - Parameter new: the lengths; `nil` to remove the row.
    mutating func set(_ row: UInt8, _ new: ArraySlice<UInt64>?) {
        var place = rows.count
        while place > 0, rows[place - 1] >= row { place -= 1 }
        if place == rows.count, let new {
            rows.append(row)
            lengths.append(contentsOf: new)
            return
        }
        let isThere = place < rows.count && rows[place] == row
        let range = place * columns..<(isThere ? place + 1 : place) * columns
        lengths.replaceSubrange(range, with: new ?? [])
        if isThere && new == nil { rows.remove(at: place) }
        if !isThere && new != nil { rows.insert(row, at: place) }
    }
}

extension FullTextIndex {
    static func block(of row: UInt64) -> UInt64 { row >> lengthShift }

    /// Returns the low bits of a row's number, its index in the block.
    static func place(of row: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: row & (1 << lengthShift - 1)) }

    func lengthBlock(_ block: UInt64, _ view: Snapshot) throws(RecordError) -> LengthBlock {
        var key = KeyBuffer()
        FullTextIndex.lengthKey(block, into: &key)
        let found: LengthBlock? = try recorded {
            try view.withValue(of: key.bytes, in: tree) { bytes in
                guard let block = LengthBlock(bytes, columns: slots.count) else {
                    throw damaged("the lengths of rows cannot be read")
                }
                return block
            }
        }
        return found ?? LengthBlock(columns: slots.count)
    }

    func store(_ lengths: LengthBlock, _ block: UInt64, _ tx: borrowing WriteTransaction) throws(RecordError) {
        var buffer = KeyBuffer()
        FullTextIndex.lengthKey(block, into: &buffer)
        let key = buffer.bytes
        let bytes = lengths.encoded
        do throws(StorageError) {
            if bytes.isEmpty { _ = try tx.delete(key, in: tree) } else { try tx.put(bytes, for: key, in: tree) }
        } catch { throw .storage(error) }
    }

    func setLengths(_ row: UInt64, _ lengths: [UInt64]?, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let number = FullTextIndex.block(of: row)
        var block = try lengthBlock(number, tx.view)
        block.set(FullTextIndex.place(of: row), lengths.map { $0[...] })
        try store(block, number, tx)
    }
}
