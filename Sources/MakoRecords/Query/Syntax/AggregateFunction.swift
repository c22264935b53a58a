/// An aggregate, by its name in the language.
public enum AggregateFunction: String, Sendable, Hashable {
    case count
    /// NULL when there is nothing to add.
    case sum
    case average = "avg"
    case minimum = "min"
    case maximum = "max"
    /// As a double; 0 when there is nothing to add.
    case total

    /// Whether it adds numbers up; of booleans it counts those that are true.
    var adds: Bool { self == .sum || self == .average || self == .total }

    /// The function of a name that may say that only different values count.
    init?(marked name: String) {
        let bare = name.hasSuffix(Parser.distinctMark) ? String(name.dropLast(Parser.distinctMark.count)) : name
        self.init(rawValue: bare)
    }
}
