// The encoding of values in spilled rows, one after the other:
//
//   NULL                  0
//   false, true           1, 2
//   integer               3  zigzag, seven bits a byte
//   unsigned              4  seven bits a byte
//   double, date          5, 6  eight bytes, little endian
//   uuid                  7  sixteen bytes, little endian
//   text, blob            8, 9  length, seven bits a byte; the bytes

extension KeyBuffer {
    /// Appends a value in the encoding that ``OperandReader`` reads.
    mutating func append(coded operand: Operand) {
        switch operand {
        case .null: append(byte: 0)
        case .bool(let flag): append(byte: flag ? 2 : 1)
        case .integer(let number):
            append(byte: 3)
            append(varint: UInt64(bitPattern: number &<< 1 ^ number &>> 63))
        case .unsigned(let number):
            append(byte: 4)
            append(varint: number)
        case .double(let number): append(5, number.bitPattern)
        case .date(let number): append(6, number.bitPattern)
        case .uuid(let high, let low):
            append(7, high)
            append(bigEndian: low.byteSwapped)
        case .text(let bytes): append(8, bytes)
        case .blob(let bytes): append(9, bytes)
        }
    }

    mutating func append(coded value: Value) {
        switch value {
        case .null: append(coded: Operand.null)
        case .bool(let flag): append(coded: Operand.bool(flag))
        case .integer(let number): append(coded: Operand.integer(number))
        case .unsigned(let number): append(coded: Operand.unsigned(number))
        case .double(let number): append(coded: Operand.double(number))
        case .date(let number): append(coded: Operand.date(number))
        case .uuid(let high, let low): append(coded: Operand.uuid(high, low))
        case .text(var text): text.withUTF8 { append(8, UnsafeRawBufferPointer($0)) }
        case .blob(let bytes): bytes.withUnsafeBytes { append(9, $0) }
        }
    }

    private mutating func append(_ tag: UInt8, _ word: UInt64) {
        append(byte: tag)
        append(bigEndian: word.byteSwapped)
    }

    private mutating func append(_ tag: UInt8, _ content: UnsafeRawBufferPointer) {
        append(byte: tag)
        append(varint: UInt64(content.count))
        append(raw: content)
    }
}

/// Reads encoded values; texts and blobs are borrowed from the bytes. Past the end every value is NULL.
struct OperandReader {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next() -> Operand {
        switch byte() {
        case 1: return .bool(false)
        case 2: return .bool(true)
        case 3:
            let word = varint()
            return .integer(Int64(bitPattern: word &>> 1) ^ -Int64(bitPattern: word & 1))
        case 4: return .unsigned(varint())
        case 5: return .double(Double(bitPattern: word()))
        case 6: return .date(Double(bitPattern: word()))
        case 7:
            let high = word()
            return .uuid(high, word())
        case 8: return .text(content())
        case 9: return .blob(content())
        default: return .null
        }
    }

    mutating func values(_ count: Int) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(next().value) }
        return values
    }

    mutating func varint() -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = byte()
            number |= UInt64(next & 0x7f) &<< shift
            if next < 0x80 || shift > 56 { return number }
            shift += 7
        }
    }

    /// Reads bytes with their length in front.
    mutating func content() -> UnsafeRawBufferPointer {
        bytes(Int(truncatingIfNeeded: varint() & 0x7fff_ffff_ffff))
    }

    mutating func bytes(_ wanted: Int) -> UnsafeRawBufferPointer {
        let count = max(0, min(wanted, bytes.count - place))
        defer { place += count }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
    }

    /// The unread bytes.
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[place...]) }

    private mutating func byte() -> UInt8 {
        guard place < bytes.count else { return 0 }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func word() -> UInt64 {
        guard bytes.count - place >= 8 else { return 0 }
        defer { place += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
}
