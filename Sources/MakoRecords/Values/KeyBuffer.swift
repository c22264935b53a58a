// Sortable keys: memcmp of the bytes is the order of the values, column after column.
//
//   null                 00
//   number < 0           01  eight bytes, two's complement, big endian
//   number >= 0          02  eight bytes, big endian                       (signed and unsigned share one coding)
//   double, date         02  eight bytes, see KeyOrder.bits                (NaN first, both zeros equal)
//   bool                 02  00 or 01
//   uuid                 02  sixteen bytes
//   text, blob           02  the bytes, 00 as 01 01 and 01 as 01 02, then 00 as the end
//
// The end mark sorts before every byte, so "a" < "ab" also inside composites, and no coding is a prefix of another.
// A descending column is the complement of its ascending bytes.

/// A reusable buffer in which keys are built.
struct KeyBuffer: Sendable {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(64) }

    var count: Int { bytes.count }

    mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

    mutating func append(raw: some Collection<UInt8>) { bytes.append(contentsOf: raw) }

    mutating func appendNull() { bytes.append(0) }

    mutating func append(_ flag: Bool) {
        bytes.append(2)
        bytes.append(flag ? 1 : 0)
    }

    @inline(__always)
    mutating func append(_ number: Int64) {
        bytes.append(number < 0 ? 1 : 2)
        append(bigEndian: UInt64(bitPattern: number))
    }

    mutating func append(_ number: UInt64) {
        bytes.append(2)
        append(bigEndian: number)
    }

    mutating func append(_ number: Double) {
        bytes.append(2)
        append(bigEndian: KeyOrder.bits(number))
    }

    mutating func append(high: UInt64, low: UInt64) {
        bytes.append(2)
        append(bigEndian: high)
        append(bigEndian: low)
    }

    @inline(__always)
    mutating func append(bigEndian number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Text or blob, from its bytes.
    mutating func append(_ content: UnsafeRawBufferPointer) {
        bytes.append(2)
        append(escaping: content)
        bytes.append(0)
    }

    /// Text under the no-case form.
    mutating func appendFolded(_ content: UnsafeRawBufferPointer) {
        bytes.append(2)
        append(escaping: content, folding: true)
        bytes.append(0)
    }

    /// The coding of every text that begins with `content`: without the end mark.
    mutating func appendPrefix(_ content: UnsafeRawBufferPointer, noCase: Bool) {
        bytes.append(2)
        append(escaping: content, folding: noCase)
    }

    /// Any value, under its own type; unsigned and signed numbers share one coding.
    mutating func append(_ value: Value, noCase: Bool = false) {
        switch value {
        case .null: appendNull()
        case .bool(let flag): append(flag)
        case .integer(let number): append(number)
        case .unsigned(let number): append(number)
        case .double(let number), .date(let number): append(number)
        case .uuid(let high, let low): append(high: high, low: low)
        case .blob(let content): content.withUnsafeBytes { append($0) }
        case .text(var text): text.withUTF8 { noCase ? appendFolded(.init($0)) : append(.init($0)) }
        }
    }

    /// Turns what was appended since `start` round, for a descending column.
    mutating func complement(from start: Int) {
        for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }

    private mutating func append(escaping content: UnsafeRawBufferPointer, folding: Bool = false) {
        var isPlain = true
        for byte in content where byte < 2 || (folding && (byte >= 0x80 || (byte >= 65 && byte <= 90))) {
            isPlain = false
            break
        }
        if isPlain {
            bytes.append(contentsOf: content)
        } else if folding {
            Folding.forEachByte(of: content) { append(escaping: $0) }
        } else {
            for byte in content { append(escaping: byte) }
        }
    }

    @inline(__always)
    private mutating func append(escaping byte: UInt8) {
        if byte < 2 {
            bytes.append(1)
            bytes.append(byte + 1)
        } else {
            bytes.append(byte)
        }
    }
}

/// Reads values back from a key.
struct KeyDecoder {
    let bytes: [UInt8]
    private(set) var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    /// The next value, or `nil` when the bytes are not a key of that type. Ascending columns only.
    mutating func next(_ type: ColumnType) -> Value? {
        guard let tag = byte() else { return nil }
        if tag == 0 { return .null }
        switch type {
        case .integer, .reference, .unsigned:
            guard tag <= 2, let number = word() else { return nil }
            return tag == 1 ? .integer(Int64(bitPattern: number)) : .unsignedInteger(number)
        case .double, .date:
            guard tag == 2, let number = word() else { return nil }
            let double = KeyOrder.double(bits: number)
            return type == .double ? .double(double) : .date(double)
        case .bool:
            guard tag == 2, let flag = byte(), flag < 2 else { return nil }
            return .bool(flag == 1)
        case .uuid:
            guard tag == 2, let high = word(), let low = word() else { return nil }
            return .uuid(high, low)
        case .text, .blob:
            guard tag == 2, let content = content() else { return nil }
            return type == .blob ? .blob(content) : .text(String(decoding: content, as: UTF8.self))
        }
    }

    private mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func word() -> UInt64? {
        guard place + 8 <= bytes.count else { return nil }
        var number: UInt64 = 0
        for byte in bytes[place..<place + 8] { number = number << 8 | UInt64(byte) }
        place += 8
        return number
    }

    private mutating func content() -> [UInt8]? {
        var content: [UInt8] = []
        while let next = byte() {
            if next == 0 { return content }
            if next > 1 {
                content.append(next)
            } else {
                guard let escaped = byte(), escaped == 1 || escaped == 2 else { return nil }
                content.append(escaped - 1)
            }
        }
        return nil
    }
}
