import MakoRecords
import MakoStorage
import MakoTestSupport

/// Reads a table from the bytes of its trees as `docs/format.md` describes them, without code of the record layer.
struct PlainTable {
    struct Column {
        var name: String
        var type: UInt8
        var isNoCase: Bool
        var fill: Value
        var hasTarget: Bool
    }

    struct Index {
        var id: Int
        var isUnique: Bool
        var parts: [(ordinal: Int, descending: Bool, noCase: Bool)]
    }

    let id: Int
    let hasRowIDs: Bool
    /// By ordinal.
    private(set) var columns: [Column] = []
    /// The ordinals of those that live, in their order.
    private(set) var live: [Int] = []
    private(set) var indexes: [Index] = []

    /// The entry of the catalogue.
    init(_ entry: [UInt8]) {
        var source = PlainSource(entry)
        _ = source.number(1)
        id = Int(source.number(4))
        _ = source.number(12)
        hasRowIDs = source.number(1) == 0
        let keys = hasRowIDs ? 1 : Int(source.number(4))
        for _ in 0..<keys { _ = source.text() }
        for _ in 0..<source.number(4) {
            let name = source.text()
            var type = UInt8(source.number(1))
            let isNoCase = type == 17
            if isNoCase { type = UInt8(source.number(1)) }
            let flags = source.number(1)
            _ = source.value()
            columns.append(
                Column(
                    name: name, type: type, isNoCase: isNoCase, fill: source.value(), hasTarget: flags & 4 != 0))
            if flags & 4 != 0 { _ = source.text() }
        }
        for _ in 0..<source.number(4) { live.append(Int(source.number(4))) }
        for _ in 0..<source.number(4) {
            var index = Index(id: Int(source.number(4)), isUnique: false, parts: [])
            _ = source.text()
            index.isUnique = source.number(1) == 1
            for _ in 0..<source.number(4) {
                let name = source.text()
                let flags = source.number(1)
                let ordinal = live.first { columns[$0].name == name } ?? 0
                index.parts.append((ordinal, flags & 1 != 0, flags & 2 != 0))
            }
            indexes.append(index)
        }
    }

    /// The values of a row by ordinal, those of columns it does not have being the fill values.
    func values(_ row: [UInt8]) -> [Value] {
        var head = PlainSource(Array(row[2..<4]))
        let count = Int(head.number(2))
        var places: [Int] = []
        var place = 8
        for column in columns.prefix(count) {
            places.append(place)
            place += column.type == 1 ? 1 : column.type == 8 ? 16 : 8
        }
        let (nulls, heap) = (place, place + (count + 7) / 8)
        return columns.enumerated().map { ordinal, column in
            guard ordinal < count else { return column.fill }
            if row[nulls + ordinal / 8] >> UInt8(ordinal % 8) & 1 == 1 { return .null }
            var slot = PlainSource(Array(row[places[ordinal]...]))
            switch column.type {
            case 1: return .bool(slot.number(1) == 1)
            case 2, 9: return .integer(Int64(bitPattern: slot.number(8)))
            case 3: return .unsignedInteger(slot.number(8))
            case 4: return .double(Double(bitPattern: slot.number(8)))
            case 7: return .date(Double(bitPattern: slot.number(8)))
            case 8: return .uuid(slot.number(8), slot.number(8))
            default:
                let start = heap + Int(slot.number(4))
                let bytes = Array(row[start..<start + Int(slot.number(4))])
                return column.type == 5 ? .text(String(decoding: bytes, as: UTF8.self)) : .blob(bytes)
            }
        }
    }

    /// The entry that an index has of a row.
    func entry(_ index: Index, of values: [Value], key: ModelKey) -> [UInt8] {
        var entry: [UInt8] = []
        for part in index.parts {
            let coded = PlainTable.coded(values[part.ordinal], noCase: part.noCase)
            entry += part.descending ? coded.map { ~$0 } : coded
        }
        let isCut = entry.count > 800
        if isCut { entry = entry.prefix(784) + PlainTable.hash(entry[784...]) }
        if index.isUnique, !isCut, !index.parts.contains(where: { values[$0.ordinal].isNull }) { return entry }
        switch key {
        case .integer(let number): return entry + PlainTable.bigEndian(number)
        case .bytes(let bytes): return entry + (bytes.count <= 64 ? bytes : PlainTable.hash(bytes[...]))
        }
    }

    private static func coded(_ value: Value, noCase: Bool) -> [UInt8] {
        switch value {
        case .null: [0]
        case .bool(let flag): [2, flag ? 1 : 0]
        case .integer(let number): [number < 0 ? 1 : 2] + bigEndian(UInt64(bitPattern: number))
        case .unsigned(let number): [2] + bigEndian(number)
        case .double(let number), .date(let number): [2] + bigEndian(ordered(number))
        case .uuid(let high, let low): [2] + bigEndian(high) + bigEndian(low)
        case .blob(let bytes): [2] + escaped(bytes) + [0]
        case .text(let text):
            [2] + escaped(Array((noCase ? lowered(text) : text).utf8)) + [0]
        }
    }

    private static func lowered(_ text: String) -> String {
        text.unicodeScalars.map(\.properties.lowercaseMapping).joined()
    }

    private static func escaped(_ bytes: [UInt8]) -> [UInt8] { bytes.flatMap { $0 < 2 ? [1, $0 + 1] : [$0] } }

    private static func ordered(_ number: Double) -> UInt64 {
        if number.isNaN { return 0 }
        let bits = number == 0 ? 0 : number.bitPattern
        return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    }

    static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var (a, b) = (0x243F_6A88_85A3_08D3 as UInt64, 0x1319_8A2E_0370_7344 as UInt64)
        func mix(_ word: UInt64) {
            let first = (a ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            let second = (b &+ word).multipliedFullWidth(by: 0xD1B5_4A32_D192_ED03)
            a = (first.high ^ first.low) &+ (b << 23 | b >> 41)
            b = (second.high ^ second.low) ^ (a << 37 | a >> 27)
        }
        var rest = bytes
        while rest.count >= 8 {
            mix(rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
            rest = rest.dropFirst(8)
        }
        mix(rest.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        mix(UInt64(bytes.count))
        mix(0xA409_3822_299F_31D0)
        return bigEndian(a) + bigEndian(b)
    }
}

/// Little-endian numbers, and texts with their length before them.
struct PlainSource {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func number(_ count: Int) -> UInt64 {
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func bytes() -> [UInt8] {
        let count = Int(number(4))
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }

    mutating func value() -> Value {
        switch number(1) {
        case 1: .bool(number(1) == 1)
        case 2: .integer(Int64(bitPattern: number(8)))
        case 3: .unsignedInteger(number(8))
        case 4: .double(Double(bitPattern: number(8)))
        case 5: .text(text())
        case 6: .blob(bytes())
        case 7: .date(Double(bitPattern: number(8)))
        case 8: .uuid(number(8), number(8))
        default: .null
        }
    }
}
