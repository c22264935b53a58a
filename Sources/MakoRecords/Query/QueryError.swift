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
            bytes[last..<place].contains(10), !sabotaged("caretOnEmptyLine")
        else { return place }
        return last + 1
    }
}

/// Finds the name somebody may have meant.
enum Spelling {
    /// The nearest candidate, if it is near: the same letters in another case, or few edits away.
    static func nearest(to name: String, in candidates: [String]) -> String? {
        let wanted = Folding.folded(name)
        var best: (name: String, distance: Int)?
        for candidate in candidates.sorted() {
            let distance = distance(wanted, Folding.folded(candidate))
            if distance <= max(1, wanted.count / 3), distance < wanted.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// Edits between two words; swapping neighbours is one.
    static func distance(_ first: String, _ second: String) -> Int {
        let a = Array(first.unicodeScalars.prefix(64))
        let b = Array(second.unicodeScalars.prefix(64))
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var before = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [Int](repeating: i, count: b.count + 1)
            for j in 1...b.count {
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
