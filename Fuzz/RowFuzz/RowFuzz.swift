import MakoRecords
import MakoStorage

/// Takes any bytes as a row: the reader refuses it, or every field of it can be read, and written into a row that reads the same.
public func fuzzRow(_ input: [UInt8]) {
    guard let layout else { return }
    do {
        let values = try input.withUnsafeBytes { bytes in
            let reader = try RowReader(bytes, layout)
            return (0..<layout.count).map { reader.value($0) }
        }
        var writer = RowWriter()
        writer.begin(layout)
        for (position, value) in values.enumerated() { writer.set(position, value) }
        let again = try RowReader(writer.finish(), layout)
        for (position, value) in values.enumerated() where again.value(position) != value {
            // A NULL in a column that has a default is the writer's to refuse or fill.
            if !value.isNull { fatalError("column \(position) was \(value) and is \(again.value(position))") }
        }
    } catch {}
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzRow(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// Every type of column, some with a default, some that may be NULL.
private let layout: RowLayout? = try? {
    let store = try Store.inMemory()
    let schema = EntitySchema(
        name: "Row",
        columns: [
            ColumnSchema("i", .integer), ColumnSchema("t", .text, isOptional: true), ColumnSchema("d", .double),
            ColumnSchema("b", .bool, isOptional: true), ColumnSchema("bl", .blob), ColumnSchema("u", .unsigned),
            ColumnSchema("at", .date, isOptional: true), ColumnSchema("id2", .uuid, isOptional: true),
            ColumnSchema("late", .text, default: .text("filled")),
            ColumnSchema("r", .reference, isOptional: true, target: "Row"),
        ])
    try store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
    return try Catalogue.load(view: store.snapshot()).requireTable("Row").layout
}()
