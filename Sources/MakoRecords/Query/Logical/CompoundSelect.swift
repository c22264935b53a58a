/// A column of a compound's ORDER BY.
package struct CompoundTerm: Sendable {
    package let place: Int
    package let descending: Bool
    package let noCase: Bool
    /// Whether NULL sorts after all values instead of before them; with `descending` it is the other way round.
    package let reversesNulls: Bool
}

/// A compound of several SELECTs (UNION, INTERSECT, EXCEPT), with its order and limit.
package struct CompoundSelect<Part: SelectPart>: Sendable {
    package let first: Part
    package let rest: [(operation: SetOperator, part: Part)]
    package let terms: [CompoundTerm]
    package let limit: Int?
    package let offset: Int

    var parts: [Part] { [first] + rest.map(\.part) }

    /// The collations of the columns: for each, that of the first part that has one.
    package var collations: [Collation?] { collations(upTo: rest.count - 1) }

    /// Returns the collations by which the rows of a part are compared with those of the parts before it.
    func collations(upTo place: Int) -> [Collation?] {
        rest.prefix(place + 1).reduce(first.collations) { known, next in
            zip(known, next.part.collations).map { $0 ?? $1 }
        }
    }

    func map<Other: SelectPart>(_ change: (Part) -> Other) -> CompoundSelect<Other> {
        CompoundSelect<Other>(
            first: change(first), rest: rest.map { ($0.operation, change($0.part)) }, terms: terms, limit: limit,
            offset: offset)
    }
}
