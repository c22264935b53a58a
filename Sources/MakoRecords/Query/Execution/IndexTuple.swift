import MakoStorage

/// An index tuple in the form of a stored row, so that row readers can read it. It has the columns that a query reads,
/// and no values for the others.
///
/// One for each scan; the reader is valid until the next entry is read.
final class IndexTuple {
    private let cover: CoveringIndex
    let layout: RowLayout
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private var count = 0
    private let nulls: Int
    private let heap: Int

    init(_ cover: CoveringIndex, _ layout: RowLayout) {
        self.cover = cover
        self.layout = layout
        nulls = Int(layout.slotEnds[layout.columnCount])
        heap = nulls + (layout.columnCount + 7) / 8
        capacity = heap + 256
        base = .allocate(byteCount: capacity, alignment: 8)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
        let header = UInt64(RowLayout.format) | UInt64(layout.columnCount) << 16 | UInt64(layout.version) << 32
        base.storeBytes(of: header.littleEndian, as: UInt64.self)
    }

    deinit { base.deallocate() }

    func reader() throws(RecordError) -> RowReader {
        try RowReader(UnsafeRawBufferPointer(start: base, count: count), layout)
    }

    /// Reads an entry.
    ///
    /// - Returns: `false` if the row must be looked up, because the entry does not determine all values (the sign of a
    ///   zero, the bits of a NaN), or is damaged.
    func read(_ entry: UnsafeRawBufferPointer, _ key: RowKey) -> Bool {
        count = heap
        guard take(cover.parts, entry) else { return false }
        guard !cover.keyParts.isEmpty, case .bytes(let bytes) = key else { return true }
        return bytes.withUnsafeBytes { take(cover.keyParts, $0) }
    }

    /// Returns the length of some columns in an entry; `nil` if it does not hold them.
    static func length(of parts: [CoveringIndex.Part], in entry: UnsafeRawBufferPointer) -> Int? {
        var scanner = EntryScanner(entry)
        for part in parts { guard scanner.step(over: part) else { return nil } }
        return scanner.place
    }

    private func take(_ parts: [CoveringIndex.Part], _ bytes: UnsafeRawBufferPointer) -> Bool {
        var scanner = EntryScanner(bytes)
        for part in parts { guard take(part, &scanner) else { return false } }
        return true
    }

    private func take(_ part: CoveringIndex.Part, _ scanner: inout EntryScanner) -> Bool {
        let flip: UInt8 = part.descending ? 0xFF : 0
        guard let tag = scanner.byte(flip) else { return false }
        if tag == 0 {
            if !part.isSkipped { setNull(part.slot) }
            return true
        }
        switch part.slot.type {
        case .text, .blob, .keys: return takeContent(part, &scanner, flip)
        case .bool:
            guard let flag = scanner.byte(flip) else { return false }
            store(part) { $0.storeBytes(of: flag, as: UInt8.self) }
        case .uuid:
            guard let high = scanner.word(flip), let low = scanner.word(flip) else { return false }
            store(part) {
                $0.storeBytes(of: high.littleEndian, as: UInt64.self)
                $0.storeBytes(of: low.littleEndian, toByteOffset: 8, as: UInt64.self)
            }
        case .integer, .reference, .unsigned:
            guard let number = scanner.word(flip) else { return false }
            store(part) { $0.storeBytes(of: number.littleEndian, as: UInt64.self) }
        case .double, .date:
            guard let bits = scanner.word(flip) else { return false }
            if part.isSkipped { return true }
            let number = KeyOrder.double(bits: bits)
            if number == 0 || number.isNaN { return false }
            store(part) { $0.storeBytes(of: number.bitPattern.littleEndian, as: UInt64.self) }
        }
        return true
    }

    @inline(__always)
    private func store(_ part: CoveringIndex.Part, _ write: (UnsafeMutableRawPointer) -> Void) {
        if part.isSkipped { return }
        mark(part.slot, isNull: false)
        write(base + Int(part.slot.offset))
    }

    private func takeContent(_ part: CoveringIndex.Part, _ scanner: inout EntryScanner, _ flip: UInt8) -> Bool {
        let start = count
        while true {
            guard var byte = scanner.byte(flip) else { return false }
            if byte == 0 { break }
            if byte == 1 {
                guard let escaped = scanner.byte(flip), escaped == 1 || escaped == 2 else { return false }
                byte = escaped - 1
            }
            if part.isSkipped { continue }
            if count == capacity { grow() }
            base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count += 1
        }
        let place = UInt64(start - heap) | UInt64(count - start) << 32
        store(part) { $0.storeBytes(of: place.littleEndian, as: UInt64.self) }
        return true
    }

    private func grow() {
        let larger = capacity * 2
        let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        memory.copyMemory(from: base, byteCount: capacity)
        base.deallocate()
        base = memory
        capacity = larger
    }

    private func setNull(_ slot: ColumnSlot) {
        mark(slot, isNull: true)
        // A NULL must not keep the offset and length of an earlier text.
        if slot.type.isVariable { base.storeBytes(of: 0, toByteOffset: Int(slot.offset), as: UInt64.self) }
    }

    private func mark(_ slot: ColumnSlot, isNull: Bool) {
        let place = base + nulls + Int(slot.ordinal) / 8
        let bit: UInt8 = 1 << UInt8(slot.ordinal % 8)
        let byte = place.load(as: UInt8.self)
        place.storeBytes(of: isNull ? byte | bit : byte & ~bit, as: UInt8.self)
    }
}

/// Scans the bytes of an entry; `nil` beyond its end.
private struct EntryScanner {
    private let bytes: UnsafeRawBufferPointer
    private(set) var place = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    @inline(__always)
    mutating func byte(_ flip: UInt8) -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place &+= 1 }
        return bytes[place] ^ flip
    }

    @inline(__always)
    mutating func word(_ flip: UInt8) -> UInt64? {
        guard place &+ 8 <= bytes.count else { return nil }
        defer { place &+= 8 }
        let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        return flip == 0 ? word : ~word
    }

    /// Returns `false` if the bytes end before the column does.
    mutating func step(over part: CoveringIndex.Part) -> Bool {
        let flip: UInt8 = part.descending ? 0xFF : 0
        guard let tag = byte(flip) else { return false }
        if tag == 0 { return true }
        guard part.slot.type.isVariable else {
            place += part.slot.type.slotWidth
            return place <= bytes.count
        }
        while let next = byte(flip) { if next == 0 { return true } }
        return false
    }
}
