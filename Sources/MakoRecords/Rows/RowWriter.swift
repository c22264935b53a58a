import MakoStorage

/// Encodes rows, one after the other, in memory that it reuses.
///
///     var row = RowWriter()
///     row.begin(table.layout)
///     row.set(0, "Ada")
///     row.set(1, Int64(36))
///     let key = try table.insert(&row, in: tx, changes: &changes)
///
/// An unset column gets its default in an insert, and keeps the stored value in an update. A value of the wrong type is
/// reported by the call that stores the row.
public struct RowWriter: ~Copyable, @unchecked Sendable {
    // Unchecked: this value owns the memory.

    var base: UnsafeMutableRawPointer
    private var capacity: Int
    private var count = 0
    private var heap = 0
    // One bit for each of the first 64 columns, by ordinal.
    var unset: UInt64 = 0
    var nulls: UInt64 = 0
    /// For columns beyond the first 64: 0 unset, 1 set, 2 NULL.
    var wideMarks: [UInt8] = []
    private(set) var layout: RowLayout?
    /// The number of the database, by which its cipher is found; 0 for none.
    package var database: UInt32 = 0
    // Those of the layout, which is not retained to set a column.
    private var slots: UnsafeMutablePointer<ColumnSlot>?
    private var slotCount = 0
    private var fault: RecordError?
    /// Deferred values.
    private var rest: [(inout RowWriter) throws -> Void] = []
    /// Whether there is a fault, or a deferred value; one flag, because it is tested for each row.
    private var hasFault = false
    /// Scratch memory for index keys and the replaced row.
    var keys = KeyBuffer()
    var oldKeys = KeyBuffer()
    private var oldRow: UnsafeMutableRawPointer?
    private var oldCapacity = 0

    /// Makes a writer without a row.
    package init() {
        capacity = 512
        base = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit {
        base.deallocate()
        oldRow?.deallocate()
    }

    /// Starts a row with all columns unset.
    package mutating func begin(_ layout: RowLayout) {
        if self.layout !== layout {
            self.layout = layout
            slots = layout.slots
            slotCount = layout.count
        }
        if hasFault {
            fault = nil
            rest = []
            hasFault = false
        }
        let columns = layout.columnCount
        heap = Int(layout.slotEnds[columns]) &+ (columns &+ 7) >> 3
        count = heap
        if heap > capacity { reserve(heap) }
        nulls = 0
        if columns <= 64 {
            unset = columns == 64 ? .max : 1 << UInt64(columns) &- 1
            if !wideMarks.isEmpty { wideMarks = [] }
        } else {
            unset = .max
            wideMarks = [UInt8](repeating: 0, count: columns - 64)
        }
        let header = UInt64(RowLayout.format) | UInt64(columns) << 16 | UInt64(layout.version) << 32
        base.storeBytes(of: header.littleEndian, as: UInt64.self)
    }

    /// Defers a value until ``writeRest()``, because making it may take locks that the caller holds now.
    @usableFromInline
    package mutating func writeLater(_ write: @escaping (inout RowWriter) throws -> Void) {
        rest.append(write)
        hasFault = true
    }

    /// Sets the deferred values.
    ///
    /// - Throws: the error of a closure.
    package mutating func writeRest() throws {
        if !hasFault || rest.isEmpty { return }
        let writes = rest
        rest = []
        hasFault = fault != nil
        for write in writes { try write(&self) }
    }

    /// Copies a field of another row of the table. The position is that of both layouts.
    mutating func copy(_ position: Int, from row: RowReader) {
        guard let slot = slot(position) else { return }
        copy(slot, from: row)
    }

    private mutating func copy(_ slot: ColumnSlot, from row: RowReader) {
        guard let field = row.address(slot) else { return storeNull(slot) }
        if slot.type.isVariable { return store(slot, content: row.content(slot)) }
        (base + Int(slot.offset)).copyMemory(from: field, byteCount: slot.type.slotWidth)
        mark(slot)
    }

    /// Copies columns of an older version of a row at once: slots, texts and blobs. No column may be set before.
    ///
    /// - Parameters:
    ///   - kept: the columns among the first 64 ordinals, as bits.
    ///   - emptied: the texts and blobs not to copy.
    /// - Returns: the first ordinal that the row is too old to have; 0 if the row cannot be copied so.
    mutating func takeOver(_ kept: UInt64, emptied: UInt64, of row: RowReader) -> Int {
        let slots = Int(row.nulls) &- RowLayout.headerSize
        let content = Int(row.byteCount) &- Int(row.heap)
        guard wideMarks.isEmpty, row.columnCount <= 64, slots >= 0, content >= 0, Int(row.nulls) <= heap else {
            return 0
        }
        let own: UInt64 = row.columnCount == 64 ? .max : 1 &<< UInt64(row.columnCount) &- 1
        let nullBits = row.nullBits
        guard emptied & own & ~nullBits == 0 else { return 0 }
        if count &+ content > capacity { reserve(count &+ content) }
        (base + RowLayout.headerSize).copyMemory(from: row.base + RowLayout.headerSize, byteCount: slots)
        (base + count).copyMemory(from: row.base + Int(row.heap), byteCount: content)
        count &+= content
        nulls = nullBits & kept & own
        unset &= ~(kept & own)
        return Int(row.columnCount)
    }

    /// Returns the row, with defaults in unset columns. Valid until the next ``begin(_:)``.
    package mutating func finish() throws(RecordError) -> UnsafeRawBufferPointer {
        guard let layout else { throw .invalidKey(table: "", reason: "the row was not begun") }
        return try finish(layout, over: nil)
    }

    /// Returns whether the row was begun with this version of a table.
    @inline(__always)
    mutating func isBegun(with layout: RowLayout) -> Bool {
        guard let own = self.layout else { return false }
        return own === layout || own.tableID == layout.tableID && own.version == layout.version
    }

    /// Returns the row, with the values of the replaced row in unset columns.
    ///
    /// - Parameter layout: one of the version the row was begun with.
    mutating func finish(_ layout: RowLayout, over old: RowReader?) throws(RecordError) -> UnsafeRawBufferPointer {
        if unset != 0 || !wideMarks.isEmpty {
            if let old, changesFixedWidth(of: old, layout) { layOver(old, layout) } else { fill(layout, from: old) }
        }
        if hasFault {
            if let fault { throw fault }
            throw .invalidKey(table: layout.table, reason: "values of the row were put off and not written")
        }
        if nulls & layout.requiredBits != 0 || !wideMarks.isEmpty {
            for ordinal in 0..<layout.columnCount where isNull(ordinal) && layout.required[ordinal] {
                throw .nullViolation(table: layout.table, column: layout.columns[ordinal].name)
            }
        }
        seal(layout)
        if count > Limits.valueBytes { throw tooLarge(layout) }
        return UnsafeRawBufferPointer(start: base, count: count)
    }

    /// Returns the error of a row that is too large, for its largest column.
    private func tooLarge(_ layout: RowLayout) -> RecordError {
        var largest = (column: "", bytes: 0)
        for ordinal in 0..<layout.columnCount where layout.columns[ordinal].type.isVariable {
            let slot = layout.allSlots[ordinal]
            // The length follows the offset.
            let bytes = Int(
                UInt32(littleEndian: base.loadUnaligned(fromByteOffset: Int(slot.offset) + 4, as: UInt32.self)))
            if bytes > largest.bytes { largest = (layout.columns[ordinal].name, bytes) }
        }
        return .tooLarge(largest.bytes, in: largest.column, of: layout.table)
    }

    /// Returns the table, and the first column of a position, for errors.
    package func names(of position: Int) -> (table: String, column: String) {
        guard let layout else { return ("", "\(position)") }
        return (layout.table, layout.column(position)?.name ?? "\(position)")
    }

    /// Records a value that a column cannot hold; the call that stores the row throws the error.
    package mutating func refuse(_ position: Int, because reason: String) {
        let (table, column) = names(of: position)
        fail(.valueRefused(table: table, column: column, reason: reason))
    }

    /// Returns a reader of the columns set so far, unset ones being NULL, to encode the key before the row is finished.
    package mutating func draft() throws(RecordError) -> RowReader? {
        guard let layout else { return nil }
        if let fault { throw fault }
        // A reader validates the slots of texts and blobs, NULL or not.
        for slot in UnsafeBufferPointer(start: layout.allSlots, count: layout.columnCount) where isUnset(slot) {
            memoryZero(base + Int(slot.offset), slot.type.slotWidth)
        }
        seal(layout)
        return try RowReader(UnsafeRawBufferPointer(start: base, count: count), layout)
    }

    func isUnset(_ slot: ColumnSlot) -> Bool {
        let ordinal = Int(slot.ordinal)
        return ordinal < 64 ? unset >> UInt64(ordinal) & 1 == 1 : wideMarks[ordinal - 64] == 0
    }

    /// Whether a column has got a value other than NULL.
    package func hasValue(at position: Int) -> Bool {
        guard let slot = slot(position) else { return false }
        return !isUnset(slot) && !isNull(Int(slot.ordinal))
    }

    func isNull(_ ordinal: Int) -> Bool {
        ordinal < 64 ? nulls >> UInt64(ordinal) & 1 == 1 : wideMarks[ordinal - 64] == 2
    }

    /// Whether the keys of the old row and the new one are equal.
    var hasSameKeys: Bool { KeyOrder.compareRaw(keys.raw, oldKeys.raw) == 0 }

    /// Copies the row to be replaced, because its page may change during index updates.
    mutating func keepOld(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let source = bytes.baseAddress else { return bytes }
        let memory: UnsafeMutableRawPointer
        if let oldRow, bytes.count <= oldCapacity {
            memory = oldRow
        } else {
            oldRow?.deallocate()
            oldCapacity = max(512, bytes.count * 2)
            memory = .allocate(byteCount: oldCapacity, alignment: 8)
            oldRow = memory
        }
        memory.copyMemory(from: source, byteCount: bytes.count)
        return UnsafeRawBufferPointer(start: memory, count: bytes.count)
    }

    /// Writes the NULL bitmap.
    private mutating func seal(_ layout: RowLayout) {
        let bitmap = Int(layout.slotEnds[layout.columnCount])
        let end = min(heap, bitmap &+ 8)
        var bits = nulls | unset
        var place = bitmap
        while place < end {
            base.storeBytes(of: UInt8(truncatingIfNeeded: bits), toByteOffset: place, as: UInt8.self)
            bits >>= 8
            place &+= 1
        }
        if wideMarks.isEmpty { return }
        for place in end..<heap {
            var bits: UInt8 = 0
            for (bit, mark) in wideMarks.dropFirst((place - end) * 8).prefix(8).enumerated() where mark != 1 {
                bits |= 1 << UInt8(bit)
            }
            base.storeBytes(of: bits, toByteOffset: place, as: UInt8.self)
        }
    }

    /// Returns the row of defaults, for columns that a row is too old to have.
    mutating func writeDefaults(of layout: RowLayout) -> UnsafeRawBufferPointer {
        begin(layout)
        for slot in UnsafeBufferPointer(start: layout.allSlots, count: layout.columnCount) {
            let column = layout.columns[Int(slot.ordinal)]
            store(slot, column.isDead ? .null : column.type.coerced(column.fill) ?? .null)
        }
        seal(layout)
        return UnsafeRawBufferPointer(start: base, count: count)
    }

    /// The set columns as bits of their ordinals, before `finish`; `nil` if an update may change others, too.
    // `mutating`, although it only reads: otherwise the whole writer is copied for the call.
    var written: UInt64? {
        mutating get {
            guard let layout, wideMarks.isEmpty, !layout.hasDeadColumns else { return nil }
            return ~unset & (layout.columnCount == 64 ? .max : 1 << UInt64(layout.columnCount) &- 1)
        }
    }

    /// Returns whether only fixed-width columns are set, in a row with the same columns as the replaced one.
    private mutating func changesFixedWidth(of old: RowReader, _ layout: RowLayout) -> Bool {
        guard let written, written & layout.variableBits == 0 else { return false }
        return Int(old.columnCount) == layout.columnCount && old.byteCount >= old.heap
    }

    /// Copies the bytes between the columns that are set, texts and blobs included.
    private mutating func layOver(_ old: RowReader, _ layout: RowLayout) {
        let end = Int(old.byteCount)
        if end > capacity { reserve(end) }
        var place = RowLayout.headerSize
        var rest = written ?? 0
        while rest != 0 {
            let slot = layout.allSlots[rest.trailingZeroBitCount]
            rest &= rest &- 1
            let start = Int(slot.offset)
            if start > place { (base + place).copyMemory(from: old.base + place, byteCount: start &- place) }
            place = start &+ slot.type.slotWidth
        }
        (base + place).copyMemory(from: old.base + place, byteCount: end &- place)
        nulls |= old.nullBits & unset
        unset = 0
        count = end
    }

    private mutating func fill(_ layout: RowLayout, from old: RowReader?) {
        for slot in UnsafeBufferPointer(start: layout.allSlots, count: layout.columnCount) where isUnset(slot) {
            let column = layout.columns[Int(slot.ordinal)]
            if let old, !column.isDead {
                copy(slot, from: old)
            } else {
                store(slot, column.isDead ? .null : column.type.coerced(column.defaultValue) ?? .null)
            }
        }
    }

    /// Sets a value that fits its column.
    mutating func set(_ position: Int, fitting value: Value) {
        if let slot = slot(position) { store(slot, value) }
    }

    mutating func store(_ slot: ColumnSlot, _ value: Value) {
        switch value {
        case .null: storeNull(slot)
        case .bool(let flag):
            base.storeBytes(of: flag ? 1 : 0, toByteOffset: Int(slot.offset), as: UInt8.self)
            mark(slot)
        case .integer(let number): store(slot, UInt64(bitPattern: number))
        case .unsigned(let number): store(slot, number)
        case .double(let number), .date(let number): store(slot, number.bitPattern)
        case .text(var text): text.withUTF8 { store(slot, content: UnsafeRawBufferPointer($0)) }
        case .blob(let bytes): bytes.withUnsafeBytes { store(slot, content: $0) }
        case .uuid(let high, let low):
            store(slot, high)
            base.storeBytes(of: low.littleEndian, toByteOffset: Int(slot.offset) + 8, as: UInt64.self)
        }
    }

    @inline(__always)
    func slot(_ position: Int) -> ColumnSlot? {
        guard let slots, UInt(bitPattern: position) < UInt(bitPattern: slotCount) else { return nil }
        return slots[position]
    }

    @inline(__always)
    mutating func store(_ slot: ColumnSlot, _ word: UInt64) {
        base.storeBytes(of: word.littleEndian, toByteOffset: Int(slot.offset), as: UInt64.self)
        mark(slot)
    }

    mutating func storeNull(_ slot: ColumnSlot) {
        memoryZero(base + Int(slot.offset), slot.type.slotWidth)
        mark(slot)
        let ordinal = Int(slot.ordinal)
        if ordinal < 64 { nulls |= 1 << UInt64(ordinal) } else { wideMarks[ordinal - 64] = 2 }
    }

    @inline(__always)
    mutating func store(_ slot: ColumnSlot, content: UnsafeRawBufferPointer) {
        let start = count - heap
        guard start + content.count <= Int(UInt32.max) else {
            let column = layout?.columns[Int(slot.ordinal)].name ?? ""
            return fail(.tooLarge(content.count, in: column, of: layout?.table ?? ""))
        }
        if count + content.count > capacity { reserve(count + content.count) }
        if let source = content.baseAddress { (base + count).copyMemory(from: source, byteCount: content.count) }
        count += content.count
        store(slot, UInt64(start) | UInt64(content.count) << 32)
    }

    /// Marks a column as set.
    @inline(__always)
    mutating func mark(_ slot: ColumnSlot) {
        let ordinal = Int(slot.ordinal)
        guard ordinal < 64 else {
            wideMarks[ordinal - 64] = 1
            return
        }
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: ordinal)
        unset &= ~bit
        nulls &= ~bit
    }

    mutating func refuse(_ position: Int, _ found: String) {
        guard let layout, let column = layout.column(position) else { return }
        fail(.typeMismatch(table: layout.table, column: column.name, expected: column.type, found: found))
    }

    /// Records the error for the call that stores the row; the first one counts.
    mutating func fail(_ error: RecordError) {
        if fault != nil { return }
        hasFault = true
        fault = error
    }

    private mutating func reserve(_ wanted: Int) {
        let larger = max(wanted, capacity * 2)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        memory.copyMemory(from: base, byteCount: min(count, capacity))
        base.deallocate()
        base = memory
        capacity = larger
    }
}

@inline(__always)
private func memoryZero(_ start: UnsafeMutableRawPointer, _ count: Int) {
    start.initializeMemory(as: UInt8.self, repeating: 0, count: count)
}

extension RecordError {
    fileprivate static func tooLarge(_ bytes: Int, in column: String, of table: String) -> RecordError {
        .valueRefused(
            table: table, column: column,
            reason: "it has \(bytes) bytes, and a row takes \(Limits.valueBytes); keep what is larger in a file beside")
    }
}
