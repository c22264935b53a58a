/// Where a part of a condition stands in its text. Positions never make two conditions different.
public struct SourcePosition: Sendable, Hashable {
    public var text: String
    /// In UTF-8 bytes from the beginning.
    public var offset: Int
    public var length: Int

    /// No position: the part was built by code.
    public static let none = SourcePosition(text: "", offset: 0, length: 1)

    public init(text: String, offset: Int, length: Int) {
        self.text = text
        self.offset = offset
        self.length = length
    }

    public static func == (left: SourcePosition, right: SourcePosition) -> Bool { true }
    public func hash(into hasher: inout Hasher) {}

    /// The fault of a text with places for fewer values than were given; shown at its end.
    static func valuesLeftOver(_ given: Int, places: Int, in text: String) -> RecordError {
        let asked = places == 0 ? "no parameters" : places == 1 ? "1 parameter" : "\(places) parameters"
        return SourcePosition(text: text, offset: text.utf8.count, length: 1).error(
            "the text has \(asked), but \(given == 1 ? "1 value was" : "\(given) values were") given")
    }

    /// What an unknown name in double quotes may have been meant as; empty for one that is written otherwise.
    func textHint(_ name: String) -> String {
        guard offset < text.utf8.count,
            text.utf8[text.utf8.index(text.startIndex, offsetBy: offset)] == UInt8(ascii: "\"")
        else { return "" }
        return "; double quotes make a name, and a text is written in single quotes: \(Value.text(name))"
    }

    func error(_ message: String, nearest: String? = nil) -> RecordError {
        .syntax(QueryError(text: text, offset: offset, length: max(1, length), message: message, nearest: nearest))
    }
}

public enum ComparisonOperator: String, Sendable, Hashable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The operator with its sides exchanged.
    var mirrored: ComparisonOperator {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }
}

public enum ArithmeticOperator: String, Sendable, Hashable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    /// `||` between texts.
    case concatenate = "||"
}

/// A place for a value that is given when the condition is used.
public enum Parameter: Sendable, Hashable {
    /// The n-th, from 0.
    case position(Int)
    case name(String)
}

/// An expression that gives a value; its names are not resolved yet.
public indirect enum Expr: Sendable, Hashable {
    /// A column, or a path over to-one references: `["department", "location", "name"]`.
    case column([String], at: SourcePosition = .none)
    case literal(Value, at: SourcePosition = .none)
    case parameter(Parameter, at: SourcePosition = .none)
    case arithmetic(ArithmeticOperator, Expr, Expr, at: SourcePosition = .none)
    case negate(Expr)
    case function(String, [Expr], at: SourcePosition = .none)
    /// `COLLATE NOCASE`: how the value is compared, not what it is.
    case noCase(Expr)
    /// `COLLATE BINARY`, by bytes.
    case binary(Expr)
    /// `(SELECT max(age) FROM Person)`: the value of its first row.
    case subquery(Subquery)
    /// What is worked out of many rows or values: `people.@sum.salary`, the path, the function and the path behind it.
    case collection([String], AggregateFunction, [String], at: SourcePosition = .none)
    case choice(Choice)
    /// What the `CASE` around compares with its branches.
    case subject(at: SourcePosition = .none)
    /// A condition where a value stands: 1 where it is true, 0 where it is false, NULL where it is unknown.
    case condition(Condition, at: SourcePosition = .none)

    /// The column at the end of a dotted path.
    ///
    ///     Expr.path("department.location.name")
    public static func path(_ dotted: String) -> Expr {
        .column(dotted.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }

    /// The name before paths whose first column is the row's own, whatever tables are called; no table or column has it.
    static let ownRow = ""

    /// The column at the end of a path over the row's own columns, though a table be called as the first of them.
    public static func ownPath(_ names: [String]) -> Expr { .column(ownNames(names)) }

    /// The names of such a path.
    public static func ownNames(_ names: [String]) -> [String] { names.count > 1 ? [ownRow] + names : names }

    /// The path as it is written; nil where this is no column.
    public var writtenPath: String? {
        guard case .column(let path, _) = self else { return nil }
        return Expr.written(path)
    }

    static func written(_ path: [String]) -> String { path.drop { $0 == ownRow }.joined(separator: ".") }

    /// Reads one expression of the where language.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    public static func parse(_ text: String) throws(RecordError) -> Expr {
        var parser = try Parser(text)
        let result = try parser.expression()
        try parser.expectEnd()
        return result
    }

    /// Whether it is a condition, beside which booleans are numbers.
    var isCondition: Bool { if case .condition = self { true } else { false } }

    var position: SourcePosition {
        switch self {
        case .column(_, let at), .literal(_, let at), .parameter(_, let at), .arithmetic(_, _, _, let at),
            .function(_, _, let at), .collection(_, _, _, let at), .subject(let at),
            .condition(_, let at):
            at
        case .choice(let choice): choice.at
        case .negate(let inner), .noCase(let inner), .binary(let inner): inner.position
        case .subquery(let subquery): subquery.at
        }
    }
}

/// A condition on rows; its names are not resolved yet.
///
/// Write it as text or build it:
///
///     let condition = try Condition.parse("age >= 35 AND department.location.name = ?")
///     let same = Condition.comparison(.greaterOrEqual, .column(["age"]), .literal(.integer(35)))
public indirect enum Condition: Sendable, Hashable {
    case comparison(ComparisonOperator, Expr, Expr)
    case and([Condition])
    case or([Condition])
    case not(Condition)
    case isIn(Expr, [Expr])
    /// The same for values that are no part of a text, of which there may be many: they take no expression each.
    case isAmong(Expr, [Value])
    case between(Expr, Expr, Expr)
    /// Ignores the case of ASCII letters; `%` stands for any text, `_` for one character.
    case like(Expr, Expr, escape: Expr?)
    /// Minds the case; `*` stands for any text, `?` for one character, `[a-z]` for one of a set.
    case glob(Expr, Expr)
    case isNull(Expr)
    /// An expression that is a truth value by itself, such as a bool column.
    case truth(Expr)
    case constant(Bool)
    /// Whether the words of a column with a full-text index, or of a table's only one, are as the text on the right says.
    case match(Expr, Expr)
    /// `x IN (SELECT …)`
    case isInQuery(Expr, Subquery)
    case exists(Subquery)
    /// `ANY people.age > 60`: the first path in it that leads to many rows or values says which.
    case quantified(Quantifier, Condition, at: SourcePosition = .none)
    /// For how many of the rows to which a path leads a condition holds; its names are theirs.
    case elements(Quantifier, [String], Condition)

    /// Reads a condition of the where language.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    public static func parse(_ text: String) throws(RecordError) -> Condition { try parse(text, values: nil) }

    /// Reads a condition and sees to it that each value given for its `?` has a place.
    ///
    /// - Parameter values: how many values were given; nil when that is not known yet.
    /// - Throws: `RecordError.syntax`, pointing into the text.
    public static func parse(_ text: String, values: Int?) throws(RecordError) -> Condition {
        var parser = try Parser(text)
        let result = try parser.condition()
        try parser.expectEnd()
        if let values, values > parser.parameterCount {
            throw SourcePosition.valuesLeftOver(values, places: parser.parameterCount, in: text)
        }
        return result
    }

    public static func && (left: Condition, right: Condition) -> Condition {
        switch (left, right) {
        case (.and(let a), .and(let b)): .and(a + b)
        case (.and(let a), _): .and(a + [right])
        case (_, .and(let b)): .and([left] + b)
        default: .and([left, right])
        }
    }

    public static func || (left: Condition, right: Condition) -> Condition {
        switch (left, right) {
        case (.or(let a), .or(let b)): .or(a + b)
        case (.or(let a), _): .or(a + [right])
        case (_, .or(let b)): .or([left] + b)
        default: .or([left, right])
        }
    }

    public static prefix func ! (condition: Condition) -> Condition { .not(condition) }
}
