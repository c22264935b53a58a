/// A set of columns by their ordinals.
@usableFromInline
package struct ColumnSet: Sendable, Hashable {
    private var first: UInt64 = 0
    private var rest: [UInt64] = []
    /// Whether the set has every column.
    package private(set) var isAll = false

    /// Makes an empty set.
    package init() {}

    static var all: ColumnSet {
        var set = ColumnSet()
        set.isAll = true
        return set
    }

    /// Whether the set is empty.
    package var isEmpty: Bool { !isAll && first == 0 && rest.allSatisfy { $0 == 0 } }

    /// Returns whether the set has a column.
    ///
    /// - Parameter ordinal: the column's ordinal.
    package func contains(_ ordinal: Int) -> Bool {
        if isAll { return true }
        if ordinal < 64 { return ordinal >= 0 && first >> UInt64(ordinal) & 1 == 1 }
        let word = ordinal / 64 - 1
        return word < rest.count && rest[word] >> UInt64(ordinal & 63) & 1 == 1
    }

    mutating func insert(_ ordinal: Int) {
        if ordinal < 64 {
            first |= 1 << UInt64(ordinal)
        } else {
            let word = ordinal / 64 - 1
            while rest.count <= word { rest.append(0) }
            rest[word] |= 1 << UInt64(ordinal & 63)
        }
    }

    mutating func formUnion(_ other: ColumnSet) {
        isAll = isAll || other.isAll
        first |= other.first
        while rest.count < other.rest.count { rest.append(0) }
        for (index, word) in other.rest.enumerated() { rest[index] |= word }
    }

    func intersects(_ other: ColumnSet) -> Bool {
        if isAll { return !other.isEmpty }
        if other.isAll { return !isEmpty }
        if first & other.first != 0 { return true }
        return !rest.isEmpty && zip(rest, other.rest).contains { $0 & $1 != 0 }
    }

    /// The ordinals of the columns, ascending; empty if the set has every column.
    var ordinals: [Int] {
        isAll ? [] : (0..<64 * (rest.count + 1)).filter { contains($0) }
    }

    /// Returns the names of the set's live columns.
    package func names(in schema: EntitySchema) -> [String] {
        schema.liveColumns.filter { contains($0.ordinal) }.map(\.name)
    }
}
