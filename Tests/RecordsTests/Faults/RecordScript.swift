import MakoRecords
import MakoStorage
import MakoTestSupport

/// A workload of the record layer as a few lines of text.
///
///     options log 32768 cache 1048576 load 5    # a migration loads five rows and more in bulk
///     migrate P name:text age:integer? index=age,name- unique=name~ was=Q     # a table as it should be from now on
///     migrate K code:text n:integer=7 full:text<code key=code                 # key columns, a default, an old name
///     migrate P name:text note:text? words=name,note                           # a full-text index
///     insert P 1..20            # rows with these ids, or of these numbers; values by the types of the columns
///     append P 20               # rows with the next ids; their index entries in one go
///     update P 1..20/3          # other values
///     move P 1..5 100           # the rows get other keys, higher by 100
///     delete P 3..9
///     clear P
///     drop P
///     migrate P title:text version=2 rename=name,title   # by hand, see `HandStep`
///     sql UPDATE P SET age = age + 1 WHERE age > 7     # any statement, to the end of the line
///     history 20 | history off  # what commits do is kept, that of the newest 20
///     begin … commit [ordered|async] | rollback, savepoint a, rollbackto a
///     checkpoint, step 3, reopen
///
/// The type `sealed` is a column that holds encrypted texts. In an index `-` means descending, `~` any case. `#` begins a comment.
struct RecordScript {
    enum Step: Equatable {
        case migrate(EntitySchema, dropsRetired: Bool, HandSteps?)
        case sql(String)
        case history(HistoryLimits?)
        case insert(String, KeyRange)
        case append(String, Int)
        case update(String, KeyRange)
        case move(String, KeyRange, Int64)
        case delete(String, KeyRange)
        case clear(String)
        case drop(String)
        case begin
        case commit(Durability?)
        case rollback
        case savepoint(String)
        case rollbackTo(String)
        case checkpoint
        case step(Int)
        case reopen
    }

    var steps: [Step] = []
    var logSegmentBytes = 64 << 10
    var cacheBytes = 4 << 20
    /// Rows from which on a migration loads them in bulk.
    var fewestLoaded = 10_000

    init(name: String, _ text: String) throws {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)
            guard let verb = words.first else { continue }
            let rest = Array(words.dropFirst())
            if verb == "options" {
                try readOptions(rest)
            } else if let step = RecordScript.step(verb, rest) {
                steps.append(step)
            } else {
                throw Disagreement("script \(name), line \(number + 1): \(line)")
            }
        }
    }

    private mutating func readOptions(_ words: [String]) throws {
        var rest = words[...]
        while rest.count >= 2 {
            let name = rest.removeFirst()
            guard let number = Int(rest.removeFirst()) else { throw Disagreement("option \(name) needs a number") }
            switch name {
            case "log": logSegmentBytes = number
            case "cache": cacheBytes = number
            case "load": fewestLoaded = number
            default: throw Disagreement("no option \(name)")
            }
        }
    }

    private static func step(_ verb: String, _ words: [String]) -> Step? {
        switch (verb, words.count) {
        case ("migrate", 2...):
            schema(words[0], words.dropFirst().filter { !HandSteps.isPart($0) }).map {
                .migrate($0, dropsRetired: words.contains("dropping"), HandSteps(words))
            }
        case ("sql", 2...): .sql(words.joined(separator: " "))
        case ("history", 1):
            words[0] == "off" ? .history(nil) : UInt64(words[0]).map { .history(HistoryLimits(transactions: $0)) }
        case ("insert", 2): KeyRange(words[1]).map { .insert(words[0], $0) }
        case ("append", 2): Int(words[1]).map { .append(words[0], $0) }
        case ("update", 2): KeyRange(words[1]).map { .update(words[0], $0) }
        case ("move", 3):
            KeyRange(words[1]).flatMap { keys in Int64(words[2]).map { .move(words[0], keys, $0) } }
        case ("delete", 2): KeyRange(words[1]).map { .delete(words[0], $0) }
        case ("clear", 1): .clear(words[0])
        case ("drop", 1): .drop(words[0])
        case ("begin", 0): .begin
        case ("commit", 0): .commit(nil)
        case ("commit", 1): ["full": .full, "ordered": .ordered, "async": .async][words[0]].map { .commit($0) }
        case ("rollback", 0): .rollback
        case ("savepoint", 1): .savepoint(words[0])
        case ("rollbackto", 1): .rollbackTo(words[0])
        case ("checkpoint", 0): .checkpoint
        case ("step", 1): Int(words[0]).map { .step($0) }
        case ("reopen", 0): .reopen
        default: nil
        }
    }

    private static func schema(_ name: String, _ words: ArraySlice<String>) -> EntitySchema? {
        var schema = EntitySchema(name: name, columns: [])
        for word in words where word != "dropping" {
            let halves = word.split(separator: "=", maxSplits: 1).map(String.init)
            if word.contains(":") {
                guard let column = column(word, of: name) else { return nil }
                schema.columns.append(column)
                continue
            }
            guard halves.count == 2 else { return nil }
            let names = halves[1].split(separator: ",").map(String.init)
            switch halves[0] {
            case "key": schema.key = .columns(names)
            case "was": schema.originalName = halves[1]
            case "index", "unique":
                let columns = names.map { word in
                    IndexColumn(
                        String(word.prefix { $0 != "-" && $0 != "~" }), descending: word.contains("-"),
                        noCase: word.contains("~"))
                }
                schema.indexes.append(IndexSchema("\(word)", columns, isUnique: halves[0] == "unique"))
            case "words":
                schema.indexes.append(
                    IndexSchema("\(word)", names.map { IndexColumn($0) }, fullText: FullTextOptions()))
            default: return nil
            }
        }
        return schema
    }

    /// `name:type`, then `?` where there may be no value, `=7` for a default, `<old` for the name before. References lead to
    /// the table itself.
    private static func column(_ word: String, of table: String) -> ColumnSchema? {
        let names = word.split(separator: ":")
        guard names.count == 2 else { return nil }
        let typeName = names[1].prefix { $0.isLetter }
        let isSealed = typeName == "sealed"
        guard let type = isSealed ? .blob : ColumnType.allCases.first(where: { $0.name == typeName }) else {
            return nil
        }
        var rest = names[1].dropFirst(typeName.count)
        let isOptional = rest.hasPrefix("?")
        if isOptional { rest.removeFirst() }
        var fill = Value.null
        if rest.hasPrefix("=") {
            let text = rest.dropFirst().prefix { $0 != "<" }
            fill =
                switch type {
                case .text: .text(String(text))
                case .double: .double(Double(text) ?? 0)
                default: .integer(Int64(text) ?? 0)
                }
            rest = rest.dropFirst(text.count + 1)
        }
        let old = rest.hasPrefix("<") ? String(rest.dropFirst()) : nil
        return ColumnSchema(
            String(names[0]), type, isOptional: isOptional, default: fill,
            target: type == .reference || type == .keys ? table : nil,
            originalName: old, sealing: isSealed ? .text : nil)
    }
}

extension RecordScript.Step {
    var isEnd: Bool {
        switch self {
        case .commit, .rollback: true
        default: false
        }
    }

    var isChange: Bool {
        switch self {
        case .migrate, .sql, .history, .insert, .append, .update, .move, .delete, .clear, .drop: true
        default: false
        }
    }
}
