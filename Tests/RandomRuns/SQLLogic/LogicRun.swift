import Foundation
import MakoRecords
import MakoStorage

/// Runs scripts of sqllogictest and counts what came of them.
package struct LogicReport {
    /// Statements that were run.
    package var statements = 0
    /// Queries that were run and compared.
    package var queries = 0
    /// Records that cannot say anything: they read a table of which a change was refused.
    package var passedOver = 0
    /// Answers that differ, changes that fail or succeed where they must not.
    package var faults: [LogicFault] = []
    /// How many records were refused for a reason, in the words of the message without the names in it.
    package var refusals: [String: Int] = [:]

    package init() {}

    /// Runs a script and adds its results.
    package mutating func run(_ script: LogicScript) throws {
        var run = try LogicRun(script)
        try run.run(&self)
    }

    /// Refusals that a list does not permit: a new reason, or more of one.
    package func excess(over allowed: [String: Int]) -> [String] {
        refusals.filter { $0.value > allowed[$0.key] ?? 0 }.keys.sorted().map {
            "\(refusals[$0] ?? 0) refusals, \(allowed[$0] ?? 0) allowed: \($0)"
        }
    }

    /// The refusals as a list: `count | reason`, the most frequent first.
    package var refusalList: String {
        refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) | \($0.key)\n" }.joined()
    }

    /// Reads a list of refusals.
    package static func allowed(_ list: String) -> [String: Int] {
        var allowed: [String: Int] = [:]
        for line in list.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "|", maxSplits: 1)
            guard parts.count == 2, let count = Int(parts[0].trimmingCharacters(in: .whitespaces)) else { continue }
            allowed[parts[1].trimmingCharacters(in: .whitespaces), default: 0] += count
        }
        return allowed
    }
}

/// One script over a database of its own.
private struct LogicRun {
    private let script: LogicScript
    private let store: Store
    private var catalogue: Catalogue
    /// Tables of which a change was refused, in small letters.
    private var unlike: Set<String> = []

    init(_ script: LogicScript) throws {
        self.script = script
        store = try Store.inMemory()
        catalogue = try Catalogue.load(view: try store.snapshot())
    }

    mutating func run(_ report: inout LogicReport) throws {
        for record in script.records {
            if reads(record.sql, unlike) {
                report.passedOver += 1
                continue
            }
            switch record.action {
            case .statement(let isFailing): change(record, isFailing, &report)
            case .query(let types, let sort, let answer): runQuery(record, types, sort, answer, &report)
            }
        }
        try store.close()
    }

    private mutating func change(_ record: LogicScript.Record, _ isFailing: Bool, _ report: inout LogicReport) {
        report.statements += 1
        do {
            var changes = ChangeSet()
            let statement = try Statement.parse(record.sql)
            let catalogue = catalogue
            let outcome = try store.write { tx in try statement.run(catalogue, in: tx, changes: &changes) }
            if outcome.changesSchema { self.catalogue = try Catalogue.load(view: try store.snapshot()) }
            if isFailing { report.faults.append(fault(record, "it succeeds and must fail")) }
        } catch {
            if isFailing { return }
            report.refusals[LogicRun.reason(error, record.sql), default: 0] += 1
            if let table = LogicRun.changedTable(record.sql) { unlike.insert(table) }
        }
    }

    private func runQuery(
        _ record: LogicScript.Record, _ types: [Character], _ sort: LogicScript.Sort, _ answer: LogicScript.Answer,
        _ report: inout LogicReport
    ) {
        report.queries += 1
        let rows: [[Value]]
        do {
            let catalogue = catalogue
            rows = try store.read { view in try Statement.parse(record.sql).read(catalogue, view: view).rows }
        } catch {
            report.refusals[LogicRun.reason(error, record.sql), default: 0] += 1
            return
        }
        if let first = rows.first, first.count != types.count {
            return report.faults.append(fault(record, "\(first.count) columns, \(types.count) expected"))
        }
        let found = LogicRun.values(rows, types, sort)
        switch answer {
        case .values(let wanted) where found != wanted:
            report.faults.append(fault(record, "gives \(found.prefix(12)), wanted \(wanted.prefix(12))"))
        case .hash(let count, let hash):
            var bytes: [UInt8] = []
            for value in found { bytes += Array(value.utf8) + [10] }
            if found.count != count || MD5.hexadecimal(bytes) != hash {
                report.faults.append(
                    fault(record, "\(found.count) values, \(count) wanted, or others; the first are \(found.prefix(8))")
                )
            }
        default: break
        }
    }

    private func fault(_ record: LogicScript.Record, _ reason: String) -> LogicFault {
        LogicFault(script.name, record.line, "\(record.sql.prefix(400)): \(reason)")
    }

    // MARK: Values

    private static func values(
        _ rows: [[Value]], _ types: [Character], _ sort: LogicScript.Sort
    ) -> [String] {
        var lines = rows.map { row in zip(row, types).map { text($0, $1) } }
        func precedes(_ a: String, _ b: String) -> Bool { Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8)) }
        switch sort {
        case .nosort: return lines.flatMap { $0 }
        case .rowsort:
            lines.sort { first, second in
                for (a, b) in zip(first, second) where a != b { return precedes(a, b) }
                return false
            }
            return lines.flatMap { $0 }
        case .valuesort: return lines.flatMap { $0 }.sorted(by: precedes)
        }
    }

    private static func text(_ value: Value, _ type: Character) -> String {
        switch (value, type) {
        case (.null, _): return "NULL"
        case (.double(let number), "I"):
            return Int64(exactly: number.rounded(.towardZero)).map { "\($0)" } ?? "\(number)"
        case (.integer(let number), "R"): return String(format: "%.3f", Double(number))
        case (.unsigned(let number), "R"): return String(format: "%.3f", Double(number))
        case (.double(let number), "R"): return String(format: "%.3f", number)
        case (.bool(let flag), _): return flag ? "1" : "0"
        // A text without a number counts as 0, as in the public runner.
        case (.text(let text), "I"): return "\(Int64(text.prefix { $0.isNumber || $0 == "-" }) ?? 0)"
        case (.text(let text), _):
            if text.isEmpty { return "(empty)" }
            return String(decoding: text.utf8.map { $0 < 32 || $0 == 127 ? UInt8(ascii: "@") : $0 }, as: UTF8.self)
        default: return value.description
        }
    }

    // MARK: Refusals

    /// The message without the statement's own names, numbers and texts.
    private static func reason(_ error: any Error, _ sql: String) -> String {
        var message = "\(error)"
        if case .syntax(let fault)? = error as? RecordError { message = fault.message }
        let known = words(sql)
        var reason: [Substring] = []
        for word in message.prefix(while: { $0 != "\n" }).split(separator: " ") {
            let bare = word.trimmingCharacters(in: CharacterSet(charactersIn: ",.;:()'\""))
            let isName = known.contains(bare.lowercased()) && bare == bare.lowercased() && !kept.contains(bare)
            let isOfStatement = isName || bare.contains { $0.isNumber } || bare.contains("'") || word.contains("\"")
            if !isOfStatement { reason.append(word) } else if reason.last != "…" { reason.append("…") }
        }
        return reason.joined(separator: " ")
    }

    /// Words of messages that statements may have as well.
    private static let kept: Set<String> = [
        "a", "and", "as", "by", "count", "distinct", "exists", "from", "group", "in", "is", "not", "of", "on", "or",
        "select",
        "table", "the", "to", "with", "where", "integer", "text", "double", "index", "all",
    ]

    private static func words(_ sql: String) -> Set<String> {
        Set(sql.lowercased().split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }.map(String.init))
    }

    /// The table that a statement changes or makes.
    private static func changedTable(_ sql: String) -> String? {
        let words = sql.lowercased().split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        for (word, next) in zip(words, words.dropFirst())
        where ["into", "update", "from", "table", "view"].contains(word) {
            if !["or", "if"].contains(next) { return next }
        }
        return words.count > 3 && words[0] == "update" ? words[3] : nil
    }

    private func reads(_ sql: String, _ tables: Set<String>) -> Bool {
        !tables.isEmpty && !LogicRun.words(sql).isDisjoint(with: tables)
    }
}
