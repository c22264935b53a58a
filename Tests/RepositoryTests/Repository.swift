import Foundation

/// The files of this repository, as the tests look at them.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    struct File {
        /// From the root on.
        var path: String
        var text: String

        /// The text with comments and the insides of string literals blanked out; line numbers stay.
        var code: String {
            Repository.codes.with { codes in
                if let known = codes[path] { return known }
                let code = SwiftText.code(text)
                codes[path] = code
                return code
            }
        }
    }

    /// The code of files without comments, cached because it takes a while.
    private static let codes = Kept<[String: String]>([:])

    private final class Kept<Value>: @unchecked Sendable {
        // Unchecked: the lock.
        private let lock = NSLock()
        private var value: Value
        init(_ value: Value) { self.value = value }
        func with<R>(_ body: (inout Value) -> R) -> R { lock.withLock { body(&value) } }
    }

    /// The files below a folder that end in one of the extensions, sorted; build folders and corpora are left out.
    static func files(in folder: String, extensions: Set<String> = ["swift"]) -> [File] {
        guard let enumerator = FileManager.default.enumerator(atPath: root + "/" + folder) else { return [] }
        var files: [File] = []
        for case let name as String in enumerator {
            let parts = name.split(separator: "/")
            if parts.contains(where: { $0.hasPrefix(".build") || $0 == "Corpus" }) { continue }
            guard let dot = name.lastIndex(of: "."), extensions.contains(String(name[name.index(after: dot)...])) else {
                continue
            }
            if let text = read(folder + "/" + name) { files.append(File(path: folder + "/" + name, text: text)) }
        }
        return files.sorted { $0.path < $1.path }
    }

    static func read(_ path: String) -> String? {
        try? String(contentsOfFile: root + "/" + path, encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root + "/" + path)
    }
}

/// Enough of Swift's lexical rules to tell code from comments and text.
enum SwiftText {
    static func code(_ text: String) -> String {
        var scanner = Scanner(bytes: Array(text.utf8))
        return scanner.run()
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        var result: [UInt8] = []

        mutating func run() -> String {
            while index < bytes.count {
                if matches("//") {
                    blank(while: { !$0.isAtLineEnd })
                } else if matches("/*") {
                    blockComment()
                } else if let quote = openingQuote() {
                    literal(quote)
                } else {
                    result.append(bytes[index])
                    index += 1
                }
            }
            return String(decoding: result, as: UTF8.self)
        }

        var isAtLineEnd: Bool { bytes[index] == UInt8(ascii: "\n") }

        func matches(_ text: String, at offset: Int = 0) -> Bool {
            let start = index + offset
            guard start < bytes.count, bytes[start] == text.utf8.first else { return false }
            return bytes[start...].starts(with: text.utf8)
        }

        mutating func blank(_ count: Int = 1) {
            for _ in 0..<count where index < bytes.count {
                result.append(isAtLineEnd ? UInt8(ascii: "\n") : UInt8(ascii: " "))
                index += 1
            }
        }

        mutating func blank(while condition: (Scanner) -> Bool) {
            while index < bytes.count, condition(self) { blank() }
        }

        mutating func blockComment() {
            var depth = 0
            repeat {
                if matches("/*") {
                    depth += 1
                    blank(2)
                } else if matches("*/") {
                    depth -= 1
                    blank(2)
                } else {
                    blank()
                }
            } while depth > 0 && index < bytes.count
        }

        /// The delimiter of a literal that begins here, with the number signs of a raw one.
        func openingQuote() -> (hashes: Int, isMultiline: Bool)? {
            var hashes = 0
            while index + hashes < bytes.count, bytes[index + hashes] == UInt8(ascii: "#") { hashes += 1 }
            guard matches("\"", at: hashes) else { return nil }
            return (hashes, matches("\"\"\"", at: hashes))
        }

        mutating func literal(_ quote: (hashes: Int, isMultiline: Bool)) {
            let hashes = String(repeating: "#", count: quote.hashes)
            let end = (quote.isMultiline ? "\"\"\"" : "\"") + hashes
            let escape = "\\" + hashes
            blank(end.utf8.count)
            while index < bytes.count, !matches(end) {
                if matches(escape + "(") {
                    blank(escape.utf8.count + 1)
                    interpolation()
                } else if matches(escape) {
                    blank(escape.utf8.count + 1)
                } else if isAtLineEnd, !quote.isMultiline {
                    return
                } else {
                    blank()
                }
            }
            blank(end.utf8.count)
        }

        /// Interpolated code counts as code.
        mutating func interpolation() {
            var depth = 1
            while index < bytes.count, depth > 0 {
                if let quote = openingQuote() {
                    literal(quote)
                    continue
                }
                if bytes[index] == UInt8(ascii: "(") { depth += 1 }
                if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
                result.append(bytes[index])
                index += 1
            }
        }
    }
}

extension String {
    /// The lines in which something occurs, counted from 1.
    func lines(containing words: [String]) -> [Int] {
        split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { line in words.contains { line.element.contains($0) } }.map { $0.offset + 1 }
    }
}
