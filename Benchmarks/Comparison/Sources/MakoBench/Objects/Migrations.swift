import CSQLite
import MakoCore

/// A migration of the table of people: `age` becomes a double with an index, `joined` is removed, `note` is added; all rows are rewritten.
protocol MigratingEngine: ObjectEngine {
    /// Opens the database in a directory, in one durable transaction that changes the table.
    static func migrate(_ directory: String) throws -> any MigratedPeople
}

/// A database after the migration.
protocol MigratedPeople {
    func checksum() throws -> UInt64
    func close() throws
}

extension MakoObjects: MigratingEngine {
    static func migrate(_ directory: String) throws -> any MigratedPeople {
        MigratedMakoPeople(
            database: try Database(
                at: directory + "/people.mako", entities: [ChangedPerson.self],
                options: DatabaseOptions(durability: .full, cacheBytes: 1 << 30)))
    }
}

private struct MigratedMakoPeople: MigratedPeople {
    let database: Database

    func checksum() throws -> UInt64 {
        var sum: UInt64 = 0
        for person in try database.query(ChangedPerson.self).where(\.age >= 0).fetch() {
            sum &+= UInt64(truncatingIfNeeded: person.points) &+ person.age.bitPattern &+ UInt64(person.note.utf8.count)
        }
        return sum
    }

    func close() throws { try database.close() }
}

private struct ChangedPerson: Entity {
    var _$value = ValueState()
    static let entityModel = EntityModel(
        ChangedPerson.self, table: "person",
        properties: [
            .column("name", \ChangedPerson.name, EntityCoding.codec(String.self)),
            .column("email", \ChangedPerson.email, EntityCoding.codec(String.self)),
            .column("age", \ChangedPerson.age, EntityCoding.codec(Double.self)),
            .column("points", \ChangedPerson.points, EntityCoding.codec(Int.self)),
            .column("balance", \ChangedPerson.balance, EntityCoding.codec(Double.self)),
            .column("rating", \ChangedPerson.rating, EntityCoding.codec(Double.self)),
            .column("isActive", \ChangedPerson.isActive, EntityCoding.codec(Bool.self)),
            .column("note", \ChangedPerson.note, EntityCoding.codec(String.self), default: "new"),
        ],
        indexes: [
            EntityModel.index(ChangedPerson.self, [\.name], isUnique: false),
            EntityModel.index(ChangedPerson.self, [\.points], isUnique: false),
            EntityModel.index(ChangedPerson.self, [\.age], isUnique: false),
        ])

    let name: String
    let email: String
    let age: Double
    let points: Int
    let balance: Double
    let rating: Double
    let isActive: Bool
    let note: String
    var id: Int { Int(_$rowNumber) }

    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        email = try EntityCoding.codec(String.self).read(row, 1)
        age = try EntityCoding.codec(Double.self).read(row, 2)
        points = try EntityCoding.codec(Int.self).read(row, 3)
        balance = try EntityCoding.codec(Double.self).read(row, 4)
        rating = try EntityCoding.codec(Double.self).read(row, 5)
        isActive = try EntityCoding.codec(Bool.self).read(row, 6)
        note = try EntityCoding.codec(String.self).read(row, 7)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & (1 << 0) != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
        if properties & (1 << 1) != 0 { try EntityCoding.codec(String.self).write(email, &writer, 1) }
        if properties & (1 << 2) != 0 { try EntityCoding.codec(Double.self).write(age, &writer, 2) }
        if properties & (1 << 3) != 0 { try EntityCoding.codec(Int.self).write(points, &writer, 3) }
        if properties & (1 << 4) != 0 { try EntityCoding.codec(Double.self).write(balance, &writer, 4) }
        if properties & (1 << 5) != 0 { try EntityCoding.codec(Double.self).write(rating, &writer, 5) }
        if properties & (1 << 6) != 0 { try EntityCoding.codec(Bool.self).write(isActive, &writer, 6) }
        if properties & (1 << 7) != 0 { try EntityCoding.codec(String.self).write(note, &writer, 7) }
    }
}

extension SQLiteObjects: MigratingEngine {
    /// As SQLite's documentation of ALTER TABLE recommends: a new table, filled in the order of keys, replaces the old one.
    static func migrate(_ directory: String) throws -> any MigratedPeople {
        let connection = try SQLiteConnection(directory: directory, durability: .full)
        for statement in [
            "BEGIN IMMEDIATE",
            """
            CREATE TABLE changed (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, age REAL NOT NULL,
                points INTEGER NOT NULL, balance REAL NOT NULL, rating REAL NOT NULL, isActive INTEGER NOT NULL,
                note TEXT NOT NULL)
            """,
            """
            INSERT INTO changed SELECT id, name, email, age, points, balance, rating, isActive, 'new'
            FROM person ORDER BY id
            """,
            "DROP TABLE person", "ALTER TABLE changed RENAME TO person",
            "CREATE INDEX person_name ON person (name)", "CREATE INDEX person_points ON person (points)",
            "CREATE INDEX person_age ON person (age)", "COMMIT",
        ] {
            try connection.run(statement)
        }
        return MigratedSQLitePeople(connection: connection)
    }
}

private struct MigratedSQLitePeople: MigratedPeople {
    let connection: SQLiteConnection

    func checksum() throws -> UInt64 {
        let rows = try connection.statement("SELECT points, age, length(note) FROM person WHERE age >= 0")
        defer { sqlite3_finalize(rows) }
        var sum: UInt64 = 0
        while sqlite3_step(rows) == SQLITE_ROW {
            sum &+=
                UInt64(truncatingIfNeeded: sqlite3_column_int64(rows, 0))
                &+ sqlite3_column_double(rows, 1).bitPattern &+ UInt64(sqlite3_column_int64(rows, 2))
        }
        return sum
    }

    func close() throws { try connection.close() }
}
