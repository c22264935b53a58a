/// A syntax or binding error in a condition, expression or statement.
///
/// `description` prints the text with a caret under the error:
///
///     Person has no column nmae; did you mean name?
///       nmae = 'Ada'
///       ^~~~
public struct QueryError: Error, Sendable, Hashable {
    /// The whole text; empty if the condition was built by code.
    public var text: String
    /// The position of the error, in UTF-8 bytes.
    public var offset: Int
    /// The number of bytes of the erroneous part, at least 1.
    public var length: Int
    /// The message.
    public var message: String
    /// The nearest existing name, if a name is wrong.
    public var nearest: String?

    /// Makes an error.
    package init(text: String, offset: Int, length: Int = 1, message: String, nearest: String? = nil) {
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
        // Of a text with several lines, prints the line of the error only.
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

    /// Returns the position of the caret. An error at the end of a text with trailing line breaks is shown after its
    /// last word, not on an empty line.
    private func shownPlace(_ bytes: [UInt8]) -> Int {
        let place = min(max(offset, 0), bytes.count)
        let isBlank = { (byte: UInt8) in byte <= 32 }
        guard bytes[place...].allSatisfy(isBlank), let last = bytes[..<place].lastIndex(where: { !isBlank($0) }),
            bytes[last..<place].contains(10)
        else { return place }
        return last + 1
    }
}
