/// An aggregate function; the raw value is its name in SQL.
package enum AggregateFunction: String, Sendable, Hashable {
    /// The number of values that are not NULL.
    case count
    /// The sum; NULL without values.
    case sum
    /// The average; NULL without values.
    case average = "avg"
    /// The smallest value; NULL without values.
    case minimum = "min"
    /// The largest value; NULL without values.
    case maximum = "max"
    /// The sum as a double; 0 without values.
    case total

    /// Whether it adds numbers; booleans count as 1 and 0.
    var adds: Bool { self == .sum || self == .average || self == .total }

    /// Makes the function of a name, which may have the mark of DISTINCT.
    init?(marked name: String) {
        let bare = name.hasSuffix(Parser.distinctMark) ? String(name.dropLast(Parser.distinctMark.count)) : name
        self.init(rawValue: bare)
    }
}
