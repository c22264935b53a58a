import Foundation
import GRDB

// The same as structs, coded by hand for SQLite's C interface and for GRDB.

/// A struct that is a row of a table in place of an entity of ObjectBox.
protocol PlainBoxed: Boxed, SQLiteRecord, FetchableRecord, MutablePersistableRecord {
    /// The types of the columns after the key.
    static var types: [String] { get }

    var id: Int { get set }
}

extension PlainBoxed {
    static var databaseTableName: String { table }
    static var schema: String {
        let list = zip(columns.dropFirst(), types).map { "\($0) \($1) NOT NULL" }
        return "CREATE TABLE \(table) (id INTEGER PRIMARY KEY, \(list.joined(separator: ", ")))"
    }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = Int(inserted.rowID) }
}

struct PlainTestEntity: PlainBoxed {
    static let table = "TestEntity"
    static let columns = [
        "id", "string", "boolean", "byte", "short", "int", "long", "float", "double",
    ]
    static let types = ["TEXT", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "REAL", "REAL"]

    var id = 0
    var string: String
    var boolean: Bool
    var byte: Int8
    var short: Int16
    var int: Int32
    var long: Int64
    var float: Float
    var double: Double

    init(_ data: BoxData) {
        string = data.string
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    mutating func take(_ data: BoxData) {
        let key = id
        self = PlainTestEntity(data)
        id = key
    }

    var contentChecksum: UInt64 { UInt64(string.utf8.count) &* 31 }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        string = row.text(1)
        boolean = row.int(2) != 0
        byte = Int8(truncatingIfNeeded: row.int(3))
        short = Int16(truncatingIfNeeded: row.int(4))
        int = Int32(truncatingIfNeeded: row.int(5))
        long = Int64(truncatingIfNeeded: row.int(6))
        float = Float(row.double(7))
        double = row.double(8)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id == 0 ? nil : id, 1)
        statement.bind(string, 2)
        statement.bind(boolean, 3)
        statement.bind(Int(byte), 4)
        statement.bind(Int(short), 5)
        statement.bind(Int(int), 6)
        statement.bind(Int(long), 7)
        statement.bind(Double(float), 8)
        statement.bind(double, 9)
    }

    init(row: Row) {
        id = row[0]
        string = row[1]
        boolean = row[2]
        byte = row[3]
        short = row[4]
        int = row[5]
        long = row[6]
        float = row[7]
        double = row[8]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id == 0 ? nil : id
        container["string"] = string
        container["boolean"] = boolean
        container["byte"] = byte
        container["short"] = short
        container["int"] = int
        container["long"] = long
        container["float"] = float
        container["double"] = double
    }
}

struct PlainSimpleEntity: PlainBoxed {
    static let table = "SimpleEntity"
    static let columns = [
        "id", "string", "bytes", "boolean", "byte", "short", "int", "long", "float", "double",
    ]
    static let types = ["TEXT", "BLOB", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "REAL", "REAL"]

    var id = 0
    var string: String
    var bytes: [UInt8]
    var boolean: Bool
    var byte: Int8
    var short: Int16
    var int: Int32
    var long: Int64
    var float: Float
    var double: Double

    init(_ data: BoxData) {
        string = data.string
        bytes = data.bytes
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    mutating func take(_ data: BoxData) {
        let key = id
        self = PlainSimpleEntity(data)
        id = key
    }

    var contentChecksum: UInt64 { UInt64(string.utf8.count) &* 31 &+ UInt64(bytes.count) &+ UInt64(bytes.last ?? 0) }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        string = row.text(1)
        bytes = row.bytes(2)
        boolean = row.int(3) != 0
        byte = Int8(truncatingIfNeeded: row.int(4))
        short = Int16(truncatingIfNeeded: row.int(5))
        int = Int32(truncatingIfNeeded: row.int(6))
        long = Int64(truncatingIfNeeded: row.int(7))
        float = Float(row.double(8))
        double = row.double(9)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id == 0 ? nil : id, 1)
        statement.bind(string, 2)
        statement.bind(bytes, 3)
        statement.bind(boolean, 4)
        statement.bind(Int(byte), 5)
        statement.bind(Int(short), 6)
        statement.bind(Int(int), 7)
        statement.bind(Int(long), 8)
        statement.bind(Double(float), 9)
        statement.bind(double, 10)
    }

    init(row: Row) {
        id = row[0]
        string = row[1]
        bytes = [UInt8](row[2] as Data)
        boolean = row[3]
        byte = row[4]
        short = row[5]
        int = row[6]
        long = row[7]
        float = row[8]
        double = row[9]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id == 0 ? nil : id
        container["string"] = string
        container["bytes"] = Data(bytes)
        container["boolean"] = boolean
        container["byte"] = byte
        container["short"] = short
        container["int"] = int
        container["long"] = long
        container["float"] = float
        container["double"] = double
    }
}

struct PlainScalarEntity: PlainBoxed {
    static let table = "ScalarEntity"
    static let columns = [
        "id", "boolean", "byte", "short", "int", "long", "float", "double",
    ]
    static let types = ["INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "REAL", "REAL"]

    var id = 0
    var boolean: Bool
    var byte: Int8
    var short: Int16
    var int: Int32
    var long: Int64
    var float: Float
    var double: Double

    init(_ data: BoxData) {
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    mutating func take(_ data: BoxData) {
        let key = id
        self = PlainScalarEntity(data)
        id = key
    }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        boolean = row.int(1) != 0
        byte = Int8(truncatingIfNeeded: row.int(2))
        short = Int16(truncatingIfNeeded: row.int(3))
        int = Int32(truncatingIfNeeded: row.int(4))
        long = Int64(truncatingIfNeeded: row.int(5))
        float = Float(row.double(6))
        double = row.double(7)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id == 0 ? nil : id, 1)
        statement.bind(boolean, 2)
        statement.bind(Int(byte), 3)
        statement.bind(Int(short), 4)
        statement.bind(Int(int), 5)
        statement.bind(Int(long), 6)
        statement.bind(Double(float), 7)
        statement.bind(double, 8)
    }

    init(row: Row) {
        id = row[0]
        boolean = row[1]
        byte = row[2]
        short = row[3]
        int = row[4]
        long = row[5]
        float = row[6]
        double = row[7]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id == 0 ? nil : id
        container["boolean"] = boolean
        container["byte"] = byte
        container["short"] = short
        container["int"] = int
        container["long"] = long
        container["float"] = float
        container["double"] = double
    }
}
