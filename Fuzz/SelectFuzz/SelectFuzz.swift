import MakoRecords
import MakoStorage

/// Takes any bytes as a statement of the small SQL: it is parsed, planned and run, or refused with an error.
public func fuzzSelect(_ input: [UInt8]) {
    guard let people else { return }
    try? people.ask(String(decoding: input, as: UTF8.self))
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzSelect(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let people = try? People()

private struct People {
    private let view: Snapshot
    private let catalogue: Catalogue
    private let store: Store

    init() throws {
        store = try Store.inMemory()
        let schema = EntitySchema(
            name: "P",
            columns: [
                ColumnSchema("n", .text, isOptional: true), ColumnSchema("a", .integer, isOptional: true),
                ColumnSchema("w", .double, isOptional: true), ColumnSchema("b", .bool),
                ColumnSchema("at", .date, isOptional: true),
                ColumnSchema("c", .reference, isOptional: true, target: "P"),
            ],
            indexes: [
                IndexSchema("P.n", [IndexColumn("n", noCase: true)]),
                IndexSchema("P.a", [IndexColumn("a"), IndexColumn("w")]),
            ])
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var writer = RowWriter()
            var changes = ChangeSet()
            for number in 0..<12 {
                writer.begin(table.layout)
                writer.set(0, "n\(number % 5)")
                if number % 3 > 0 { writer.set(1, Int64(number - 5)) }
                writer.set(2, Double(number) / 3)
                writer.set(3, number % 2 == 0)
                if number > 0 { writer.set(5, Int64(number / 2 + 1)) }
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
        view = try store.snapshot()
        catalogue = try Catalogue.load(view: view)
    }

    func ask(_ text: String) throws {
        let statement = try SelectStatement.parse(text)
        let values = Array([Value.integer(1), .text("a"), .null, .double(0.5)].prefix(statement.parameterCount))
        let rows = try statement.run(catalogue, view: view, parameters: values)
        guard rows.rows.allSatisfy({ $0.count == rows.columns.count }) else {
            fatalError("a row of another width: \(text)")
        }
    }
}
