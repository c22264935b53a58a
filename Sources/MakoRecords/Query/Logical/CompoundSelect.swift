/// One of the columns by which rows that are put together are sorted.
struct CompoundTerm: Sendable {
    let place: Int
    let descending: Bool
    let noCase: Bool
}

/// Several SELECTs whose rows are put together, one after the other; then sorted and cut.
struct CompoundSelect<Part: SelectPart>: Sendable {
    let first: Part
    let rest: [(operation: SetOperator, part: Part)]
    let terms: [CompoundTerm]
    let limit: Int?
    let offset: Int

    var parts: [Part] { [first] + rest.map(\.part) }

    /// The collations of the columns: those that the first part that has one brings.
    var collations: [Collation?] { collations(upTo: rest.count - 1) }

    /// Those under which the rows of a part meet the ones before it.
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
