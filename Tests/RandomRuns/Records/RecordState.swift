import MakoRecords
import MakoStorage
import MakoTestSupport

/// The content of a file as the record layer shows it: the tables and their rows. Indexes are checked against the rows
/// instead.
package struct RecordState: Equatable, CustomStringConvertible, Sendable {
    /// The definition and the rows of a table.
    package struct Table: Equatable, Sendable {
        /// The columns, each with its type, optionality and default.
        package var columns: [String]
        /// The indexes as text.
        package var indexes: [String]
        /// The rows by their keys.
        package var rows: [RowKey: [Value]] = [:]

        package init(_ schema: EntitySchema) {
            columns = schema.liveColumns.map { "\($0.name) \($0.type) \($0.isOptional) \($0.defaultValue)" }
            indexes = schema.indexes.map { "\($0)" }
        }
    }

    /// The tables by their names.
    package var tables: [String: Table] = [:]
    /// The change history of the file, if it is on.
    package var history: [String] = []

    package init() {}

    /// Reads everything; a table that contradicts itself is a `Disagreement`.
    ///
    /// - Parameter history: whether to read that as well.
    package init(reading view: Snapshot, history wantsHistory: Bool = false) throws {
        for table in try Catalogue.load(view: view).handles {
            let findings = try table.verify(in: view)
            guard findings.isEmpty else { throw Disagreement("\(findings)") }
            var content = Table(table.schema)
            try table.scan(in: view) { key, row in
                content.rows[key] = (0..<table.layout.count).map { row.value($0) }
                return true
            }
            guard try table.count(in: view) == content.rows.count else {
                throw Disagreement("\(table.schema.name) does not count its rows right")
            }
            tables[table.schema.name] = content
        }
        if !wantsHistory { return }
        for record in try HistoryPage(after: nil, limit: .max, in: view)?.records ?? [] {
            history.append("\(record.number): \(record.tables) \(record.spans) \(record.columnLists)")
        }
    }

    package var description: String {
        tables.sorted { $0.key < $1.key }.map { name, table in
            "\(name)\(table.columns.map { $0.prefix { $0 != " " } }) with \(table.rows.count) rows"
        }.joined(separator: ", ")
    }

    /// The first difference, in words; nil when there is none.
    package func difference(from expected: RecordState) -> String? {
        for name in Set(tables.keys).union(expected.tables.keys).sorted() {
            guard let mine = tables[name] else { return "table \(name) is missing" }
            guard let theirs = expected.tables[name] else { return "there is a table \(name)" }
            if mine.columns != theirs.columns { return "\(name) has \(mine.columns), not \(theirs.columns)" }
            if mine.indexes != theirs.indexes { return "\(name) has \(mine.indexes), not \(theirs.indexes)" }
            for key in Set(mine.rows.keys).union(theirs.rows.keys).sorted(by: { "\($0)" < "\($1)" })
            where mine.rows[key] != theirs.rows[key] {
                let (found, wanted) = (mine.rows[key], theirs.rows[key])
                return "row \(key) of \(name) is \(found.map { "\($0)" } ?? "missing"), "
                    + "not \(wanted.map { "\($0)" } ?? "missing")"
            }
        }
        if history != expected.history { return "the history is \(history), not \(expected.history)" }
        return nil
    }
}
