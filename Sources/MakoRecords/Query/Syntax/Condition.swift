/// A position in a source text. Positions do not affect equality.
package struct SourcePosition: Sendable, Hashable {
    /// The source text.
    package var text: String
    /// The offset in UTF-8 bytes.
    package var offset: Int
    /// The length in UTF-8 bytes.
    package var length: Int

    /// No position: the node was built by code.
    package static let none = SourcePosition(text: "", offset: 0, length: 1)

    /// Makes a position.
    package init(text: String, offset: Int, length: Int) {
        self.text = text
        self.offset = offset
        self.length = length
    }

    /// Returns true: positions do not affect the equality of conditions.
    package static func == (left: SourcePosition, right: SourcePosition) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}

    /// Returns the error for more values than the text has parameters; it points to the end of the text.
    static func valuesLeftOver(_ given: Int, places: Int, in text: String) -> RecordError {
        let expected = places == 0 ? "no parameters" : places == 1 ? "1 parameter" : "\(places) parameters"
        return SourcePosition(text: text, offset: text.utf8.count, length: 1).error(
            "the text has \(expected), but \(given == 1 ? "1 value was" : "\(given) values were") given")
    }

    /// Returns a hint for an unknown name: one in double quotes may be meant as a text, and `nil` as NULL; empty for
    /// other names.
    func textHint(_ name: String) -> String {
        if Folding.folded(name) == "nil" { return "; NULL is found by IS NULL and IS NOT NULL" }
        guard offset < text.utf8.count,
            text.utf8[text.utf8.index(text.startIndex, offsetBy: offset)] == UInt8(ascii: "\"")
        else { return "" }
        return "; double quotes make a name, and a text is written in single quotes: \(Value.text(name))"
    }

    func error(_ message: String, nearest: String? = nil) -> RecordError {
        .syntax(QueryError(text: text, offset: offset, length: max(1, length), message: message, nearest: nearest))
    }
}

/// A comparison operator; the raw value is its symbol.
package enum ComparisonOperator: String, Sendable, Hashable {
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

/// An arithmetic operator; the raw value is its symbol.
package enum ArithmeticOperator: String, Sendable, Hashable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    /// Concatenation of texts.
    case concatenate = "||"
}

/// A parameter, whose value is given when the condition runs.
package enum Parameter: Sendable, Hashable {
    /// The n-th positional parameter, from 0.
    case position(Int)
    /// A named parameter.
    case name(String)
}

/// An expression whose names are not resolved yet.
package indirect enum Expr: Sendable, Hashable {
    /// A column, or a path over to-one references: `["department", "location", "name"]`.
    case column([String], at: SourcePosition = .none)
    /// A constant.
    case literal(Value, at: SourcePosition = .none)
    /// A parameter.
    case parameter(Parameter, at: SourcePosition = .none)
    /// An arithmetic operation.
    case arithmetic(ArithmeticOperator, Expr, Expr, at: SourcePosition = .none)
    /// The negative number.
    case negate(Expr)
    /// A function call, an aggregate included.
    case function(String, [Expr], at: SourcePosition = .none)
    /// `COLLATE NOCASE`: the value is compared without case.
    case noCase(Expr)
    /// `COLLATE BINARY`: the value is compared by bytes.
    case binary(Expr)
    /// `(SELECT max(age) FROM Person)`: the value of its first row.
    case subquery(Subquery)
    /// An aggregate over a collection, `people.@sum.salary`: the path, the function and the path after it.
    case collection([String], AggregateFunction, [String], at: SourcePosition = .none)
    /// A `CASE`.
    case choice(Choice)
    /// The operand of the enclosing `CASE`.
    case subject(at: SourcePosition = .none)
    /// A condition as a value: 1 if it is true, 0 if it is false, NULL if it is NULL.
    case condition(Condition, at: SourcePosition = .none)

    /// Returns the column at the end of a dotted path.
    ///
    ///     Expr.path("department.location.name")
    package static func path(_ dotted: String) -> Expr {
        .column(dotted.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }

    /// The first name of paths that start at the row's own columns, whatever tables are named; no table or column has
    /// it.
    static let ownRow = ""

    /// Returns the column at the end of a path over the row's own columns, even if a table has the name of the first of
    /// them.
    package static func ownPath(_ names: [String]) -> Expr { .column(ownNames(names)) }

    /// Returns the names of such a path.
    package static func ownNames(_ names: [String]) -> [String] { names.count > 1 ? [ownRow] + names : names }

    /// The path as written; `nil` for other expressions.
    package var writtenPath: String? {
        guard case .column(let path, _) = self else { return nil }
        return Expr.written(path)
    }

    static func written(_ path: [String]) -> String { path.drop { $0 == ownRow }.joined(separator: ".") }

    /// Parses an expression of the where language.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> Expr {
        var parser = try Parser(text)
        let result = try parser.expression()
        try parser.expectEnd()
        return result
    }

    /// Whether it is a condition, which makes booleans beside it numbers.
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

/// A condition on rows whose names are not resolved yet.
///
/// Parse it from a text or build it:
///
///     let condition = try Condition.parse("age >= 35 AND department.location.name = ?")
///     let same = Condition.comparison(.greaterOrEqual, .column(["age"]), .literal(.integer(35)))
package indirect enum Condition: Sendable, Hashable {
    /// A comparison of two expressions.
    case comparison(ComparisonOperator, Expr, Expr)
    /// True if all conditions are.
    case and([Condition])
    /// True if one of the conditions is.
    case or([Condition])
    /// The negation.
    case not(Condition)
    /// `x IN (…)`.
    case isIn(Expr, [Expr])
    /// The same for values from outside the text, possibly many: they need no expression each.
    case isAmong(Expr, [Value])
    /// `x BETWEEN a AND b`.
    case between(Expr, Expr, Expr)
    /// Ignores the case of ASCII letters; `%` matches any text, `_` one character.
    case like(Expr, Expr, escape: Expr?)
    /// Respects case; `*` matches any text, `?` one character, `[a-z]` one of a set.
    case glob(Expr, Expr)
    /// `x IS NULL`.
    case isNull(Expr)
    /// An expression used as a truth value, such as a bool column.
    case truth(Expr)
    /// A constant.
    case constant(Bool)
    /// Whether the words of a column with a full-text index, or of a table with exactly one, match the query on the
    /// right.
    case match(Expr, Expr)
    /// `x IN (SELECT …)`.
    case isInQuery(Expr, Subquery)
    /// `EXISTS (SELECT …)`.
    case exists(Subquery)
    /// `ANY people.age > 60`: the first path in it that leads to a collection determines the rows.
    case quantified(Quantifier, Condition, at: SourcePosition = .none)
    /// A quantified condition on the collection that a path leads to; its names are those of the elements.
    case elements(Quantifier, [String], Condition)

    /// Parses a condition of the where language.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> Condition { try parse(text, values: nil) }

    /// Parses a condition and checks that it has a parameter for each value.
    ///
    /// - Parameter values: the number of positional values; `nil` if unknown.
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String, values: Int?) throws(RecordError) -> Condition {
        var parser = try Parser(text)
        let result = try parser.condition()
        try parser.expectEnd()
        if let values, values > parser.parameterCount {
            throw SourcePosition.valuesLeftOver(values, places: parser.parameterCount, in: text)
        }
        return result
    }

    /// Returns the conjunction of two conditions.
    package static func && (left: Condition, right: Condition) -> Condition {
        switch (left, right) {
        case (.and(let a), .and(let b)): .and(a + b)
        case (.and(let a), _): .and(a + [right])
        case (_, .and(let b)): .and([left] + b)
        default: .and([left, right])
        }
    }

    /// Returns the disjunction of two conditions.
    package static func || (left: Condition, right: Condition) -> Condition {
        switch (left, right) {
        case (.or(let a), .or(let b)): .or(a + b)
        case (.or(let a), _): .or(a + [right])
        case (_, .or(let b)): .or([left] + b)
        default: .or([left, right])
        }
    }

    /// The name of the function that ``same(_:_:at:)`` calls, which cannot be written as a call.
    static let sameFunction = "is same"

    /// `IS` between two values.
    static func same(_ left: Expr, _ right: Expr, at: SourcePosition) -> Condition {
        .truth(.function(sameFunction, [left, right], at: at))
    }

    /// Returns the negation of a condition.
    package static prefix func ! (condition: Condition) -> Condition { .not(condition) }
}
