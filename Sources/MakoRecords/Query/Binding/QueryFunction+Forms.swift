// Functions with special forms: date functions, CAST and typeof.

extension QueryFunction {
    /// Whether it takes a date and modifiers.
    var takesMoment: Bool {
        switch self {
        case .date, .time, .datetime, .julianday, .unixepoch, .strftime: true
        default: false
        }
    }

    /// Returns the result of a date function.
    func result(_ moment: Moment, _ form: String?) -> Value {
        guard let seconds = moment.seconds else { return .null }
        switch self {
        case .date: return moment.midnight.seconds.map { .date($0) } ?? .null
        case .datetime: return .date(seconds.rounded(.down))
        case .time: return DateText.format(seconds, "%H:%M:%S").map { .text($0) } ?? .null
        case .julianday: return .double(moment.julianDay)
        case .unixepoch: return .integer(moment.unixSeconds)
        default: return form.flatMap { DateText.format(seconds, $0) }.map { .text($0) } ?? .null
        }
    }

    /// Returns whether a CAST takes values of a kind; `nil` for other functions.
    func casts(_ kind: ValueKind) -> Bool? {
        switch self {
        case .castText, .castBlob: true
        case .castInteger, .castReal, .castBool: kind.isNumber || [.bool, .text, .blob, .decimal].contains(kind)
        case .castDate: kind == .text || kind == .date
        case .castUUID: kind == .text || kind == .uuid
        default: nil
        }
    }

    /// Returns the result of a CAST.
    ///
    /// - Parameter arena: owns the bytes of the result.
    func cast(_ operand: Operand, _ arena: inout Arena) -> Operand {
        switch (self, operand) {
        case (.castText, _): Cast.text(operand).map { .text(arena.keep($0)) } ?? .null
        case (.castInteger, _): Cast.integer(operand)
        case (.castReal, _): Cast.real(operand)
        case (.castBool, _): Cast.bool(operand)
        case (.castBlob, .text(let bytes)), (.castBlob, .blob(let bytes)): .blob(bytes)
        case (.castBlob, _): Cast.text(operand).map { .blob(arena.keep(Array($0.utf8))) } ?? .null
        case (.castDate, .date), (.castUUID, .uuid): operand
        case (.castDate, .text(let bytes)):
            DateText.parse(String(decoding: bytes, as: UTF8.self)).map { .date($0) } ?? .null
        case (.castUUID, .text(let bytes)):
            UUIDText.parse(String(decoding: bytes, as: UTF8.self)).map { .uuid($0.high, $0.low) } ?? .null
        default: .null
        }
    }
}

extension Operand {
    /// The result of `typeof`: SQLite's name of the type, and for other types that of `CREATE TABLE`.
    var sqlType: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer, .unsigned: "integer"
        case .double: "real"
        case .date: "date"
        case .text: "text"
        case .blob: "blob"
        case .uuid: "uuid"
        }
    }
}
