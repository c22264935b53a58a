import MakoStorage

// Sortable keys: memcmp of the bytes is the order of the values, column by column.
//
//   null                 00
//   number < 0           01  eight bytes, two's complement, big endian
//   number >= 0          02  eight bytes, big endian                       (signed and unsigned share one encoding)
//   double, date         02  eight bytes, see KeyOrder.bits                (NaN first, both zeros equal)
//   bool                 02  00 or 01
//   uuid                 02  sixteen bytes
//   text, blob           02  the bytes, 00 as 01 01 and 01 as 01 02, then 00 as the end
//
// The end mark sorts before every byte, so that "a" < "ab" in composite keys, too, and no encoding is a prefix of
// another. A descending column is the complement of its ascending bytes.

/// A reusable buffer in which sortable keys are encoded; it owns its memory.
struct KeyBuffer: ~Copyable, @unchecked Sendable {
    // Unchecked: this value owns the memory.

    private var base: UnsafeMutableRawPointer?
    /// The allocated bytes.
    private(set) var capacity = 0
    private var memory: BufferMemory?
    private(set) var count = 0

    init() {}

    init(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append(raw: $0) } }

    deinit { memory?.deallocate() }

    /// A copy of the bytes.
    var bytes: [UInt8] { [UInt8](raw) }

    /// Returns the encoding of an integer, without a buffer.
    static func bytes(of number: Int64) -> [UInt8] {
        let word = UInt64(bitPattern: number)
        func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> shift) }
        return [
            number < 0 ? 1 : 2, byte(56), byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0),
        ]
    }

    /// The bytes, valid until the buffer changes or is freed.
    var raw: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// A part of the bytes, valid until the buffer changes or is freed.
    func raw(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        guard let base, start >= 0, start <= end, end <= count else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: base + start, count: end - start)
    }

    /// Returns the first eight bytes of a part, see ``KeyOrder/head(_:)``.
    func head(from start: Int, to end: Int) -> UInt64 { KeyOrder.head(raw(from: start, to: end)) }

    mutating func clear() { count = 0 }

    mutating func truncate(to count: Int) { if count >= 0 && count < self.count { self.count = count } }

    /// Returns memory after the end, which the caller must fill.
    @inline(__always)
    private mutating func room(_ more: Int) -> UnsafeMutableRawPointer {
        if let base, count &+ more <= capacity {
            defer { count = count &+ more }
            return base + count
        }
        return grownRoom(more)
    }

    @inline(never)
    private mutating func grownRoom(_ more: Int) -> UnsafeMutableRawPointer {
        let memory = move(to: max(128, (count + more) * 2))
        defer { count += more }
        return memory + count
    }

    /// Allocates memory at once: repeated growth fragments the heap.
    mutating func reserve(_ bytes: Int) { if bytes > capacity { _ = move(to: bytes) } }

    private mutating func move(to larger: Int) -> UnsafeMutableRawPointer {
        let target = BufferMemory(larger)
        if let base { target.start.copyMemory(from: base, byteCount: count) }
        memory?.deallocate()
        memory = target
        base = target.start
        capacity = target.count
        return target.start
    }

    /// Replaces the content.
    mutating func replace(with bytes: [UInt8]) {
        clear()
        bytes.withUnsafeBytes { append(raw: $0) }
    }

    mutating func append(raw content: UnsafeRawBufferPointer) {
        guard let source = content.baseAddress, content.count > 0 else { return }
        room(content.count).copyMemory(from: source, byteCount: content.count)
    }

    @inline(__always)
    mutating func append(byte: UInt8) { room(1).storeBytes(of: byte, as: UInt8.self) }

    /// Appends an LEB128 number: seven bits a byte, low bits first, the eighth bit set on all bytes but the last.
    @inline(__always)
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(byte: UInt8(truncatingIfNeeded: rest))
    }

    /// Returns the number of bytes that ``append(varint:)`` appends.
    @inline(__always)
    static func bytes(ofVarint number: UInt64) -> Int { max(1, (70 - number.leadingZeroBitCount) / 7) }

    mutating func appendNull() { append(byte: 0) }

    mutating func append(_ flag: Bool) {
        append(byte: 2)
        append(byte: flag ? 1 : 0)
    }

    @inline(__always)
    mutating func append(_ number: Int64) { append(number < 0 ? 1 : 2, UInt64(bitPattern: number)) }

    @inline(__always)
    mutating func append(_ number: UInt64) { append(2, number) }

    @inline(__always)
    mutating func append(_ number: Double) { append(2, KeyOrder.bits(number)) }

    mutating func append(high: UInt64, low: UInt64) {
        append(2, high)
        append(bigEndian: low)
    }

    @inline(__always)
    mutating func append(bigEndian number: UInt64) { room(8).storeBytes(of: number.bigEndian, as: UInt64.self) }

    @inline(__always)
    private mutating func append(_ tag: UInt8, _ number: UInt64) {
        let place = room(9)
        place.storeBytes(of: tag, as: UInt8.self)
        place.storeBytes(of: number.bigEndian, toByteOffset: 1, as: UInt64.self)
    }

    /// Appends a text or blob.
    mutating func append(_ content: UnsafeRawBufferPointer) {
        if let source = content.baseAddress, KeyBuffer.isPlain(content) {
            let place = room(content.count + 2)
            place.storeBytes(of: 2, as: UInt8.self)
            (place + 1).copyMemory(from: source, byteCount: content.count)
            place.storeBytes(of: 0, toByteOffset: content.count + 1, as: UInt8.self)
            return
        }
        append(byte: 2)
        append(escaping: content)
        append(byte: 0)
    }

    /// Appends a text, case-folded.
    mutating func appendFolded(_ content: UnsafeRawBufferPointer) {
        append(byte: 2)
        append(escaping: content, folding: true)
        append(byte: 0)
    }

    /// Appends the common prefix of all texts that start with `content`: without the end mark.
    mutating func appendPrefix(_ content: UnsafeRawBufferPointer, noCase: Bool) {
        append(byte: 2)
        append(escaping: content, folding: noCase)
    }

    /// Appends a value with its tag; unsigned and signed numbers have one encoding.
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

    /// Complements the bytes from `start` on, for a descending column.
    mutating func complement(from start: Int) {
        guard let base else { return }
        for index in start..<count {
            let byte = base.load(fromByteOffset: index, as: UInt8.self)
            base.storeBytes(of: ~byte, toByteOffset: index, as: UInt8.self)
        }
    }

    /// Returns whether no byte needs an escape, which 00 and 01 do. Tests eight bytes at a time.
    private static func isPlain(_ content: UnsafeRawBufferPointer) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = 0
        while index &+ 8 <= content.count {
            let word = content.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if (word &- ones &* 2) & ~word & (ones << 7) != 0 { return false }
            index &+= 8
        }
        while index < content.count {
            if content[index] < 2 { return false }
            index &+= 1
        }
        return true
    }

    private mutating func append(escaping content: UnsafeRawBufferPointer, folding: Bool = false) {
        if folding {
            Folding.forEachByte(of: content) { append(escaping: $0) }
        } else if KeyBuffer.isPlain(content) {
            append(raw: content)
        } else {
            for byte in content { append(escaping: byte) }
        }
    }

    @inline(__always)
    private mutating func append(escaping byte: UInt8) {
        if byte < 2 {
            append(byte: 1)
            append(byte: byte + 1)
        } else {
            append(byte: byte)
        }
    }
}

/// Decodes the values of a key.
struct KeyDecoder {
    let bytes: [UInt8]
    private(set) var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    /// Returns the next value, or `nil` if the bytes are not a key of this type. Ascending columns only.
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
        case .text, .blob, .keys:
            guard tag == 2, let content = content() else { return nil }
            return type != .text ? .blob(content) : .text(String(decoding: content, as: UTF8.self))
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
