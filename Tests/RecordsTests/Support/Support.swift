import MakoRecords
import MakoStorage
import Testing

/// A small seeded generator, so that a failing run can be repeated.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }

    /// Text with the bytes that matter to codings: zeros, ones, upper case, letters outside ASCII.
    mutating func text(_ longest: Int = 8) -> String {
        let letters = [
            "a", "b", "B", "z", "\u{0}", "\u{1}", "\u{2}", "é", "É", "ß", "日", " ", "%", "_", "İ", "\u{10FFFF}",
        ]
        return (0..<Int.random(in: 0...longest, using: &self)).map { _ in pick(letters) }.joined()
    }

    /// A value of the type that is neither zero nor empty.
    static func sample(_ type: ColumnType) -> Value {
        switch type {
        case .bool: .bool(true)
        case .integer: .integer(-3)
        case .unsigned: .unsigned(.max)
        case .double: .double(0.5)
        case .text: .text("té")
        case .blob: .blob([1, 2])
        case .date: .date(7.5)
        case .uuid: .uuid(1, 2)
        case .reference: .integer(9)
        case .keys: .blob(KeyTree.list([.key(.rowID(9))]).encoded)
        }
    }

    mutating func value(_ type: ColumnType) -> Value {
        switch type {
        case .bool: return .bool(chance(50))
        case .integer, .reference:
            return .integer(chance(50) ? Int64.random(in: -5...5, using: &self) : Int64(bitPattern: next()))
        case .unsigned: return .unsignedInteger(chance(50) ? UInt64.random(in: 0...5, using: &self) : next())
        case .double:
            return .double(
                chance(50)
                    ? pick([0, -0.0, .nan, -.nan, .infinity, -.infinity, 1.5, -1.5, .leastNonzeroMagnitude])
                    : Double(bitPattern: next()))
        case .text: return .text(text())
        case .blob: return .blob((0..<Int.random(in: 0...6, using: &self)).map { _ in pick([0, 1, 2, 127, 255]) })
        case .date: return .date(chance(50) ? Double(Int.random(in: -9...9, using: &self)) : Double(bitPattern: next()))
        case .uuid: return .uuid(chance(50) ? 7 : next(), next())
        case .keys:
            let ids = (0..<Int.random(in: 0...4, using: &self)).map { _ in Int64.random(in: -2...6, using: &self) }
            return .blob(KeyTree.list(ids.map { .key(.rowID($0)) }).encoded)
        }
    }
}

extension Catalogue {
    /// The report that a migration without manual steps would have.
    static func plan(
        to wanted: EntitySchema, dropsRetired: Bool = false, view: Snapshot
    ) throws(RecordError) -> MigrationReport {
        let survey = try survey([TableMigration(wanted, dropsRetired: dropsRetired)], view: view)[0]
        if let refusal = survey.refusal { throw refusal }
        return MigrationReport(table: survey.table, steps: survey.steps.map(\.step), rows: survey.rows)
    }
}

/// A database in memory with some tables.
struct Fixture {
    let store: Store
    private(set) var catalogue: Catalogue

    init(_ schemas: EntitySchema...) throws {
        store = try Store.inMemory()
        catalogue = try Catalogue.load(view: store.snapshot())
        for schema in schemas { try migrate(schema) }
    }

    @discardableResult
    mutating func migrate(_ schema: EntitySchema, dropsRetired: Bool = false) throws -> MigrationReport {
        let loaded = try trial { tx in
            try Catalogue.migrate(
                [TableMigration(schema, dropsRetired: dropsRetired)], loadingFrom: 1, in: tx)[0]
        }
        let put = try trial { tx in
            try Catalogue.migrate(
                [TableMigration(schema, dropsRetired: dropsRetired)], loadingFrom: .max, in: tx)[0]
        }
        #expect(loaded == put, "rows that are loaded and rows that are put differ")
        let old = catalogue
        let (report, new) = try store.write { tx in
            let report = try Catalogue.migrate(to: schema, dropsRetired: dropsRetired, in: tx)
            return (report, try Catalogue.load(view: tx.view, previous: old))
        }
        catalogue = new
        return report
    }

    /// The report of a migration or its error, in a transaction that is rolled back.
    private func trial(_ migrate: (borrowing WriteTransaction) throws -> MigrationReport) throws -> [String] {
        let tx = try store.beginWrite()
        do { return ["\(try migrate(tx))"] + (try Fixture.contents(of: tx.view)) } catch let error as RecordError {
            return ["\(error)"]
        }
    }

    /// Every row of every table as text, what does not hold in a table, and the names of all trees.
    static func contents(of view: Snapshot) throws -> [String] {
        var lines = view.trees.map { "\($0.name): \($0.count)" }
        for table in try Catalogue.load(view: view).handles {
            lines += try table.verify(in: view)
            try table.scan(in: view) { key, row in
                lines.append("\(table.schema.name) \(key): \((0..<table.layout.count).map { row.value($0) })")
                return true
            }
        }
        return lines
    }

    func table(_ name: String) throws -> TableHandle { try catalogue.requireTable(name) }

    @discardableResult
    func insert(_ name: String, _ values: [Value], key: RowKey? = nil) throws -> RowKey {
        try insertAll(name, [values], key: key)[0]
    }

    @discardableResult
    func insertAll(_ name: String, _ rows: [[Value]], key: RowKey? = nil) throws -> [RowKey] {
        let table = try table(name)
        return try store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            return try rows.map { values in
                row.begin(table.layout)
                for (position, value) in values.enumerated() { row.set(position, value) }
                return try table.insert(&row, key: key, in: tx, changes: &changes)
            }
        }
    }

    func values(_ name: String, _ key: RowKey) throws -> [Value]? {
        let table = try table(name)
        return try table.withRow(key, in: try store.snapshot()) { row in (0..<table.layout.count).map { row.value($0) }
        }
    }

    /// Every index of every table agrees with its rows.
    func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for table in catalogue.handles {
            #expect(try table.verify(in: try store.snapshot()) == [], sourceLocation: sourceLocation)
        }
    }

    /// Runs `body`, expecting a record error, and answers it.
    static func error(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) -> RecordError? {
        #expect(throws: RecordError.self, sourceLocation: sourceLocation) { try body() }
    }
}
