import GRDB

// The rows of Realm's tests as structs, coded by hand for SQLite's C interface and for GRDB.

struct StringRecord: SQLiteRecord, FetchableRecord, MutablePersistableRecord {
    static let table = "StringObject"
    static let columns = ["id", "stringCol"]
    static let databaseTableName = table

    var id: Int?
    var stringCol: String

    init(_ text: String) { stringCol = text }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        stringCol = row.text(1)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id, 1)
        statement.bind(stringCol, 2)
    }

    init(row: Row) {
        id = row[0]
        stringCol = row[1]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["stringCol"] = stringCol
    }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = Int(inserted.rowID) }
}

struct IntRecord: SQLiteRecord, FetchableRecord, MutablePersistableRecord {
    static let table = "IntObject"
    static let columns = ["id", "intCol"]
    static let databaseTableName = table

    var id: Int?
    var intCol: Int

    init(_ number: Int) { intCol = number }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        intCol = row.int(1)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id, 1)
        statement.bind(intCol, 2)
    }

    init(row: Row) {
        id = row[0]
        intCol = row[1]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["intCol"] = intCol
    }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = Int(inserted.rowID) }
}

struct IndexedRecord: SQLiteRecord, FetchableRecord {
    static let table = "IndexedObject"
    static let columns = ["id", "stringCol", "intCol"]

    var id: Int?
    var stringCol: String
    var intCol: Int

    init(_ number: Int) {
        stringCol = String(number)
        intCol = number
    }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        stringCol = row.text(1)
        intCol = row.int(2)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id, 1)
        statement.bind(stringCol, 2)
        statement.bind(intCol, 3)
    }

    init(row: Row) {
        id = row[0]
        stringCol = row[1]
        intCol = row[2]
    }
}

enum RealmTables {
    static let schema = [
        "CREATE TABLE StringObject (id INTEGER PRIMARY KEY, stringCol TEXT NOT NULL)",
        "CREATE TABLE IntObject (id INTEGER PRIMARY KEY, intCol INTEGER NOT NULL)",
        """
        CREATE TABLE IndexedObject (id INTEGER PRIMARY KEY, stringCol TEXT NOT NULL,
            intCol INTEGER NOT NULL)
        """,
        "CREATE INDEX by_string ON IndexedObject (stringCol)",
        "CREATE INDEX by_int ON IndexedObject (intCol)",
        // The list and the set of all of StringObject: owner, place, member.
        "CREATE TABLE ListObject (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        """
        CREATE TABLE ListMember (list INTEGER NOT NULL, place INTEGER NOT NULL, member INTEGER NOT NULL,
            PRIMARY KEY (list, place)) WITHOUT ROWID
        """,
        "CREATE TABLE SetObject (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        """
        CREATE TABLE SetMember (owner INTEGER NOT NULL, member INTEGER NOT NULL,
            PRIMARY KEY (owner, member)) WITHOUT ROWID
        """,
    ]
    static let listed =
        "SELECT o.id, o.stringCol FROM ListMember m JOIN StringObject o ON o.id = m.member WHERE m.list = 1 ORDER BY m.place"
    static let collected =
        "SELECT o.id, o.stringCol FROM SetMember m JOIN StringObject o ON o.id = m.member WHERE m.owner = 1"
    /// More values than a statement may have parameters.
    static let among = "WHERE intCol IN (SELECT value FROM json_each(?1)) LIMIT 1"

    static func json(_ numbers: [Int]) -> String { "[" + numbers.map { String($0) }.joined(separator: ",") + "]" }
}
