import GRDB

/// The struct of GRDB's tests for a row: columns by name.
struct GRDBTen: TenColumns, FetchableRecord, PersistableRecord {
    static let databaseTableName = "item"

    var i0: Int
    var i1: Int
    var i2: Int
    var i3: Int
    var i4: Int
    var i5: Int
    var i6: Int
    var i7: Int
    var i8: Int
    var i9: Int

    init(_ number: Int) {
        i0 = number
        i1 = number
        i2 = number
        i3 = number
        i4 = number
        i5 = number
        i6 = number
        i7 = number
        i8 = number
        i9 = number
    }

    init(row: Row) {
        i0 = row["i0"]
        i1 = row["i1"]
        i2 = row["i2"]
        i3 = row["i3"]
        i4 = row["i4"]
        i5 = row["i5"]
        i6 = row["i6"]
        i7 = row["i7"]
        i8 = row["i8"]
        i9 = row["i9"]
    }

    func encode(to container: inout PersistenceContainer) {
        container["i0"] = i0
        container["i1"] = i1
        container["i2"] = i2
        container["i3"] = i3
        container["i4"] = i4
        container["i5"] = i5
        container["i6"] = i6
        container["i7"] = i7
        container["i8"] = i8
        container["i9"] = i9
    }
}

/// A subclass of GRDB's `Record`, which tracks changes since the fetch.
final class GRDBTenObject: Record, TenColumns {
    override static var databaseTableName: String { "item" }

    let i0: Int
    let i1: Int
    let i2: Int
    let i3: Int
    let i4: Int
    let i5: Int
    let i6: Int
    let i7: Int
    let i8: Int
    let i9: Int

    init(_ number: Int) {
        i0 = number
        i1 = number
        i2 = number
        i3 = number
        i4 = number
        i5 = number
        i6 = number
        i7 = number
        i8 = number
        i9 = number
        super.init()
    }

    required init(row: Row) throws {
        i0 = row["i0"]
        i1 = row["i1"]
        i2 = row["i2"]
        i3 = row["i3"]
        i4 = row["i4"]
        i5 = row["i5"]
        i6 = row["i6"]
        i7 = row["i7"]
        i8 = row["i8"]
        i9 = row["i9"]
        try super.init(row: row)
    }

    override func encode(to container: inout PersistenceContainer) {
        container["i0"] = i0
        container["i1"] = i1
        container["i2"] = i2
        container["i3"] = i3
        container["i4"] = i4
        container["i5"] = i5
        container["i6"] = i6
        container["i7"] = i7
        container["i8"] = i8
        container["i9"] = i9
    }
}

/// A struct whose coding the compiler writes.
struct CodableTen: TenColumns, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "item"

    var i0: Int
    var i1: Int
    var i2: Int
    var i3: Int
    var i4: Int
    var i5: Int
    var i6: Int
    var i7: Int
    var i8: Int
    var i9: Int

    init(_ number: Int) {
        i0 = number
        i1 = number
        i2 = number
        i3 = number
        i4 = number
        i5 = number
        i6 = number
        i7 = number
        i8 = number
        i9 = number
    }
}

/// A struct whose columns are read by position, and which inserts by one statement.
struct OptimizedTen: TenColumns, FetchableRecord, TableRecord {
    static let databaseTableName = "item"

    var i0: Int
    var i1: Int
    var i2: Int
    var i3: Int
    var i4: Int
    var i5: Int
    var i6: Int
    var i7: Int
    var i8: Int
    var i9: Int

    init(_ number: Int) {
        i0 = number
        i1 = number
        i2 = number
        i3 = number
        i4 = number
        i5 = number
        i6 = number
        i7 = number
        i8 = number
        i9 = number
    }

    init(row: Row) {
        i0 = row[0]
        i1 = row[1]
        i2 = row[2]
        i3 = row[3]
        i4 = row[4]
        i5 = row[5]
        i6 = row[6]
        i7 = row[7]
        i8 = row[8]
        i9 = row[9]
    }

    func insert(with statement: Statement) throws {
        statement.setUncheckedArguments([i0, i1, i2, i3, i4, i5, i6, i7, i8, i9])
        try statement.execute()
    }
}
