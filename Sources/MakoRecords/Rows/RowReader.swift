/// Reads the fields of one row from its bytes.
///
/// The reader borrows the bytes and the layout: it is valid inside the closure that receives it, and must not escape.
/// The bytes are validated when the reader is made, so that no field is out of bounds. A field that is NULL or of
/// another type reads as `0`, `""`, `false` or `[]`; use ``isNull(_:)`` to tell these apart.
///
///     let name = try table.withRow(id: 42, in: view) { row in row.text(0) }
@frozen
public struct RowReader: @unchecked Sendable {
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let slots: UnsafeMutablePointer<ColumnSlot>
    @usableFromInline unowned(unsafe) let borrowedLayout: RowLayout
    @usableFromInline let slotCount: UInt32
    @usableFromInline let columnCount: UInt32
    @usableFromInline let nulls: UInt32
    @usableFromInline let heap: UInt32
    /// The number of bytes of the row.
    @usableFromInline let byteCount: UInt32
    /// Whether the row has every column and no NULL, so that each field is at the offset of its slot.
    @usableFromInline package let isPlain: Bool

    /// The bytes of the row.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: Int(byteCount)) }

    /// Validates the bytes: header, slots, texts and blobs are in bounds.
    ///
    /// - Throws: `RecordError.rowDamaged`.
    @inlinable @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer, _ layout: borrowing RowLayout) throws(RecordError) {
        guard let base = bytes.baseAddress, bytes.count >= 8,
            UInt16(littleEndian: base.loadUnaligned(as: UInt16.self)) == 1
        else { throw RowReader.damaged(layout, "its header is not one of a row") }
        let columns = Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        guard columns <= layout.columnCount else {
            throw RowReader.damaged(layout, "it has more columns than the schema")
        }
        let nulls = Int(layout.slotEnds[columns])
        let heap = nulls &+ (columns &+ 7) >> 3
        guard bytes.count >= heap else { throw RowReader.damaged(layout, "it ends before its columns do") }
        let room = UInt64(bytes.count &- heap)
        var index = 0
        while index < layout.variableCount {
            let slot = layout.variables[index]
            if Int(slot.ordinal) >= columns { break }
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: Int(slot.offset), as: UInt64.self))
            if (word & 0xFFFF_FFFF) &+ (word >> 32) > room {
                throw RowReader.damaged(layout, "a text or blob reaches beyond its end")
            }
            index &+= 1
        }
        self.base = base
        slots = layout.slots
        slotCount = UInt32(truncatingIfNeeded: layout.count)
        columnCount = UInt32(truncatingIfNeeded: columns)
        self.nulls = UInt32(truncatingIfNeeded: nulls)
        self.heap = UInt32(truncatingIfNeeded: heap)
        byteCount = UInt32(truncatingIfNeeded: bytes.count)
        var bits: UInt8 = 0
        var byte = nulls
        while byte < heap {
            bits |= base.load(fromByteOffset: byte, as: UInt8.self)
            byte &+= 1
        }
        isPlain = bits == 0 && columns == layout.columnCount
        borrowedLayout = copy layout
    }

    /// Makes a reader of a row that was validated before it was copied.
    ///
    /// - Parameter isPlain: that of the first reader, or `false`.
    @inlinable
    init(kept base: UnsafeRawPointer, _ layout: RowLayout, _ form: KeptForm, isPlain: Bool) {
        self.base = base
        slots = form.slots
        slotCount = UInt32(truncatingIfNeeded: layout.count)
        columnCount = UInt32(form.columns)
        nulls = form.nulls
        heap = form.nulls &+ (columnCount &+ 7) >> 3
        byteCount = 0
        self.isPlain = isPlain
        borrowedLayout = layout
    }

    @usableFromInline
    static func damaged(_ layout: RowLayout, _ reason: String) -> RecordError {
        .rowDamaged(table: layout.table, key: nil, reason: reason)
    }

    /// The bytes of the row, valid as long as the reader.
    var wholeRow: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: Int(byteCount)) }

    /// Returns the same row in another layout of its table.
    package func arranged(by layout: RowLayout) throws(RecordError) -> RowReader { try RowReader(wholeRow, layout) }

    /// The layout of the positions.
    @usableFromInline
    package var layout: RowLayout { borrowedLayout }

    @inlinable @inline(__always)
    func slot(_ position: Int) -> ColumnSlot {
        slots[UInt(bitPattern: position) < UInt(slotCount) ? position : Int(slotCount)]
    }

    /// Returns the address of a field, or `nil` if it is NULL.
    @inlinable @inline(__always)
    func address(_ slot: ColumnSlot) -> UnsafeRawPointer? { parts.address(slot) }

    /// The parts needed to find a field, passed in registers: passing a reader would write it to memory first.
    @inlinable @inline(__always)
    var parts: Parts { Parts(base: base, layout: .passUnretained(borrowedLayout), columns: columnCount, nulls: nulls) }

    @frozen @usableFromInline
    struct Parts {
        @usableFromInline let base: UnsafeRawPointer
        @usableFromInline let layout: Unmanaged<RowLayout>
        @usableFromInline let columns: UInt32
        @usableFromInline let nulls: UInt32

        @inlinable @inline(__always)
        init(base: UnsafeRawPointer, layout: Unmanaged<RowLayout>, columns: UInt32, nulls: UInt32) {
            self.base = base
            self.layout = layout
            self.columns = columns
            self.nulls = nulls
        }

        @inlinable @inline(__always)
        func address(_ slot: ColumnSlot) -> UnsafeRawPointer? {
            let ordinal = Int(slot.ordinal)
            if ordinal >= Int(columns) { return defaultAddress(slot) }
            let bit =
                base.load(fromByteOffset: Int(nulls) &+ ordinal >> 3, as: UInt8.self)
                >> UInt8(truncatingIfNeeded: ordinal & 7)
            return bit & 1 == 1 ? nil : base + Int(slot.offset)
        }

        /// The address of a column that was added after the row was written.
        @usableFromInline
        func defaultAddress(_ slot: ColumnSlot) -> UnsafeRawPointer? {
            layout._withUnsafeGuaranteedRef { layout in
                let ordinal = Int(slot.ordinal)
                guard ordinal < layout.columnCount, let row = layout.defaults.baseAddress else { return nil }
                let bitmap = Int(layout.slotEnds[layout.columnCount])
                let bit =
                    row.load(fromByteOffset: bitmap + ordinal >> 3, as: UInt8.self)
                    >> UInt8(truncatingIfNeeded: ordinal & 7)
                return bit & 1 == 1 ? nil : UnsafeRawPointer(row) + Int(slot.offset)
            }
        }

        @usableFromInline @inline(never)
        func integer(_ slot: ColumnSlot) -> Int64 {
            guard slot.type == .integer || slot.type == .reference || slot.type == .unsigned, let field = address(slot)
            else { return 0 }
            let number = Int64(bitPattern: RowReader.word(field))
            return slot.type == .unsigned && number < 0 ? 0 : number
        }

        @usableFromInline @inline(never)
        func unsigned(_ slot: ColumnSlot) -> UInt64 {
            guard slot.type == .unsigned || slot.type == .integer, let field = address(slot) else { return 0 }
            let number = RowReader.word(field)
            return slot.type == .integer && number >> 63 == 1 ? 0 : number
        }

        /// Returns a field of eight bytes if it has this type; otherwise 0.
        @usableFromInline @inline(never)
        func bits(_ slot: ColumnSlot, of type: ColumnType) -> UInt64 {
            guard slot.type == type, let field = address(slot) else { return 0 }
            return RowReader.word(field)
        }

        @usableFromInline @inline(never)
        func bool(_ slot: ColumnSlot) -> Bool {
            guard slot.type == .bool, let field = address(slot) else { return false }
            return field.load(as: UInt8.self) != 0
        }
    }

    /// Returns the bytes of a text, a blob or keys.
    @inlinable @inline(__always)
    func content(_ slot: ColumnSlot) -> UnsafeRawBufferPointer {
        guard slot.type.isVariable, let field = address(slot) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        let word = UInt64(littleEndian: field.loadUnaligned(as: UInt64.self))
        let start = slot.ordinal < columnCount ? base + Int(heap) : defaultHeap()
        return UnsafeRawBufferPointer(start: start + Int(word & 0xFFFF_FFFF), count: Int(word >> 32))
    }

    @usableFromInline
    func defaultHeap() -> UnsafeRawPointer {
        let layout = borrowedLayout
        let heap = Int(layout.slotEnds[layout.columnCount]) + (layout.columnCount + 7) / 8
        return layout.defaults.baseAddress.map { UnsafeRawPointer($0) + heap } ?? base
    }

    @inlinable @inline(__always)
    static func word(_ field: UnsafeRawPointer) -> UInt64 { UInt64(littleEndian: field.loadUnaligned(as: UInt64.self)) }

    @inlinable @inline(__always)
    func word(_ field: UnsafeRawPointer) -> UInt64 { RowReader.word(field) }
}

extension RowReader {
    /// Returns the position of one of the columns of a position, see ``RowLayout/position(ofPart:at:)``.
    package func position(ofPart part: Int, at position: Int) -> Int {
        borrowedLayout.position(ofPart: part, at: position)
    }

    /// Returns whether the field is NULL.
    @inlinable
    public func isNull(_ position: Int) -> Bool { address(slot(position)) == nil }

    /// Returns an integer or a reference, or an unsigned number if it fits.
    @inlinable @inline(__always)
    public func integer(_ position: Int) -> Int64 {
        let slot = slot(position)
        if isPlain, slot.type == .integer { return Int64(bitPattern: word(base + Int(slot.offset))) }
        return parts.integer(slot)
    }

    /// Returns an unsigned number, or an integer if it is not negative.
    @inlinable @inline(__always)
    public func unsigned(_ position: Int) -> UInt64 {
        let slot = slot(position)
        if isPlain, slot.type == .unsigned { return word(base + Int(slot.offset)) }
        return parts.unsigned(slot)
    }

    @inlinable @inline(__always)
    /// Returns a double.
    public func double(_ position: Int) -> Double {
        let slot = slot(position)
        if isPlain, slot.type == .double { return Double(bitPattern: word(base + Int(slot.offset))) }
        return Double(bitPattern: parts.bits(slot, of: .double))
    }

    /// Returns a date, in seconds since 2001-01-01 UTC.
    @inlinable @inline(__always)
    public func date(_ position: Int) -> Double {
        let slot = slot(position)
        if isPlain, slot.type == .date { return Double(bitPattern: word(base + Int(slot.offset))) }
        return Double(bitPattern: parts.bits(slot, of: .date))
    }

    @inlinable @inline(__always)
    /// Returns a boolean.
    public func bool(_ position: Int) -> Bool {
        let slot = slot(position)
        // The slot of an invalid position is a bool, too.
        if isPlain, slot.type == .bool, slot.ordinal != .max {
            return base.load(fromByteOffset: Int(slot.offset), as: UInt8.self) != 0
        }
        return parts.bool(slot)
    }

    /// Returns a text.
    @inlinable
    public func text(_ position: Int) -> String {
        let slot = slot(position)
        guard slot.type == .text else { return "" }
        return String(decoding: content(slot), as: UTF8.self)
    }

    /// Returns a copy of a blob, or of the bytes of keys.
    @inlinable
    public func blob(_ position: Int) -> [UInt8] {
        let slot = slot(position)
        guard slot.type == .blob || slot.type == .keys else { return [] }
        return [UInt8](content(slot))
    }

    /// Returns the two halves of a UUID.
    @inlinable
    public func uuid(_ position: Int) -> (high: UInt64, low: UInt64) {
        let slot = slot(position)
        guard slot.type == .uuid, let field = address(slot) else { return (0, 0) }
        return (word(field), word(field + 8))
    }

    /// Calls a closure with the bytes of a text or blob, without a copy; no bytes for NULL.
    @inlinable
    public func withText<R>(_ position: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(content(slot(position)))
    }

    /// Returns the field as a dynamic value.
    public func value(_ position: Int) -> Value { value(slot(position)) }

    func value(_ slot: ColumnSlot) -> Value {
        guard let field = address(slot) else { return .null }
        switch slot.type {
        case .bool: return .bool(field.load(as: UInt8.self) != 0)
        case .integer, .reference: return .integer(Int64(bitPattern: word(field)))
        case .unsigned: return .unsignedInteger(word(field))
        case .double: return .double(Double(bitPattern: word(field)))
        case .date: return .date(Double(bitPattern: word(field)))
        case .uuid: return .uuid(word(field), word(field + 8))
        case .text: return .text(String(decoding: content(slot), as: UTF8.self))
        case .blob, .keys: return .blob([UInt8](content(slot)))
        }
    }

    /// Returns whether a field is the same in two rows of one table.
    func isSame(_ slot: ColumnSlot, as other: RowReader) -> Bool {
        guard let mine = address(slot), let theirs = other.address(slot) else {
            return address(slot) == nil && other.address(slot) == nil
        }
        if slot.type.isVariable {
            let (own, others) = (content(slot), other.content(slot))
            return own.count == others.count && KeyOrder.compareRaw(own, others) == 0
        }
        switch slot.type.slotWidth {
        case 1: return mine.load(as: UInt8.self) == theirs.load(as: UInt8.self)
        case 8: return word(mine) == word(theirs)
        default: return word(mine) == word(theirs) && word(mine + 8) == word(theirs + 8)
        }
    }

    /// The NULL columns among the first 64, as bits of their ordinals.
    var nullBits: UInt64 {
        var bits: UInt64 = 0
        for place in 0..<min(8, Int(heap - nulls)) {
            bits |= UInt64(base.load(fromByteOffset: Int(nulls) + place, as: UInt8.self)) << UInt64(8 * place)
        }
        return bits
    }
}

extension KeyBuffer {
    /// Appends a field to a key, without an intermediate value.
    mutating func append(_ row: RowReader, _ slot: ColumnSlot, noCase: Bool = false) {
        guard let field = row.address(slot) else { return appendNull() }
        switch slot.type {
        case .integer, .reference: append(Int64(bitPattern: row.word(field)))
        case .unsigned: append(row.word(field))
        case .double, .date: append(Double(bitPattern: row.word(field)))
        case .bool: append(field.load(as: UInt8.self) != 0)
        case .uuid: append(high: row.word(field), low: row.word(field + 8))
        case .blob, .keys: append(row.content(slot))
        case .text: noCase ? appendFolded(row.content(slot)) : append(row.content(slot))
        }
    }
}
