/// A fault in a condition, expression or statement.
///
/// `description` shows the text with a caret under the fault:
///
///     Person has no column nmae; did you mean name?
///       nmae = 'Ada'
///       ^~~~
public struct QueryError: Error, Sendable, Hashable {
    /// The whole text; empty when the condition was built without one.
    public var text: String
    /// Where the fault is, in UTF-8 bytes from the beginning.
    public var offset: Int
    /// How many bytes are at fault, at least 1.
    public var length: Int
    public var message: String
    /// The right name, when the fault is a misspelt one.
    public var nearest: String?

    public init(text: String, offset: Int, length: Int = 1, message: String, nearest: String? = nil) {
        self.text = text
        self.offset = offset
        self.length = length
        self.message = message
        self.nearest = nearest
    }
}

extension QueryError: CustomStringConvertible {
    public var description: String {
        var result = message + RecordError.suggestion(nearest)
        if text.isEmpty { return result }
        // Of a text in several lines only the line at fault is shown.
        let bytes = Array(text.utf8)
        let place = shownPlace(bytes)
        let start = bytes[..<place].lastIndex(of: 10).map { $0 + 1 } ?? 0
        var end = bytes[place...].firstIndex(of: 10) ?? bytes.count
        if end > place, bytes[end - 1] == 13 { end -= 1 }
        let before = String(decoding: bytes[start..<place], as: UTF8.self)
        let fault = String(decoding: bytes[place..<min(end, max(place, place + length))], as: UTF8.self)
        result += "\n  " + String(decoding: bytes[start..<end], as: UTF8.self)
        result += "\n  " + String(before.map { $0 == "\t" ? "\t" : " " }) + "^"
        result += String(repeating: "~", count: max(0, fault.count - 1))
        return result
    }

    /// Where the caret points to. What is missing at the end of a text that ends with line breaks is missing behind its last word, not on an
    /// empty line.
    private func shownPlace(_ bytes: [UInt8]) -> Int {
        let place = min(max(offset, 0), bytes.count)
        let isBlank = { (byte: UInt8) in byte <= 32 }
        guard bytes[place...].allSatisfy(isBlank), let last = bytes[..<place].lastIndex(where: { !isBlank($0) }),
            bytes[last..<place].contains(10)
        else { return place }
        return last + 1
    }
}
