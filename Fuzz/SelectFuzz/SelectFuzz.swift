import MakoRecords
import MakoStorage

/// Takes any bytes as a statement of the SQL subset: it is parsed, planned and run, or refused with an error. Indexes
/// change nothing of the result but the order of rows without ORDER BY, and with it which rows a limit selects. The
/// writes of a statement are rolled back.
public func fuzzSelect(_ input: [UInt8]) {
    guard let indexed, let plain else { return }
    let text = String(decoding: input, as: UTF8.self)
    do {
        let parsed = try Statement.parse(text)
        // Each more multiplies the rows by twelve.
        if parsed.tableCount > 3 { return }
        guard case .select(let statement) = parsed else { return try fuzzWriting(parsed, text, indexed, plain) }
        let first = try indexed.run(statement)
        let second = try plain.run(statement)
        guard first.rows.allSatisfy({ $0.count == first.columns.count }) else {
            fatalError("a row of another width: \(text)")
        }
        guard first.rows.count == second.rows.count else {
            fatalError("an index changes the number of rows of: \(text)")
        }
        if text.lowercased().contains("limit") || text.lowercased().contains("offset") { return }
        if !RowComparison.haveSameRows(first.rows, second.rows) {
            fatalError("an index changes the answer of: \(text)\n\(first.rows)\n\(second.rows)")
        }
    } catch {
        if error.description.isEmpty { fatalError("refused without a word: \(text)") }
    }
}

/// Indexes stay in step with the rows, whether the statement fails or not, and change nothing of how many rows it finds.
private func fuzzWriting(
    _ statement: Statement, _ text: String, _ indexed: People, _ plain: People
) throws(RecordError) {
    let (first, second) = (try indexed.attempt(statement, text), try plain.attempt(statement, text))
    switch statement {
    case .update, .delete:
        if let first, let second, first.changed != second.changed {
            fatalError("an index changes how many rows are found by: \(text)")
        }
    default: return
    }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzSelect(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let indexed = try? People(isIndexed: true)
private let plain = try? People(isIndexed: false)

private struct People {
    private let view: Snapshot
    private let catalogue: Catalogue
    private let store: Store

    init(isIndexed: Bool) throws {
        var options = StoreOptions()
        options.cacheBytes = 1 << 20
        options.background = .manual
        store = try Store.inMemory(options: options)
        let schema = EntitySchema(
            name: "P",
            columns: [
                ColumnSchema("n", .text, isOptional: true), ColumnSchema("a", .integer, isOptional: true),
                ColumnSchema("w", .double, isOptional: true), ColumnSchema("b", .bool),
                ColumnSchema("at", .date, isOptional: true),
                ColumnSchema("c", .reference, isOptional: true, target: "P"),
            ],
            indexes: isIndexed
                ? [
                    IndexSchema("P.n", [IndexColumn("n", noCase: true)]),
                    IndexSchema("P.a", [IndexColumn("a"), IndexColumn("w")]),
                ] : [])
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var writer = RowWriter()
            var changes = ChangeSet()
            for number in 0..<12 {
                writer.begin(table.layout)
                writer.set(0, "n\(number % 5)")
                if number % 3 > 0 { writer.set(1, Int64(number - 5)) }
                // Sums of such numbers are the same in any order.
                writer.set(2, Double(number) / 4)
                writer.set(3, number % 2 == 0)
                if number > 0 { writer.set(5, Int64(number / 2 + 1)) }
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
        view = try store.snapshot()
        catalogue = try Catalogue.load(view: view)
    }

    func run(_ statement: SelectStatement) throws(RecordError) -> QueryRows {
        try statement.run(catalogue, view: view, parameters: Self.values(statement.parameterCount))
    }

    private static func values(_ count: Int) -> [Value] {
        Array([Value.integer(1), .text("a"), .null, .double(0.5)].prefix(count))
    }

    private struct Undone: Error { let outcome: StatementOutcome? }

    /// Runs a statement, looks whether all is well, and takes it back. Nil: it was refused.
    func attempt(_ statement: Statement, _ text: String) throws(RecordError) -> StatementOutcome? {
        do {
            try store.write { tx in
                var changes = ChangeSet()
                var outcome: StatementOutcome?
                do throws(RecordError) {
                    outcome = try statement.run(
                        catalogue, in: tx, changes: &changes, parameters: Self.values(statement.parameterCount))
                } catch {
                    if error.description.isEmpty { fatalError("refused without a word: \(text)") }
                    if !changes.isEmpty { fatalError("a statement that failed has changed rows: \(text)") }
                }
                for table in try Catalogue.load(view: tx.view).handles {
                    let faults = try table.verify(in: tx.view)
                    if !faults.isEmpty { fatalError("\(faults) after: \(text)") }
                }
                throw Undone(outcome: outcome)
            }
        } catch let undone as Undone {
            return undone.outcome
        } catch let error as RecordError {
            throw error
        } catch {
            fatalError("\(error) of: \(text)")
        }
        return nil
    }
}

/// Rows as a set, in which sums may differ by their rounding, and a group shows any of the texts or numbers that are equal in it.
private enum RowComparison {
    static func haveSameRows(_ first: [[Value]], _ second: [[Value]]) -> Bool {
        var rest = second
        for row in first {
            guard let place = rest.firstIndex(where: { zip($0, row).allSatisfy(areAlike) }) else { return false }
            rest.remove(at: place)
        }
        return rest.isEmpty
    }

    private static func areAlike(_ first: Value, _ second: Value) -> Bool {
        if first == second { return true }
        if case .text(let left) = first, case .text(let right) = second {
            return left.lowercased() == right.lowercased()
        }
        guard let left = number(first), let right = number(second) else { return false }
        return left == right || left.isNaN && right.isNaN || abs(left - right) <= 1e-9 * max(1, abs(left), abs(right))
    }

    private static func number(_ value: Value) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .double(let number), .date(let number): number
        default: nil
        }
    }
}
