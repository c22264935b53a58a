/// A file of the format of sqllogictest: statements, and queries with the values that they give, record by record.
package struct LogicScript {
    /// The engines whose records are taken.
    private static let engines: Set<String> = ["mako", "sqlite"]

    enum Sort: String { case nosort, rowsort, valuesort }

    /// The result of a query: its values, or their number and their MD5.
    enum Answer: Equatable {
        case values([String])
        case hash(count: Int, String)
    }

    enum Action {
        case statement(isFailing: Bool)
        case query(types: [Character], Sort, Answer)
    }

    struct Record {
        let line: Int
        let sql: String
        let action: Action
    }

    /// The name of the script's file.
    package let name: String
    let records: [Record]

    /// - Throws: ``LogicFault`` for a line that is none of the format.
    package init(name: String, _ text: String) throws {
        self.name = name
        var records: [Record] = []
        var reader = LineReader(text)
        records: while let (line, words) = reader.header() {
            var words = words
            var isTaken = true
            while words[0] == "skipif" || words[0] == "onlyif" {
                guard words.count > 1 else { throw LogicFault(name, line, "\(words[0]) names no engine") }
                let isOurs =
                    words[0] == "skipif"
                    ? words[1] == "mako" || words[1] == "sqlite" : LogicScript.engines.contains(words[1])
                if (words[0] == "skipif") == isOurs { isTaken = false }
                guard let next = reader.next() else { break records }
                words = LineReader.words(next)
            }
            switch words.first {
            case "statement":
                let sql = reader.paragraph().joined(separator: "\n")
                let isFailing = words.dropFirst().first == "error"
                if isTaken { records.append(Record(line: line, sql: sql, action: .statement(isFailing: isFailing))) }
            case "query":
                let (sql, results) = reader.query()
                guard words.count > 1 else { throw LogicFault(name, line, "a query without types") }
                let sort = words.count > 2 ? Sort(rawValue: words[2]) : .nosort
                guard let sort else { throw LogicFault(name, line, "\(words[2]) is no way to sort") }
                let action = Action.query(types: Array(words[1]), sort, LogicScript.answer(results))
                if isTaken { records.append(Record(line: line, sql: sql, action: action)) }
            case "hash-threshold": break
            case "halt": if isTaken { break records }
            default: throw LogicFault(name, line, "\(words.first ?? "") begins no record")
            }
        }
        self.records = records
    }

    private static func answer(_ lines: [String]) -> Answer {
        if lines.count == 1 {
            let words = LineReader.words(lines[0])
            if words.count == 5, words[1...3] == ["values", "hashing", "to"], let count = Int(words[0]) {
                return .hash(count: count, words[4])
            }
        }
        return .values(lines)
    }
}

/// A record that is not of the format, or that the database answers otherwise.
package struct LogicFault: Error, CustomStringConvertible {
    package let description: String

    init(_ script: String, _ line: Int, _ reason: String) { description = "\(script):\(line): \(reason)" }
}

/// The lines of a script.
private struct LineReader {
    private let lines: [Substring]
    private var place = 0

    init(_ text: String) { lines = text.split(separator: "\n", omittingEmptySubsequences: false) }

    static func words(_ line: String) -> [String] {
        line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    mutating func next() -> String? {
        guard place < lines.count else { return nil }
        defer { place += 1 }
        return lines[place].hasSuffix("\r") ? String(lines[place].dropLast()) : String(lines[place])
    }

    /// The next line with words, and its number.
    mutating func header() -> (Int, [String])? {
        while let line = next() {
            let words = LineReader.words(line)
            if !words.isEmpty { return (place, words) }
        }
        return nil
    }

    /// The lines up to an empty one.
    mutating func paragraph() -> [String] {
        var lines: [String] = []
        while let line = next(), !line.isEmpty { lines.append(line) }
        return lines
    }

    /// The words of a query and, behind `----`, what it gives.
    mutating func query() -> (String, [String]) {
        let lines = paragraph()
        guard let end = lines.firstIndex(of: "----") else { return (lines.joined(separator: "\n"), []) }
        return (lines[..<end].joined(separator: "\n"), Array(lines[(end + 1)...]))
    }
}
