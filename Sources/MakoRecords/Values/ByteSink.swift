/// Encodes the catalogue's entries.
struct ByteSink {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    mutating func number(_ number: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func text(_ text: String) { blob(Array(text.utf8)) }

    mutating func blob(_ blob: [UInt8]) {
        number(UInt32(truncatingIfNeeded: blob.count))
        bytes.append(contentsOf: blob)
    }

    mutating func value(_ value: Value) {
        switch value {
        case .null: byte(0)
        case .bool(let flag):
            byte(1)
            byte(flag ? 1 : 0)
        case .integer(let integer):
            byte(2)
            number(UInt64(bitPattern: integer))
        case .unsigned(let unsigned):
            byte(3)
            number(unsigned)
        case .double(let double):
            byte(4)
            number(double.bitPattern)
        case .text(let string):
            byte(5)
            text(string)
        case .blob(let content):
            byte(6)
            blob(content)
        case .date(let seconds):
            byte(7)
            number(seconds.bitPattern)
        case .uuid(let high, let low):
            byte(8)
            number(high)
            number(low)
        }
    }
}
