/// The value of a column that refers to rows of any table: a table, and the key of a row in it.
///
/// The column is a text column whose schema has the target ``anyTable``. The text is `Person:5`, or for a key made of
/// columns its bytes, `Account:x616461`; in the table's name a colon is written `%3A`, and a percent sign `%25`.
///
/// A column of keys with the target ``anyTable`` holds such texts as byte keys: ``element``.
///
/// ```swift
/// let reference = AnyReference(table: "Person", key: .rowID(5))
/// print(reference.stored)     // 'Person:5'
/// ```
@usableFromInline
package struct AnyReference: Sendable, Hashable {
    /// The target of columns that refer to rows of any table.
    package static let anyTable = "*"

    /// The name of the table.
    package let table: String
    /// The key of the row.
    package let key: RowKey

    /// Makes a reference.
    package init(table: String, key: RowKey) {
        self.table = table
        self.key = key
    }

    /// Decodes a reference.
    ///
    /// - Returns: `nil` if the column's value is not a reference.
    package init?(_ stored: Value) {
        guard case .text(let text) = stored, let colon = text.firstIndex(of: ":"),
            let key = Self.key(text[text.index(after: colon)...])
        else { return nil }
        let name = String(text[..<colon])
        let isEscaped = name.utf8.contains(UInt8(ascii: "%"))
        self.init(
            table: isEscaped ? name.replacing("%3A", with: ":").replacing("%25", with: "%") : name, key: key)
    }

    /// Decodes an element of a column of keys of any table.
    ///
    /// - Returns: `nil` if the key is not the bytes of a reference.
    package init?(element key: RowKey) {
        guard case .bytes(let bytes) = key, bytes.last == 0,
            let text = String(validating: bytes.dropLast(), as: UTF8.self)
        else { return nil }
        self.init(.text(text))
    }

    /// The value of the column.
    package var stored: Value { .text(text) }

    /// The key that a column of keys of any table holds: the UTF-8 of the text, and a zero byte. In the index of the
    /// column the key of the row follows, so no element may begin another, as `Person:1` begins `Person:10`.
    package var element: RowKey { .bytes(Array(text.utf8) + [0]) }

    private var text: String {
        // Replacing characters costs more than all the rest, and few names have them.
        if !table.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: ":") }) {
            return "\(table):\(keyText)"
        }
        let name = table.replacing("%", with: "%25").replacing(":", with: "%3A")
        return "\(name):\(keyText)"
    }

    private var keyText: String {
        switch key {
        case .rowID(let id): return "\(id)"
        case .bytes(let bytes):
            var text = "x"
            for byte in bytes {
                text += String(byte >> 4, radix: 16)
                text += String(byte & 15, radix: 16)
            }
            return text
        }
    }

    private static func key(_ text: Substring) -> RowKey? {
        guard text.first == "x" else { return Int64(text).map { .rowID($0) } }
        let digits = text.utf8.dropFirst().map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[place], let low = digits[place + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return .bytes(bytes)
    }
}
