import MakoRecords

// A property with a value of any type is a blob: a byte for the type, followed by the value.
//
//   0 null   1 false   2 true   3 integer   4 unsigned   5 double   6 date   (8 bytes, little endian)
//   7 text (UTF-8)   8 blob   9 uuid (16 bytes, big endian)

/// `var answer: StoredValue = .null`: a property with values of any type. Conditions compare it for equality with
/// values of exactly the same type; it has no order.
extension StoredValue: StorableValue {
    /// The column type: blob.
    public static var columnType: ColumnType { .blob }
    @inlinable public static var _$isPlain: Bool { true }

    /// As a parameter, the value itself.
    public var conditionValue: StoredValue { self }

    /// The value as a blob: a byte for its type, and its content.
    public var stored: StoredValue {
        switch self {
        case .null: .blob([0])
        case .bool(let value): .blob([value ? 2 : 1])
        case .integer(let value): .blob(Self.bytes(3, UInt64(bitPattern: value)))
        case .unsigned(let value): .blob(Self.bytes(4, value))
        case .double(let value): .blob(Self.bytes(5, value.bitPattern))
        case .date(let value): .blob(Self.bytes(6, value.bitPattern))
        case .text(let value): .blob([7] + Array(value.utf8))
        case .blob(let value): .blob([8] + value)
        case .uuid(let high, let low):
            .blob([9] + Self.bytes(0, high.byteSwapped).dropFirst() + Self.bytes(0, low.byteSwapped).dropFirst())
        }
    }

    /// Creates the value of a stored blob; nil if the blob is none.
    public init?(stored: StoredValue) {
        guard case .blob(let bytes) = stored, let tag = bytes.first else { return nil }
        let content = bytes.dropFirst()
        let width: Int? =
            switch tag {
            case 0...2: 0
            case 3...6: 8
            case 9: 16
            default: nil
            }
        if let width, content.count != width { return nil }
        switch tag {
        case 0: self = .null
        case 1, 2: self = .bool(tag == 2)
        case 3: self = .integer(Int64(bitPattern: Self.word(content)))
        case 4: self = .unsignedInteger(Self.word(content))
        case 5: self = .double(Double(bitPattern: Self.word(content)))
        case 6: self = .date(Double(bitPattern: Self.word(content)))
        case 7:
            guard let text = String(validating: content, as: UTF8.self) else { return nil }
            self = .text(text)
        case 8: self = .blob(Array(content))
        case 9: self = .uuid(Self.word(content.prefix(8)).byteSwapped, Self.word(content.suffix(8)).byteSwapped)
        default: return nil
        }
    }

    private static func bytes(_ tag: UInt8, _ word: UInt64) -> [UInt8] {
        [tag] + (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
