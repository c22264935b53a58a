/// A borrowed value: texts and blobs are bytes of the row, of a constant or of the evaluator's arena, so that nothing
/// is allocated or retained. Valid until the next row.
enum Operand {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)
    case date(Double)
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
    case uuid(UInt64, UInt64)

    @inline(__always)
    init(_ row: RowReader, _ slot: ColumnSlot) {
        guard let field = row.address(slot) else {
            self = .null
            return
        }
        switch slot.type {
        case .integer, .reference: self = .integer(Int64(bitPattern: row.word(field)))
        case .unsigned:
            let number = row.word(field)
            self = number >> 63 == 0 ? .integer(Int64(bitPattern: number)) : .unsigned(number)
        case .double: self = .double(Double(bitPattern: row.word(field)))
        case .date: self = .date(Double(bitPattern: row.word(field)))
        case .bool: self = .bool(field.load(as: UInt8.self) != 0)
        case .uuid: self = .uuid(row.word(field), row.word(field + 8))
        case .text: self = .text(row.content(slot))
        case .blob, .keys: self = .blob(row.content(slot))
        }
    }

    var isNull: Bool {
        if case .null = self { true } else { false }
    }

    @inline(__always)
    var value: Value {
        switch self {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(number)
        case .unsigned(let number): .unsigned(number)
        case .double(let number): .double(number)
        case .date(let seconds): .date(seconds)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob([UInt8](bytes))
        case .uuid(let high, let low): .uuid(high, low)
        }
    }

    /// Compares as ``Value/compare(_:)`` does.
    func compare(_ other: Operand) -> Int? {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): KeyOrder.compare(a, b)
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): KeyOrder.compareRaw(a, b)
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)):
            KeyOrder.compare(KeyOrder.bits(a), KeyOrder.bits(b))
        case (.bool(let a), .bool(let b)): a == b ? 0 : (a ? 1 : -1)
        case (.uuid(let a, let b), .uuid(let c, let d)): a == c ? KeyOrder.compare(b, d) : KeyOrder.compare(a, c)
        case (.integer(let a), .double(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .integer(let b)): -KeyOrder.compare(b, a)
        case (.unsigned(let a), .unsigned(let b)): KeyOrder.compare(a, b)
        case (.integer, .unsigned): -1
        case (.unsigned, .integer): 1
        case (.unsigned(let a), .double(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .unsigned(let b)): -KeyOrder.compare(b, a)
        default: nil
        }
    }

    /// Compares two values, texts without case.
    func compareWithoutCase(_ other: Operand) -> Int? {
        guard case .text(let a) = self, case .text(let b) = other else { return compare(other) }
        return Folding.compare(a, b)
    }

    /// The number as a double, rounded if necessary.
    var asDouble: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .double(let number), .date(let number): number
        default: nil
        }
    }

    /// The integer, exact.
    var asWhole: Int128? {
        switch self {
        case .integer(let number): Int128(number)
        case .unsigned(let number): Int128(number)
        default: nil
        }
    }

    /// Makes the narrowest case that holds the number; a double if none does.
    init(whole number: Int128) {
        if let fitting = Int64(exactly: number) {
            self = .integer(fitting)
        } else if let fitting = UInt64(exactly: number) {
            self = .unsigned(fitting)
        } else {
            self = .double(Double(number))
        }
    }
}

extension KeyBuffer {
    /// Appends a value to a sort key.
    mutating func append(_ operand: Operand, noCase: Bool = false) {
        switch operand {
        case .null: appendNull()
        case .bool(let flag): append(flag)
        case .integer(let number): append(number)
        case .unsigned(let number): append(number)
        case .double(let number), .date(let number): append(number)
        case .uuid(let high, let low): append(high: high, low: low)
        case .blob(let bytes): append(bytes)
        case .text(let bytes): noCase ? appendFolded(bytes) : append(bytes)
        }
    }
}
