import Foundation
import MakoRecords
import MakoStorage

/// Imports the rows of an input file into a table, all or none.
///
/// Reads the input twice: first to infer the column types and to check that every line is readable; then to store the
/// rows, in one transaction.
struct TableImport {
    /// What to import, and how.
    struct Options {
        var format: InputFormat
        var delimiter: UInt8?
        var hasHeader = true
        /// The key columns; `nil` selects an integer column named `id`, if there is one.
        var key: [String]?
        /// The columns to index.
        var indexes: [String] = []
        /// Whether to drop an existing table of that name first.
        var replaces = false
        /// Whether to store dangling references.
        var ignoresReferences = false
    }

    /// The result of an import.
    struct Report {
        var table: String
        var rows: Int
        var isNew: Bool
        var columns: [InferredColumn]
        /// Renamed columns, as pairs of old and new name.
        var renamed: [(from: String, to: String)]
    }

    /// Opens the file at its start.
    private let open: () throws(InputError) -> ByteInput
    /// The name of the file in messages.
    let source: String
    let table: String
    let options: Options
    /// Called with the bytes read and the rows processed.
    let progress: (_ pass: Pass, _ bytes: Int, _ rows: Int) -> Void

    enum Pass { case reading, storing }

    init(
        path: String, table: String, options: Options,
        progress: @escaping (_ pass: Pass, _ bytes: Int, _ rows: Int) -> Void = { _, _, _ in }
    ) {
        self.init(source: path, table: table, options: options, progress: progress) { () throws(InputError) in
            try ByteInput(path: path)
        }
    }

    /// - Parameter open: opens the file at its start; called twice.
    init(
        source: String, table: String, options: Options,
        progress: @escaping (_ pass: Pass, _ bytes: Int, _ rows: Int) -> Void,
        open: @escaping () throws(InputError) -> ByteInput
    ) {
        self.open = open
        self.source = source
        self.table = table
        self.options = options
        self.progress = progress
    }

    /// The first pass: returns the columns with their types, and the number of rows.
    func inspect() throws(InputError) -> (columns: [InferredColumn], rows: Int) {
        var reader = try reader()
        var inference = TypeInference()
        while let row = try reader.next() {
            inference.add(row)
            progress(.reading, reader.consumed, inference.rows)
        }
        return (inference.result(names: reader.columns), inference.rows)
    }

    /// The second pass: stores the rows in one transaction.
    func run(columns: [InferredColumn], in store: Store) throws -> Report {
        if TableName.isReserved(table) {
            throw Failure("\(table) belongs to the keyed stores; change them by their own calls", .badInput)
        }
        return try store.write { tx in
            var catalogue = try Catalogue.load(view: tx.view)
            let known = catalogue.findTable(table)
            let old = options.replaces ? known : nil
            try old?.schema.refuseReplacement()
            let isNew = options.replaces || known == nil
            let table = known?.schema.name ?? table
            let plan =
                isNew
                ? try ImportPlan(creating: table, columns: columns, options: options, source: source)
                    .replacing(old?.schema)
                : try ImportPlan(into: try catalogue.requireTable(table).schema, columns: columns, source: source)
            var replacement: TableReplacement?
            if let old { replacement = try drop(old, for: plan, catalogue, tx) }
            if isNew {
                _ = try Catalogue.migrate(to: plan.schema(withIndexes: false), in: tx)
                catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
            }
            let rows = try storeRows(in: catalogue.requireTable(table), plan, catalogue, tx)
            if isNew, !plan.indexes.isEmpty { _ = try Catalogue.migrate(to: plan.schema(withIndexes: true), in: tx) }
            catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
            try referencesHeld { () throws(RecordError) in try replacement?.finish(catalogue, in: tx) }
            // Readers of the history reload the table: a list of millions of keys would not help them.
            let others = replacement?.changedTables.subtracting([table]).sorted() ?? []
            try HistoryWriter(SystemEntropy()).append(
                ChangeSet(), rewritten: [table] + others, catalogue, date: Date().timeIntervalSinceReferenceDate, in: tx
            )
            return Report(table: table, rows: rows, isNew: isNew, columns: columns, renamed: plan.renamed)
        }
    }

    /// Drops the replaced table. Returns the remaining checks; nil: references are ignored.
    private func drop(
        _ old: TableHandle, for plan: ImportPlan, _ catalogue: Catalogue, _ tx: borrowing WriteTransaction
    ) throws -> TableReplacement? {
        var replacement: TableReplacement?
        if !options.ignoresReferences {
            replacement = try referencesHeld { () throws(RecordError) in
                try TableReplacement(of: old, keepsKeys: plan.keepsKeys(of: old.schema), catalogue, tx.view)
            }
        }
        _ = try Catalogue.dropTable(old.schema.name, isReplaced: true, in: tx)
        return replacement
    }

    private func reader() throws(InputError) -> any InputReader {
        try options.format.reader(try open(), delimiter: options.delimiter, header: options.hasHeader)
    }

    private func storeRows(
        in table: TableHandle, _ plan: ImportPlan, _ catalogue: Catalogue, _ tx: borrowing WriteTransaction
    ) throws -> Int {
        let columns = plan.stored.map { table.schema.column(named: $0.name) }
        var check = ReferenceCheck(
            options.ignoresReferences ? [] : columns, of: table, catalogue, insertsRows: !options.ignoresReferences)
        let layout = try table.layout(for: plan.stored.map(\.name))
        var reader = try reader()
        var writer = RowWriter()
        var changes = ChangeSet()
        var rows = 0
        while let row = try reader.next() {
            writer.begin(layout)
            var values: [Value] = []
            for (position, column) in plan.stored.enumerated() {
                let value = try value(row, column)
                writer.set(position, value)
                if !check.isEmpty { values.append(value) }
            }
            do {
                if !check.isEmpty { try check.note(values, tx.view) }
                _ = try table.insert(&writer, key: try key(row, plan), in: tx, changes: &changes)
            } catch let error as RecordError {
                throw lineError(row, error)
            }
            rows += 1
            // The changes of an import are not reported, and a list of millions of keys would only use memory.
            if changes.count >= 10_000 { changes.removeAll() }
            progress(.storing, reader.consumed, rows)
        }
        try referencesHeld { () throws(RecordError) in try check.finish(tx.view) }
        return rows
    }

    /// Runs a reference check, whose error mentions the option that ignores it.
    @discardableResult
    private func referencesHeld<R>(_ check: () throws(RecordError) -> R) throws -> R {
        do throws(RecordError) { return try check() } catch {
            if !error.isAboutReferences { throw error }
            throw InputError(source: source, line: nil, message: "\(error), or pass --ignore-references")
        }
    }

    private func key(_ row: InputRow, _ plan: ImportPlan) throws -> RowKey? {
        guard let column = plan.rowID else { return nil }
        guard case .integer(let id) = try value(row, column) else {
            throw InputError(source: source, line: row.line, message: "the key \(column.name) is missing")
        }
        return .rowID(id)
    }

    private func value(_ row: InputRow, _ column: ImportPlan.Column) throws(InputError) -> Value {
        let field = row[column.position]
        guard let value = FieldConversion.value(field, as: column.type) else {
            throw InputError(
                source: source, line: row.line,
                message: "\(field.shown) does not fit column \(column.name), which holds \(column.type.name) values"
                    + (column.type == .date ? "; \(DateText.hint)" : ""))
        }
        if value.isNull, !column.isOptional {
            throw InputError(source: source, line: row.line, message: "column \(column.name) must not be empty")
        }
        return value
    }

    /// The engine's error for a row, with its line. I/O errors stay unchanged.
    private func lineError(_ row: InputRow, _ error: RecordError) -> any Error {
        switch error {
        case .storage: error
        case .duplicateKey:
            InputError(
                source: source, line: row.line,
                message: "\(error.description); choose another key with --key, or none with --key ''")
        case .valueSealed(_, let column, _):
            InputError(source: source, line: row.line, message: EntitySchema.refusal(ofValuesFor: column))
        default: InputError(source: source, line: row.line, message: error.description)
        }
    }
}
