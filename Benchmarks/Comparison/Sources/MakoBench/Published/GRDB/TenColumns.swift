/// The rows of GRDB's tests: ten integers, in row i all of them i.
protocol TenColumns {
    var i0: Int { get }
    var i1: Int { get }
    var i2: Int { get }
    var i3: Int { get }
    var i4: Int { get }
    var i5: Int { get }
    var i6: Int { get }
    var i7: Int { get }
    var i8: Int { get }
    var i9: Int { get }
}

extension TenColumns {
    @inline(__always)
    var sum: UInt64 {
        UInt64(truncatingIfNeeded: i0 &+ i1 &+ i2 &+ i3 &+ i4 &+ i5 &+ i6 &+ i7 &+ i8 &+ i9)
    }
}

extension Sequence where Element: TenColumns {
    var sum: UInt64 { reduce(0) { $0 &+ $1.sum } }
}

/// In which form a row is read or inserted: the names are those of GRDB's tests.
enum TenForm: String, CaseIterable {
    /// Values by their position.
    case positional
    /// Values by the names of the columns.
    case named
    case `struct`, `class`
    /// Structs whose coding the compiler writes.
    case codable
    /// Structs by position.
    case optimized
}

enum Ten {
    static let names = (0..<10).map { "i\($0)" }
    static let list = names.joined(separator: ", ")

    static func schema(_ use: TenUse) -> [String] {
        switch use {
        case .arguments: ["CREATE TABLE t (a)"]
        case .reading, .inserting:
            ["CREATE TABLE item (\(names.map { $0 + " INT" }.joined(separator: ", ")))"]
        }
    }

    /// The texts that the tests bind: a short one and a long one.
    static let shortText = "foo"
    static let longText =
        "A harbour is a place where ships lie safely, whatever the weather outside may be; its walls are built to last, and "
        + "those who keep them look at every stone once a year, after the storms of the winter, before the first fleet is in."
}
