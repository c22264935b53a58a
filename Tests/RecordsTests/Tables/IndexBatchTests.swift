import MakoStorage
import Testing

@testable import MakoRecords

@Suite struct IndexBatchTests {
    private static let page = EntitySchema(
        name: "Page",
        columns: [
            ColumnSchema("title", .text, isOptional: true), ColumnSchema("size", .integer),
            ColumnSchema("code", .text, isOptional: true),
        ],
        indexes: [
            IndexSchema("title", [IndexColumn("title", noCase: true), IndexColumn("size", descending: true)]),
            IndexSchema("size", [IndexColumn("size")]),
            IndexSchema("code", [IndexColumn("code")], isUnique: true),
        ])

    private func put(
        _ values: [Value], _ key: RowKey?, _ table: TableHandle, _ batch: IndexBatch?,
        _ tx: borrowing WriteTransaction
    ) throws -> RowKey {
        var changes = ChangeSet()
        var writer = RowWriter()
        writer.begin(table.layout)
        for (position, value) in values.enumerated() { writer.set(position, value) }
        return try table.put(&writer, key: key, in: tx, changes: &changes, batch: batch)
    }

    /// The rows in the order of an index, as the executor reads them.
    private func scan(_ column: String, _ fixture: Fixture) throws -> [Value] {
        let statement = try SelectStatement.parse("SELECT \(column) FROM Page ORDER BY \(column)")
        return try statement.run(fixture.catalogue, view: fixture.store.snapshot()).rows.map { $0[0] }
    }

    @Test(arguments: [1, 500, 16 << 20]) func batchesLeaveWhatSingleRowsLeave(limit: Int) throws {
        let batched = try Fixture(Self.page)
        let single = try Fixture(Self.page)
        var random = Seeded(UInt64(limit))
        var code = 0
        for _ in 0..<8 {
            var rows: [(values: [Value], key: RowKey?)] = []
            for _ in 0..<600 {
                code += 1
                let text =
                    random.chance(3) ? String(repeating: "long", count: 300) + "\(code)" : "\(random.next())\(code)"
                let values: [Value] = [
                    random.chance(10) ? .null : .text(random.text()),
                    .integer(
                        random.chance(50) ? Int64.random(in: -9...9, using: &random) : Int64(bitPattern: random.next())),
                    random.chance(10) ? .null : .text(text),
                ]
                // Now and then a row is replaced that may stand in the batch.
                let key: RowKey? = random.chance(5) ? .rowID(Int64.random(in: 1...Int64(code), using: &random)) : nil
                rows.append((values, key))
            }
            try batched.store.write { tx in
                let batch = IndexBatch(limit: limit)
                for row in rows { _ = try put(row.values, row.key, batched.table("Page"), batch, tx) }
                try batch.flush(in: tx)
                let isEmpty = batch.isEmpty
                #expect(isEmpty)
            }
            try single.store.write { tx in
                for row in rows { _ = try put(row.values, row.key, single.table("Page"), nil, tx) }
            }
            try batched.expectSound()
        }
        for column in ["id", "title", "size", "code"] {
            #expect(try scan(column, batched) == scan(column, single))
        }
    }

    @Test func tablesWithKeysOfTheirOwnAreBatched() throws {
        let schema = EntitySchema(
            name: "Page", columns: [ColumnSchema("name", .text), ColumnSchema("size", .integer)],
            key: .columns(["name"]),
            indexes: [
                IndexSchema("size", [IndexColumn("size")]),
                IndexSchema("both", [IndexColumn("size"), IndexColumn("name")], isUnique: true),
            ])
        let fixture = try Fixture(schema)
        let table = try fixture.table("Page")
        // Every third name comes again: it replaces the row that the batch holds.
        let names = (0..<1000).map { "name \($0 % 3 == 2 ? $0 - 1 : $0 * 7919 % 1000)" }
        try fixture.store.write { tx in
            let batch = IndexBatch()
            for (number, name) in names.enumerated() {
                _ = try put([.text(name), .integer(Int64(number % 10))], nil, table, batch, tx)
            }
            try batch.flush(in: tx)
        }
        try fixture.expectSound()
        #expect(try scan("size", fixture).count == Set(names).count)
    }

    @Test func aDuplicateIsNamedAtTheFlush() throws {
        let fixture = try Fixture(Self.page)
        let table = try fixture.table("Page")
        let known = try fixture.insert("Page", [.text("old"), .integer(1), .text("taken")])
        for clash in ["taken", "own 7"] {
            try fixture.store.write { tx in
                let savepoint = tx.savepoint()
                let batch = IndexBatch()
                var keys: [RowKey] = []
                for number in 0..<20 {
                    keys.append(try put([.null, .integer(0), .text("own \(number)")], nil, table, batch, tx))
                }
                _ = try put([.null, .integer(0), .text(clash)], nil, table, batch, tx)
                let expected = RecordError.uniqueViolation(
                    table: "Page", columns: ["code"], values: [.text(clash)],
                    existing: NamedKey(clash == "taken" ? known : keys[7], in: nil))
                #expect(throws: expected) { try batch.flush(in: tx) }
                // It stays so until the batch is given up.
                #expect(throws: expected) { try batch.flush(in: tx) }
                try tx.rollback(to: savepoint)
                batch.removeAll()
                try batch.flush(in: tx)
            }
            try fixture.expectSound()
            #expect(try table.count(in: fixture.store.snapshot()) == 1)
        }
    }

    @Test func cutValuesOfUniqueIndexesAreComparedInFull() throws {
        let fixture = try Fixture(Self.page)
        let table = try fixture.table("Page")
        let long = String(repeating: "x", count: 2000)
        try fixture.store.write { tx in
            let batch = IndexBatch()
            let first = try put([.text("a"), .integer(1), .text(long + "a")], nil, table, batch, tx)
            _ = try put([.text("b"), .integer(2), .text("short")], nil, table, batch, tx)
            _ = try put([.text("c"), .integer(3), .text(long + "b")], nil, table, batch, tx)
            let expected = RecordError.uniqueViolation(
                table: "Page", columns: ["code"], values: [.text(long + "a")], existing: NamedKey(first, in: nil))
            #expect(throws: expected) { try put([.text("d"), .integer(4), .text(long + "a")], nil, table, batch, tx) }
            try batch.flush(in: tx)
        }
        try fixture.expectSound()
    }

    /// More keys than a radix sort of three bytes can separate; the sort is stable.
    @Test(arguments: [false, true]) func veryManyEntriesComeInTheirOrder(isUnique: Bool) throws {
        let schema = EntitySchema(
            name: "T", columns: [ColumnSchema("number", .integer)],
            indexes: [IndexSchema("i", [IndexColumn("number")], isUnique: isUnique)])
        let table = try Fixture(schema).table("T")
        let list = EntryList(table, table.indexes[0])
        var writer = RowWriter()
        let count = isUnique ? 1000 : 66_000
        for number in 0..<count {
            writer.begin(table.layout)
            writer.set(0, isUnique ? 7 : Int64(number * 40_503 % 65_537))
            #expect(try list.add(RowReader(writer.finish(), table.layout), .rowID(Int64(number))) != nil)
        }
        var isSorted = true
        var last: (key: [UInt8], value: [UInt8]) = ([], [])
        var visited = 0
        list.entries.forEachSorted { key, value in
            let next = ([UInt8](key), [UInt8](value))
            let order = KeyOrder.compareKeys(last.key, next.0)
            isSorted = isSorted && (order < 0 || (order == 0 && isUnique && KeyOrder.precedes(last.value, next.1)))
            last = next
            visited += 1
        }
        #expect(isSorted && visited == count)
    }

    /// Few and many keys, alike and not, and among them such that begin others.
    @Test func entriesComeInTheOrderOfTheirKeys() throws {
        let schema = EntitySchema(
            name: "T", columns: [ColumnSchema("text", .text), ColumnSchema("number", .integer)],
            indexes: [IndexSchema("i", [IndexColumn("text"), IndexColumn("number")])])
        let table = try Fixture(schema).table("T")
        let index = table.indexes[0]
        var random = Seeded(5)
        for round in 0..<60 {
            let list = EntryList(table, index)
            let common = String(repeating: "same", count: round % 7)
            var keys: [[UInt8]] = []
            var writer = RowWriter()
            for number in 0..<random.pick([0, 1, 2, 40, 255, 256, 1000]) {
                writer.begin(table.layout)
                let text = random.chance(30) ? common : common + random.text(12) + (random.chance(20) ? common : "")
                writer.set(0, text)
                writer.set(1, random.chance(50) ? 3 : Int64(bitPattern: random.next()))
                let row = try RowReader(writer.finish(), table.layout)
                let key = RowKey.rowID(Int64(number))
                #expect(try list.add(row, key) != nil)
                var buffer = KeyBuffer()
                index.encodeEntry(row, key, into: &buffer)
                keys.append(buffer.bytes)
                if random.chance(5) {
                    list.removeLast()
                    keys.removeLast()
                }
            }
            var sorted: [[UInt8]] = []
            list.entries.forEachSorted { key, _ in sorted.append([UInt8](key)) }
            keys.sort { KeyOrder.precedes($0, $1) }
            #expect(sorted == keys)
            list.entries.removeAll()
            #expect(list.entries.isEmpty)
        }
    }
}
