/// Decodes the catalogue's entries; every read is checked.
struct ByteSource {
    private let bytes: [UInt8]
    private let what: String
    private var place = 0

    init(_ bytes: [UInt8], what: String) {
        self.bytes = bytes
        self.what = what
    }

    var isAtEnd: Bool { place == bytes.count }
    var damaged: RecordError { .catalogueDamaged(reason: "\(what) cannot be read at byte \(place)") }

    mutating func byte() throws(RecordError) -> UInt8 {
        guard place < bytes.count else { throw damaged }
        place += 1
        return bytes[place - 1]
    }

    mutating func number<T: FixedWidthInteger & UnsignedInteger>() throws(RecordError) -> T {
        var number: T = 0
        for shift in stride(from: 0, to: T.bitWidth, by: 8) { number |= T(truncatingIfNeeded: try byte()) << T(shift) }
        return number
    }

    /// Reads a count of elements, each of which takes at least one byte.
    mutating func count() throws(RecordError) -> Int {
        let count = Int(try number() as UInt32)
        guard count <= bytes.count - place else { throw damaged }
        return count
    }

    mutating func blob() throws(RecordError) -> [UInt8] {
        let count = try count()
        place += count
        return Array(bytes[place - count..<place])
    }

    mutating func text() throws(RecordError) -> String { String(decoding: try blob(), as: UTF8.self) }

    mutating func value() throws(RecordError) -> Value {
        switch try byte() {
        case 0: return .null
        case 1: return .bool(try byte() != 0)
        case 2: return .integer(Int64(bitPattern: try number()))
        case 3: return .unsignedInteger(try number())
        case 4: return .double(Double(bitPattern: try number()))
        case 5: return .text(try text())
        case 6: return .blob(try blob())
        case 7: return .date(Double(bitPattern: try number()))
        case 8: return .uuid(try number(), try number())
        default: throw damaged
        }
    }
}
