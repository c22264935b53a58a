import MakoRecords
import MakoStorage

/// Takes any bytes as the text of a condition: it is parsed, bound, planned and run, or refused with an error. Indexes change nothing of
/// what comes out. One input; the tests replay inputs of the corpus by it.
public func fuzzWhere(_ input: [UInt8]) {
    guard let indexed, let plain else { return }
    let text = String(decoding: input, as: UTF8.self)
    do {
        let condition = try Condition.parse(text)
        let keys = try indexed.keys(condition)
        guard Set(keys) == Set(try plain.keys(condition)) else { fatalError("an index changes the answer of: \(text)") }
        guard keys.count == Set(keys).count else { fatalError("a row came twice for: \(text)") }
    } catch {
        if error.description.isEmpty { fatalError("refused without a word: \(text)") }
    }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzWhere(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let indexed = try? People(isIndexed: true)
private let plain = try? People(isIndexed: false)

/// A few rows with columns of every kind, two of them indexed or none, one with an index of its words, and a reference to rows of the same table.
private struct People {
    private let store: Store
    private let view: Snapshot
    private let catalogue: Catalogue

    init(isIndexed: Bool) throws {
        var options = StoreOptions()
        options.cacheBytes = 1 << 20
        options.background = .manual
        store = try Store.inMemory(options: options)
        let schema = EntitySchema(
            name: "Person",
            columns: [
                ColumnSchema("name", .text, isOptional: true), ColumnSchema("age", .integer, isOptional: true),
                ColumnSchema("weight", .double, isOptional: true), ColumnSchema("active", .bool, isOptional: true),
                ColumnSchema("born", .date, isOptional: true), ColumnSchema("photo", .blob, isOptional: true),
                ColumnSchema("chief", .reference, isOptional: true, target: "Person"),
            ],
            indexes: (isIndexed
                ? [
                    IndexSchema("byName", [IndexColumn("name", noCase: true)]),
                    IndexSchema("byAge", [IndexColumn("age"), IndexColumn("weight", descending: true)]),
                ] : []) + [IndexSchema("words", [IndexColumn("name")], fullText: FullTextOptions())])
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
        view = try store.snapshot()
        catalogue = try Catalogue.load(view: view)
    }

    func keys(_ condition: Condition) throws(RecordError) -> [RowKey] {
        let values: [Value] = [.integer(1), .text("a"), .null]
        let plan = try Selection(
            table: "Person", condition: condition, parameters: values, orderBy: [Order("name")]
        )
        .plan(catalogue)
        let keys = try plan.keys(in: view)
        guard keys.count == (try plan.count(in: view)) else { fatalError("count and keys differ: \(plan)") }
        return keys
    }
}
