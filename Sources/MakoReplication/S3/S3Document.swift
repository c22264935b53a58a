#if Replication
    /// A strict reader for the small XML documents of S3: elements and texts, without attributes' values, doctypes and sections.
    struct S3Document {
        struct Element: Hashable {
            var name: String
            var text = ""
            var children: [Element] = []

            func child(_ name: String) -> Element? { children.first { $0.name == name } }
            func all(_ name: String) -> [Element] { children.filter { $0.name == name } }

            /// The text of the first element of a name, at any depth.
            func first(_ name: String) -> String? {
                if self.name == name { return text }
                for child in children { if let found = child.first(name) { return found } }
                return nil
            }
        }

        private static let deepest = 16

        /// The element that holds all others; nil when the bytes are no such document.
        static func parse(_ bytes: [UInt8]) -> Element? {
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            var open: [Element] = []
            var root: Element?
            var rest = Substring(text)
            if rest.first == "\u{feff}" { rest.removeFirst() }
            while let start = rest.firstIndex(of: "<") {
                guard add(rest[..<start], to: &open), let end = rest[start...].firstIndex(of: ">") else { return nil }
                let tag = rest[rest.index(after: start)..<end]
                rest = rest[rest.index(after: end)...]
                if tag.hasPrefix("?") { continue }
                if tag.hasPrefix("!") { return nil }
                if tag.hasPrefix("/") {
                    guard let last = open.popLast(), tag.dropFirst() == last.name else { return nil }
                    guard close(last, &open, &root) else { return nil }
                    continue
                }
                let isEmpty = tag.hasSuffix("/")
                let name = tag.prefix { !$0.isWhitespace && $0 != "/" }
                guard !name.isEmpty, open.count < deepest, root == nil else { return nil }
                let element = Element(name: String(name))
                if isEmpty {
                    guard close(element, &open, &root) else { return nil }
                } else {
                    open.append(element)
                }
            }
            guard open.isEmpty, rest.allSatisfy(\.isWhitespace) else { return nil }
            return root
        }

        private static func close(_ element: Element, _ open: inout [Element], _ root: inout Element?) -> Bool {
            guard !open.isEmpty else {
                guard root == nil else { return false }
                root = element
                return true
            }
            open[open.count - 1].children.append(element)
            return true
        }

        private static func add(_ text: Substring, to open: inout [Element]) -> Bool {
            guard !open.isEmpty else { return text.allSatisfy(\.isWhitespace) }
            guard let decoded = decode(text) else { return false }
            open[open.count - 1].text += decoded
            return true
        }

        private static func decode(_ text: Substring) -> String? {
            guard text.contains("&") else { return String(text) }
            var decoded = ""
            var rest = text
            while let start = rest.firstIndex(of: "&") {
                decoded += rest[..<start]
                guard let end = rest[start...].firstIndex(of: ";"),
                    let character = character(rest[rest.index(after: start)..<end])
                else { return nil }
                decoded.append(character)
                rest = rest[rest.index(after: end)...]
            }
            return decoded + rest
        }

        private static func character(_ name: Substring) -> Character? {
            switch name {
            case "amp": return "&"
            case "lt": return "<"
            case "gt": return ">"
            case "quot": return "\""
            case "apos": return "'"
            default:
                let code =
                    name.hasPrefix("#x")
                    ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
                return code.flatMap(UnicodeScalar.init).map(Character.init)
            }
        }
    }
#endif
