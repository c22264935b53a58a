import MakoRecords
import MakoStorage

/// Takes any bytes as the text of a condition: it is parsed, bound, planned and run, or refused with an error.
/// One input; the tests replay inputs of the corpus by it.
public func fuzzWhere(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    try? people?.ask(text)
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzWhere(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let people = try? People()

/// A few rows with columns of every kind, two of them indexed, and a reference to rows of the same table.
private struct People {
    let store: Store

    init() throws {
        store = try Store.inMemory()
        let schema = EntitySchema(
            name: "Person",
            columns: [
                ColumnSchema("name", .text, isOptional: true), ColumnSchema("age", .integer, isOptional: true),
                ColumnSchema("weight", .double, isOptional: true), ColumnSchema("active", .bool, isOptional: true),
                ColumnSchema("born", .date, isOptional: true), ColumnSchema("photo", .blob, isOptional: true),
                ColumnSchema("chief", .reference, isOptional: true, target: "Person"),
            ],
            indexes: [
                IndexSchema("byName", [IndexColumn("name", noCase: true)]), IndexSchema("byAge", [IndexColumn("age")]),
            ])
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("Person")
            var writer = RowWriter()
            var changes = ChangeSet()
            for number in 0..<20 {
                writer.begin(table.layout)
                writer.set(0, "Person \(number % 7)")
                if number % 3 > 0 { writer.set(1, Int64(number - 5)) }
                writer.set(2, Double(number) / 3)
                writer.set(3, number % 2 == 0)
                writer.setDate(4, Double(number) * 1e7)
                writer.set(5, [UInt8(number)])
                if number > 0 { writer.set(6, Int64(number / 2 + 1)) }
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
    }

    func ask(_ text: String) throws {
        let condition = try Condition.parse(text)
        try store.read { view in
            let catalogue = try Catalogue.load(view: view)
            let values: [Value] = [.integer(1), .text("a"), .null]
            let plan = try Selection(
                table: "Person", condition: condition, parameters: values, orderBy: [Order("name")]
            )
            .plan(catalogue)
            let keys = try plan.keys(in: view)
            guard keys.count == (try plan.count(in: view)) else { fatalError("count and keys differ for: \(text)") }
        }
    }
}
