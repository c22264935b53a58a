/// A text as a dictionary key that compares UTF-8 bytes, as the database does.
///
/// `String` compares by canonical equivalence: "é" as one scalar equals "é" as a letter and an accent. A dictionary
/// with `String` keys would merge such texts.
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
        // Add a terminator, so that consecutive texts hash differently from other texts with the same bytes.
        hasher.combine(0xFF as UInt8)
    }
}
