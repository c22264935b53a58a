// The bytes of a row. All numbers are little endian and unaligned.
//
//   offset  size         field
//   0       1            format, 1
//   1       1            0
//   2       2            n: the number of columns of the row (ordinals 0 ..< n)
//   4       4            the schema version of the writer
//   8       …            n slots: bool 1 byte, uuid 16 (two big-endian halves as numbers), all others 8;
//                        text and blob: offset in the heap (4), length (4)
//   …       (n + 7) / 8  the NULL bitmap, one bit for each column (the slot of a NULL is zero)
//   …       …            heap: the bytes of texts and blobs
//
// The ordinal and the type of a column never change (a column with a new type gets a new ordinal), so that the offset
// of a slot depends on the ordinal alone: a field is found in O(1). A row written before a column was added has a
// smaller n.

/// The position of a column in a row.
@frozen @usableFromInline
struct ColumnSlot {
    @usableFromInline let offset: UInt32
    @usableFromInline let ordinal: UInt16
    @usableFromInline let type: ColumnType

    @usableFromInline
    init(offset: UInt32, ordinal: UInt16, type: ColumnType) {
        self.offset = offset
        self.ordinal = ordinal
        self.type = type
    }
}

/// The mapping of positions `0 ..< count`, in an order chosen by the reader, to the columns of a table.
///
/// Returned by ``TableHandle/layout`` and ``TableHandle/layout(for:)``. Immutable, cheap to retain and to share.
@usableFromInline
package final class RowLayout: @unchecked Sendable {
    // Unchecked: the memory is initialized in `init`, freed in `deinit` and immutable in between.

    /// The number of positions.
    @usableFromInline package let count: Int
    /// For each of the caller's positions, the start of its columns beyond the first; and the end of the last of them.
    /// Empty if each position has one column.
    private let furtherPositions: [Int]
    /// The names of the columns, by position.
    package let names: [String]
    package let table: String
    let tableID: UInt32
    let version: UInt32
    /// All columns that the table has ever had, by ordinal.
    let columns: [ColumnSchema]

    /// One for each position, and one for an invalid position.
    @usableFromInline let slots: UnsafeMutablePointer<ColumnSlot>
    /// The same for texts and blobs only; the others are invalid.
    let textSlots: UnsafeMutablePointer<ColumnSlot>
    /// The texts and blobs among the first 64 positions, as bits; without the last of these if there are more.
    private let textPositions: UInt64
    /// The number of ordinals that the table has assigned.
    @usableFromInline let columnCount: Int
    /// The end of the slots of a row, by its number of columns.
    @usableFromInline let slotEnds: UnsafeMutablePointer<UInt32>
    /// The slots of texts and blobs, by ordinal.
    @usableFromInline let variables: UnsafeMutablePointer<ColumnSlot>
    @usableFromInline let variableCount: Int
    /// By ordinal.
    let allSlots: UnsafeMutablePointer<ColumnSlot>
    /// Whether a column must have a value, by ordinal.
    let required: UnsafeMutablePointer<Bool>
    /// The same for the first 64 ordinals, as bits.
    let requiredBits: UInt64
    /// The texts and blobs among the first 64 ordinals, as bits.
    let variableBits: UInt64
    /// Whether the table has dropped columns, whose values are removed when a row is next written.
    let hasDeadColumns: Bool
    /// A row of fill values, for columns that were added after a row was written.
    @usableFromInline private(set) var defaults: UnsafeMutableRawBufferPointer

    @usableFromInline static var headerSize: Int { 8 }
    static let format: UInt8 = 1

    /// - Parameters:
    ///   - id: the number of the table.
    ///   - columns: all columns that the table has ever had, by ordinal.
    ///   - further: for each position, its columns beyond the first.
    init(
        _ schema: EntitySchema, id: UInt32, columns: [ColumnSchema], positions: [ColumnSchema?],
        further: [[ColumnSchema]] = []
    ) {
        var starts: [Int] = []
        if further.contains(where: { !$0.isEmpty }) {
            starts.append(positions.count)
            for list in further { starts.append(starts[starts.count - 1] + list.count) }
        }
        furtherPositions = starts
        let positions = positions + further.flatMap { $0 }
        table = schema.name
        tableID = id
        version = UInt32(truncatingIfNeeded: schema.version)
        self.columns = columns
        count = positions.count
        names = positions.map { $0?.name ?? "" }
        columnCount = columns.count
        slots = .allocate(capacity: count + 1)
        textSlots = .allocate(capacity: count + 1)
        slotEnds = .allocate(capacity: columnCount + 1)
        variables = .allocate(capacity: columnCount + 1)
        allSlots = .allocate(capacity: columnCount + 1)
        required = .allocate(capacity: columnCount + 1)
        var end = RowLayout.headerSize
        var variableCount = 0
        var requiredBits: UInt64 = 0
        var variableBits: UInt64 = 0
        for (ordinal, column) in columns.enumerated() {
            let slot = ColumnSlot(
                offset: UInt32(truncatingIfNeeded: end), ordinal: UInt16(truncatingIfNeeded: ordinal), type: column.type
            )
            allSlots[ordinal] = slot
            slotEnds[ordinal] = UInt32(truncatingIfNeeded: end)
            required[ordinal] = !column.isOptional && !column.isRetired
            if required[ordinal] && ordinal < 64 { requiredBits |= 1 << UInt64(ordinal) }
            if column.type.isVariable {
                variables[variableCount] = slot
                variableCount += 1
                if ordinal < 64 { variableBits |= 1 << UInt64(ordinal) }
            }
            end += column.type.slotWidth
        }
        slotEnds[columnCount] = UInt32(truncatingIfNeeded: end)
        self.variableCount = variableCount
        self.requiredBits = requiredBits
        self.variableBits = variableBits
        hasDeadColumns = columns.contains(where: \.isDead)
        let none = ColumnSlot(offset: 0, ordinal: .max, type: .bool)
        for (position, column) in positions.enumerated() {
            if let column { slots[position] = allSlots[column.ordinal] } else { slots[position] = none }
        }
        slots[count] = none
        var textPositions: UInt64 = 0
        for position in 0...count {
            let isText = slots[position].type.isVariable
            textSlots[position] = isText ? slots[position] : none
            if isText && position < 64 { textPositions |= 1 << UInt64(position) }
        }
        // Bit 63 is the position and all behind it: one of these may be no text.
        if count > 64 { textPositions &= ~(1 << 63) }
        self.textPositions = textPositions

        defaults = .init(start: nil, count: 0)
        var writer = RowWriter()
        let bytes = writer.writeDefaults(of: self)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        copy.copyMemory(from: bytes)
        defaults = copy
    }

    /// Makes a layout of some columns of a table.
    convenience init(_ record: TableRecord, positions: [ColumnSchema?]) {
        self.init(record.schema, id: record.id, columns: record.columns, positions: positions)
    }

    /// Makes a layout without columns, for expressions that read no row.
    static func blank() -> RowLayout {
        RowLayout(EntitySchema(name: "", columns: [], key: .columns([])), id: 0, columns: [], positions: [])
    }

    deinit {
        slots.deallocate()
        textSlots.deallocate()
        slotEnds.deallocate()
        variables.deallocate()
        allSlots.deallocate()
        required.deallocate()
        defaults.deallocate()
    }

    /// Returns the position of a column by its name, or `nil`.
    package func position(of name: String) -> Int? { names.firstIndex(of: name) }

    /// Returns the position of one of the columns of a position: the first is at the position itself, the others follow
    /// all positions. A missing part has the invalid position, which reads as NULL and ignores values.
    package func position(ofPart part: Int, at position: Int) -> Int {
        if part == 0 { return position }
        guard part > 0, position >= 0, position + 1 < furtherPositions.count else { return count }
        let place = furtherPositions[position] + part - 1
        return place < furtherPositions[position + 1] ? place : count
    }

    /// Returns the number of columns that a position has beyond its first.
    func furtherCount(at position: Int) -> Int {
        guard position >= 0, position + 1 < furtherPositions.count else { return 0 }
        return furtherPositions[position + 1] - furtherPositions[position]
    }

    /// Returns the end of the slot of the last text or blob in a row with this many columns.
    func textsEnd(columns: Int) -> UInt32 {
        var index = variableCount - 1
        while index >= 0, Int(variables[index].ordinal) >= columns { index -= 1 }
        return index < 0 ? UInt32(RowLayout.headerSize) : slotEnds[Int(variables[index].ordinal) + 1]
    }

    /// Returns whether all of these positions, given as bits, are texts or blobs. Bit 63 is position 63 and all behind
    /// it.
    @usableFromInline
    package func areTexts(_ positions: UInt64) -> Bool { positions & ~textPositions == 0 }

    /// Returns the type of the column at a position.
    @usableFromInline
    package func type(_ position: Int) -> ColumnType { slot(position).type }

    @inlinable @inline(__always)
    func slot(_ position: Int) -> ColumnSlot {
        slots[UInt(bitPattern: position) < UInt(bitPattern: count) ? position : count]
    }

    /// Returns the column at a position, for errors.
    func column(_ position: Int) -> ColumnSchema? {
        let ordinal = Int(slot(position).ordinal)
        return ordinal < columnCount ? columns[ordinal] : nil
    }
}
