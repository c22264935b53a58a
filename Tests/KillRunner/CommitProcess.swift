import Foundation
import MakoRecords
import MakoStorage

/// Commits what it reads from standard input, and says the number of each commit before it commits and after it, for `make kill-mirror`.
struct CommitProcess {
    /// A line of the input: statements, or a column that a table gets as from a program whose type has one more property. The history does not record
    /// the latter.
    private struct Line: Decodable {
        let statements: [String]?
        /// The tables that the history names without their changed rows, as after an import.
        let rewritten: [String]?
        let table: String?
        let column: String?
        let value: Int64?
    }

    let path: String

    func run() throws {
        let store = try Store(at: path)
        let history = HistoryWriter(SystemEntropy())
        var catalogue = try store.read { try Catalogue.load(view: $0) }
        say("opened \(try store.read { $0.commitNumber })")
        while let text = readLine() {
            let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
            let before = catalogue
            catalogue = try store.write { tx in
                let after = try change(line, before, history, in: tx)
                // Commits that are never said are those of the store itself, which change nothing.
                say("commits \(tx.view.commitNumber + 1)")
                return after
            }
            say("committed")
        }
        try store.close()
    }

    private func change(
        _ line: Line, _ before: Catalogue, _ history: HistoryWriter, in tx: borrowing WriteTransaction
    ) throws -> Catalogue {
        if let table = line.table, let column = line.column, let value = line.value {
            var schema = try before.requireTable(table).schema
            schema.columns.append(ColumnSchema(column, .integer, isOptional: true, default: .integer(value)))
            _ = try Catalogue.migrate(to: schema, in: tx)
            return try Catalogue.load(view: tx.view)
        }
        var catalogue = before
        var changes = ChangeSet()
        var dropped: [String] = []
        for text in line.statements ?? [] {
            let statement = try Statement.parse(text)
            let outcome = try statement.run(catalogue, in: tx, changes: &changes)
            guard outcome.changesSchema else { continue }
            if case .dropTable(let drop) = statement { dropped.append(drop.table.name) }
            catalogue = try Catalogue.load(view: tx.view)
        }
        if let rewritten = line.rewritten {
            changes = ChangeSet()
            dropped += rewritten
        }
        try history.append(
            changes, rewritten: dropped, catalogue, before: before, date: Date().timeIntervalSinceReferenceDate, in: tx)
        return catalogue
    }

    private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
