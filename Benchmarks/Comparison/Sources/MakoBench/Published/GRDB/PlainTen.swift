/// A row as a struct coded by hand for SQLite's C interface.
struct PlainTen: TenColumns, SQLiteRecord {
    static let table = "item"
    static let columns = Ten.names

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
    }

    init(_ row: SQLiteStatement) {
        i0 = row.int(0)
        i1 = row.int(1)
        i2 = row.int(2)
        i3 = row.int(3)
        i4 = row.int(4)
        i5 = row.int(5)
        i6 = row.int(6)
        i7 = row.int(7)
        i8 = row.int(8)
        i9 = row.int(9)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(i0, 1)
        statement.bind(i1, 2)
        statement.bind(i2, 3)
        statement.bind(i3, 4)
        statement.bind(i4, 5)
        statement.bind(i5, 6)
        statement.bind(i6, 7)
        statement.bind(i7, 8)
        statement.bind(i8, 9)
        statement.bind(i9, 10)
    }
}

/// The same as a class.
final class PlainTenObject: TenColumns, SQLiteRecord {
    static let table = "item"
    static let columns = Ten.names

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
    }

    init(_ row: SQLiteStatement) {
        i0 = row.int(0)
        i1 = row.int(1)
        i2 = row.int(2)
        i3 = row.int(3)
        i4 = row.int(4)
        i5 = row.int(5)
        i6 = row.int(6)
        i7 = row.int(7)
        i8 = row.int(8)
        i9 = row.int(9)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(i0, 1)
        statement.bind(i1, 2)
        statement.bind(i2, 3)
        statement.bind(i3, 4)
        statement.bind(i4, 5)
        statement.bind(i5, 6)
        statement.bind(i6, 7)
        statement.bind(i7, 8)
        statement.bind(i8, 9)
        statement.bind(i9, 10)
    }
}
