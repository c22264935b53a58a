import MakoRecords
import MakoStorage

/// Formats values for the page.
enum StudioCell {
    /// The length at which texts in grids are cut.
    static let textLimit = 1_000
    static let wholeLimit = 1 << 20

    static func kind(of type: ColumnType) -> String {
        switch type {
        case .bool: "bool"
        case .integer, .unsigned, .reference: "int"
        case .double: "real"
        case .text: "text"
        case .blob, .keys: "blob"
        case .date: "date"
        case .uuid: "uuid"
        }
    }

    static func kind(of value: Value) -> String {
        switch value {
        case .null: "text"
        case .bool: "bool"
        case .integer, .unsigned: "int"
        case .double: "real"
        case .text(let text): isJSON(text) ? "json" : "text"
        case .blob: "blob"
        case .date: "date"
        case .uuid: "uuid"
        }
    }

    static func json(_ value: Value, isWhole: Bool = false) -> JSONValue {
        if value.isNull { return .null }
        if case .blob(let bytes) = value { return blob(bytes) }
        let text = PlainText.of(value)
        var members: [(key: String, value: JSONValue)] = [("kind", .string(kind(of: value)))]
        let limit = isWhole ? wholeLimit : textLimit
        // The bytes first: a text has at most as many characters as bytes.
        if text.utf8.count > limit, text.count > limit {
            members += [
                ("text", .string(String(text.prefix(limit)))), ("cut", .bool(true)), ("length", .number(text.count)),
            ]
        } else {
            members.append(("text", .string(text)))
        }
        return .object(members)
    }

    static func sealed(_ value: Value) -> JSONValue {
        guard case .blob(let bytes) = value else { return json(value) }
        return .object([("kind", .string("blob")), ("size", .number(bytes.count)), ("encrypted", .bool(true))])
    }

    private static func blob(_ bytes: [UInt8]) -> JSONValue {
        let media = mediaType(of: bytes).map(JSONValue.string) ?? .null
        return .object([("kind", .string("blob")), ("size", .number(bytes.count)), ("media", media)])
    }

    /// The media type of a picture that browsers show.
    static func mediaType(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: Array("GIF8".utf8)) { return "image/gif" }
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        return nil
    }

    private static func isJSON(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, let last = bytes.last, bytes.count <= textLimit else { return false }
        guard (first, last) == (0x7B, 0x7D) || (first, last) == (0x5B, 0x5D) else { return false }
        var scanner = JSONScanner(ByteInput(text))
        return (try? scanner.value()) != nil
    }
}
