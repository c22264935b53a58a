// A chunk of postings: the rows that have a word, and its positions in them. Numbers are LEB128
// (KeyBuffer.append(varint:)).
//
//   for each row, ascending:
//     the row's number, relative to the previous one, or for the first one to the number in the chunk's key
//     one occurrence: ((position << bits | column) << 1) | 1, where bits are as many as the index's columns need, none
//       for one column
//     several: their size in bytes << 1, then for each its distance from the previous one in the column, the first one
//       relative to -1; a 0 precedes the number of the next column and its occurrences
//
// Columns and positions count from 0.

/// Reads LEB128 numbers; a truncated number reads as `nil`.
struct NumberReader {
    private let bytes: UnsafeRawBufferPointer
    /// The number of bytes: the count of the buffer would cost a call.
    private let count: Int
    private(set) var place: Int

    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer, at place: Int = 0) {
        self.bytes = bytes
        count = bytes.count
        self.place = place
    }

    @inline(__always)
    var isAtEnd: Bool { place >= count }
    @inline(__always)
    var left: Int { count &- place }

    /// The next eight bytes, the first one lowest. There must be as many left.
    @inline(__always)
    var upcoming: UInt64 { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }

    @inline(__always)
    mutating func next() -> UInt64? {
        guard place < count else { return nil }
        let first = bytes[place]
        place &+= 1
        if first < 0x80 { return UInt64(first) }
        return rest(UInt64(first & 0x7F))
    }

    private mutating func rest(_ start: UInt64) -> UInt64? {
        var number = start
        var shift: UInt64 = 7
        while place < count, shift < 64 {
            let byte = bytes[place]
            place &+= 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift &+= 7
        }
        return nil
    }

    @inline(__always)
    mutating func skip(_ count: Int) { place &+= count }
}

/// Iterates the rows of a chunk.
struct PostingReader {
    private let bytes: UnsafeRawBufferPointer
    private var numbers: NumberReader
    private let columnBits: UInt64
    /// The row's number.
    private(set) var row: UInt64
    /// The start of the row, that of its occurrences, and its end.
    private(set) var start = 0
    private(set) var bodyStart = 0
    private(set) var end = 0
    private var header: UInt64 = 0
    private var isFirst = true
    /// Whether the bytes are invalid, which ends the iteration.
    private(set) var isDamaged = false

    init(_ bytes: UnsafeRawBufferPointer, base: UInt64, columnBits: UInt64) {
        self.bytes = bytes
        numbers = NumberReader(bytes)
        row = base
        self.columnBits = columnBits
    }

    @inline(__always)
    mutating func next() -> Bool {
        // Fast path: most rows are close to the previous one and have the word once: one byte, then one or two.
        if numbers.left >= 8 {
            let word = numbers.upcoming
            let isShort = word & 0x180 == 0x100 && word & 0x7F != 0 && ~word & 0x80_8000 != 0
            if isShort {
                // Branchless, because the size is unpredictable.
                let size = 3 &- (~word &>> 15 & 1)
                let bytes = word &>> 8 & (0xFFFF &>> (24 &- 8 &* size))
                header = bytes & 0x7F | bytes &>> 1 & 0x3F80
                row = row &+ (word & 0x7F)
                start = numbers.place
                bodyStart = start &+ 1
                numbers.skip(Int(truncatingIfNeeded: size))
                end = numbers.place
                isFirst = false
                return true
            }
        }
        return nextOfAnySize()
    }

    private mutating func nextOfAnySize() -> Bool {
        if numbers.isAtEnd { return false }
        start = numbers.place
        guard let distance = numbers.next() else { return fail() }
        bodyStart = numbers.place
        guard distance > 0 || isFirst, let header = numbers.next() else { return fail() }
        isFirst = false
        row = row &+ distance
        self.header = header
        if header & 1 == 0 {
            let count = header >> 1
            guard count > 0, count <= UInt64(numbers.left) else { return fail() }
            numbers.skip(Int(truncatingIfNeeded: count))
        }
        end = numbers.place
        return true
    }

    private mutating func fail() -> Bool {
        isDamaged = true
        return false
    }

    /// Returns the number of a chunk's last row; `nil` for invalid bytes.
    static func lastRow(_ bytes: UnsafeRawBufferPointer, base: UInt64) -> UInt64? {
        var reader = PostingReader(bytes, base: base, columnBits: 0)
        while reader.next() {}
        return reader.isDamaged || reader.isFirst ? nil : reader.row
    }

    /// The row's encoded occurrences.
    var body: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[bodyStart..<end]) }

    /// Calls a closure with the column and position of each occurrence in the row. Returns `false` if they are damaged.
    @inline(__always)
    func forEachOccurrence(_ visit: (_ column: UInt64, _ position: UInt64) -> Void) -> Bool {
        if header & 1 == 1 {
            let single = header >> 1
            visit(single & ((1 << columnBits) - 1), single >> columnBits)
            return true
        }
        let count = Int(truncatingIfNeeded: header >> 1)
        var rest = NumberReader(UnsafeRawBufferPointer(rebasing: bytes[..<end]), at: end - count)
        var column: UInt64 = 0
        var position: UInt64 = .max
        while !rest.isAtEnd {
            guard let distance = rest.next() else { return false }
            if distance == 0 {
                guard let next = rest.next(), next > column, next < 64 else { return false }
                (column, position) = (next, .max)
            } else {
                position = position &+ distance
                visit(column, position)
            }
        }
        return true
    }
}

/// Encodes a row's occurrences.
struct OccurrenceWriter: ~Copyable {
    private let columnBits: UInt64
    private var list = KeyBuffer()
    private var column: UInt64 = 0
    private var position: UInt64 = .max

    init(columnBits: UInt64) { self.columnBits = columnBits }

    private mutating func clear() {
        list.clear()
        column = 0
        position = .max
    }

    /// Appends the next occurrence, in the order of columns and positions.
    private mutating func add(_ column: UInt64, _ position: UInt64) {
        if column != self.column {
            list.append(varint: 0)
            list.append(varint: column)
            self.column = column
            self.position = .max
        }
        list.append(varint: position &- self.position)
        self.position = position
    }

    /// Appends the occurrences of a word in one row.
    @inline(__always)
    mutating func append(_ places: UnsafeBufferPointer<WordPlace>, to buffer: inout KeyBuffer) {
        if places.count == 1 {
            let single = UInt64(places[0].position) << columnBits | UInt64(places[0].column)
            return buffer.append(varint: single << 1 | 1)
        }
        appendList(places, to: &buffer)
    }

    private mutating func appendList(_ places: UnsafeBufferPointer<WordPlace>, to buffer: inout KeyBuffer) {
        clear()
        for place in places.indices {
            add(UInt64(places[place].column), UInt64(places[place].position))
        }
        buffer.append(varint: UInt64(list.count) << 1)
        buffer.append(raw: list.raw)
    }

    /// Appends the rows of a word, each relative to the one before, with its occurrences.
    ///
    /// - Parameters:
    ///   - rows: the numbers of the collected rows.
    ///   - base: the number to which the first row is relative.
    mutating func append(
        _ places: UnsafeBufferPointer<WordPlace>, of rows: [UInt64], from base: UInt64, to buffer: inout KeyBuffer
    ) {
        var previous = base
        var next = 0
        while next < places.count {
            let start = next
            let row = places[start].row
            repeat { next &+= 1 } while next < places.count && places[next].row == row
            let number = rows[Int(row)]
            buffer.append(varint: number &- previous)
            previous = number
            append(UnsafeBufferPointer(rebasing: places[start..<next]), to: &buffer)
        }
    }
}
