/// A text as a key: equal texts have the same UTF-8 bytes, as the database compares them.
///
/// `String` compares by canonical equivalence: "é" as one scalar equals "é" as a letter and an accent. A dictionary by `String` merges the two,
/// and answers with what belongs to the other.
package struct TextKey: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: TextKey, right: TextKey) -> Bool {
        var (a, b) = (left.text, right.text)
        return a.withUTF8 { a in b.withUTF8 { b in a.count == b.count && a.elementsEqual(b) } }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: .init($0)) }
        // The end, so that two texts behind each other are told from others with the same bytes.
        hasher.combine(0xFF as UInt8)
    }
}
