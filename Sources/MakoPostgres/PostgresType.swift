import MakoRecords

/// The type of a column in PostgreSQL, and the text of its values: the type map of the mirror and of the export.
///
/// | Mako | PostgreSQL | lost or refused |
/// |---|---|---|
/// | bool | `boolean` | |
/// | integer, reference | `bigint` | |
/// | unsigned | `numeric(20)` | |
/// | double | `double precision` | all NaN are one |
/// | text | `text` | U+0000 is refused |
/// | blob, encrypted values | `bytea` | encrypted values stay encrypted |
/// | date | `timestamp with time zone` | rounded to microseconds; NaN, and years before -4712 or after 294275, are refused |
/// | date in a key | `double precision` | seconds since 2001, because two keys may differ by less than a microsecond |
/// | uuid | `uuid` | |
/// | keys | `jsonb` | the types of a dictionary's keys; U+0000 in them is refused |
enum PostgresType: Sendable, Hashable {
    case boolean, bigint, numeric, double, text, bytea, timestamp, uuid, jsonb

    /// - Parameter isKey: whether the column is a part of the primary key.
    init(_ type: ColumnType, isKey: Bool) {
        self =
            switch type {
            case .bool: .boolean
            case .integer, .reference: .bigint
            case .unsigned: .numeric
            case .double: .double
            case .text: .text
            case .blob: .bytea
            case .date: isKey ? .double : .timestamp
            case .uuid: .uuid
            case .keys: .jsonb
            }
    }

    /// The name of the type.
    var name: String {
        switch self {
        case .boolean: "boolean"
        case .bigint: "bigint"
        case .numeric: "numeric(20)"
        case .double: "double precision"
        case .text: "text"
        case .bytea: "bytea"
        case .timestamp: "timestamp with time zone"
        case .uuid: "uuid"
        case .jsonb: "jsonb"
        }
    }

    /// Why PostgreSQL has no form for a value.
    struct Refusal: Error {
        let reason: String
    }

    /// Returns the text of a value, neither quoted nor escaped; `nil` for NULL.
    func text(_ value: Value) throws(Refusal) -> String? {
        switch (self, value) {
        case (_, .null): return nil
        case (.timestamp, .date(let seconds)): return try PostgresDate.text(seconds)
        case (.jsonb, .blob(let bytes)):
            guard let tree = KeyTree(bytes) else { throw Refusal(reason: "is damaged: it is no list of keys") }
            return try PostgresType.refusingZero(KeyTreeText.json(tree))
        default: return try PostgresType.plain(value)
        }
    }

    private static func plain(_ value: Value) throws(Refusal) -> String? {
        switch value {
        case .null: nil
        case .bool(let flag): flag ? "t" : "f"
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .double(let number), .date(let number): double(number)
        case .text(let text): try refusingZero(text)
        case .blob(let bytes): "\\x" + hexadecimal(bytes)
        case .uuid(let high, let low): hexadecimal(bigEndian(high) + bigEndian(low))
        }
    }

    private static func refusingZero(_ text: String) throws(Refusal) -> String {
        if text.utf8.contains(0) { throw Refusal(reason: "has the character U+0000, which PostgreSQL refuses") }
        return text
    }

    private static func double(_ number: Double) -> String {
        number.isNaN ? "NaN" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
    }

    private static func bigEndian(_ word: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Dates as `timestamp with time zone`.
enum PostgresDate {
    /// The years that PostgreSQL has.
    static let years = -4712...294_275

    /// Returns the date, rounded to microseconds.
    static func text(_ seconds: Double) throws(PostgresType.Refusal) -> String {
        if seconds.isInfinite { return seconds < 0 ? "-infinity" : "infinity" }
        guard abs(seconds) < 1e13 else { throw refused(seconds) }
        var whole = seconds.rounded(.down)
        var micros = ((seconds - whole) * 1e6).rounded()
        if micros >= 1e6 { (whole, micros) = (whole + 1, 0) }
        let (days, time) = DateText.daysAndTime(whole)
        let (year, month, day) = DateText.civil(days)
        guard years.contains(year) else { throw refused(seconds) }
        func padded(_ number: Int, _ width: Int = 2) -> String { DateText.padded(number, width) }
        let date = "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(month))-\(padded(day))"
        let clock = "\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))"
        let fraction = micros == 0 ? "" : "." + padded(Int(micros), 6)
        return "\(date) \(clock)\(fraction)+00\(year > 0 ? "" : " BC")"
    }

    private static func refused(_ seconds: Double) -> PostgresType.Refusal {
        PostgresType.Refusal(
            reason: "is a date of \(seconds) seconds since 2001, which is none of the years that PostgreSQL has")
    }
}

/// Quotes names and values, and escapes those of COPY.
package enum PostgresText {
    /// A name in double quotes.
    package static func name(_ name: String) -> String { quoted(name, UInt8(ascii: "\"")) }

    /// A value as a literal, under `standard_conforming_strings`.
    package static func literal(_ text: String?) -> String { text.map { quoted($0, UInt8(ascii: "'")) } ?? "NULL" }

    private static func quoted(_ text: String, _ quote: UInt8) -> String {
        var bytes = [quote]
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            if byte == quote { bytes.append(quote) }
            bytes.append(byte)
        }
        bytes.append(quote)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A row of COPY's text format.
    static func copyLine(_ fields: [String?]) -> String { fields.map(copyField).joined(separator: "\t") + "\n" }

    private static func copyField(_ text: String?) -> String {
        guard let text else { return "\\N" }
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 < 32 }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += [byte, byte]
            case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
            case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
            case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
