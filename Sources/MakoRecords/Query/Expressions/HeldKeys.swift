/// Iterates the keys in a column's bytes, see ``KeyTree``, without building the tree.
struct HeldKeys {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    /// Calls a closure with each key and the number of its table, 0 for the column's target, until it returns `false`.
    /// Stops at invalid bytes.
    static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (UInt32, RowKey) throws -> Bool) throws {
        var keys = HeldKeys(bytes: bytes)
        _ = try keys.tree(0, body)
    }

    static func count(in bytes: UnsafeRawBufferPointer) throws(RecordError) -> Int {
        var count = 0
        try recorded {
            try forEach(in: bytes) { _, _ in
                count += 1
                return true
            }
        }
        return count
    }

    private mutating func tree(_ depth: Int, _ body: (UInt32, RowKey) throws -> Bool) throws -> Bool {
        guard depth < 16, let tag = byte() else { return false }
        switch tag {
        case 1, 2: return try key(tag).map { try body(0, $0) } ?? false
        case 3:
            guard place + 4 <= bytes.count else { return false }
            var table: UInt32 = 0
            for shift in 0..<4 { table |= UInt32(bytes[place + shift]) << UInt32(shift * 8) }
            place += 4
            guard let tag = byte(), let key = key(tag) else { return false }
            return try body(table, key)
        case 4, 5:
            guard let count = number(), count <= UInt64(bytes.count) else { return false }
            for _ in 0..<count {
                if tag == 5 {
                    guard let length = number(), length <= UInt64(bytes.count - place) else { return false }
                    place += Int(length)
                }
                guard try tree(depth + 1, body) else { return false }
            }
            return true
        default: return false
        }
    }

    private mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        place += 1
        return bytes[place - 1]
    }

    private mutating func number() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = byte() else { return nil }
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return number }
        }
        return nil
    }

    private mutating func key(_ tag: UInt8) -> RowKey? {
        guard let number = number() else { return nil }
        if tag == 1 { return .rowID(Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)) }
        guard tag == 2, number <= UInt64(bytes.count - place) else { return nil }
        place += Int(number)
        return .bytes([UInt8](bytes[place - Int(number)..<place]))
    }
}

extension Operand {
    /// Calls a closure with each value of a list, or with each value and the text of each reference in a column of keys of
    /// any table, until it returns `false`.
    func forEachElement(
        _ arena: inout Arena, _ body: (Operand) throws(RecordError) -> Bool
    ) throws(RecordError) {
        switch self {
        case .text(let list):
            try ListValues.forEach(in: list, &arena) { (value, _) throws(RecordError) in try body(value) }
        case .blob(let keys):
            try recorded {
                try HeldKeys.forEach(in: keys) { _, key in
                    if let value = key.elementValue { return try body(arena.operand(value)) }
                    guard case .bytes(let text) = key, text.last == 0 else { return true }
                    return try text.withUnsafeBytes { try body(.text(.init(rebasing: $0.dropLast()))) }
                }
            }
        default: break
        }
    }
}
