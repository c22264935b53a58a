import MakoRecords

/// A condition with format specifiers, as in `NSPredicate`: each binds the next parameter.
///
///     "age = %@ AND name IN %@"        %@ any value; a list behind IN, with or without parentheses
///     "age > %d AND weight < %f"       integers, numbers, texts: see FormatSpecifier
///     "age \% 2 = 0"                   a percent sign
///
/// Inside text literals percent signs are literal.
struct FormatText {
    private let format: String
    private let parameters: [Any?]
    private var text = ""
    private var values: [ParameterValue] = []
    private var taken = 0

    init(_ format: String, _ parameters: [Any?]) {
        self.format = format
        self.parameters = parameters
    }

    /// The condition with all parameters bound.
    mutating func condition() -> ConditionSource {
        do throws(MakoError) {
            try translate()
            guard taken == parameters.count else {
                throw .query(message: "\(format)\n  takes \(taken) parameters, but \(parameters.count) were given")
            }
        } catch {
            return .failed(error)
        }
        return WhereText(text: text).condition(values)
    }

    private mutating func translate() throws(MakoError) {
        var rest = Substring(format)
        var quote: Character?
        while let next = rest.popFirst() {
            if let open = quote {
                if next == open { quote = nil }
                text.append(next)
            } else if next == "'" || next == "\"" {
                quote = next
                text.append(next)
            } else if next == "\\", rest.first == "%" {
                rest.removeFirst()
                text.append("%")
            } else if next == "%", let specifier = FormatSpecifier(beginning: rest) {
                rest.removeFirst(specifier.length)
                try take(specifier.kind)
            } else {
                text.append(next)
            }
        }
    }

    private mutating func take(_ kind: FormatSpecifier.Kind) throws(MakoError) {
        guard taken < parameters.count else {
            throw .query(message: "\(format)\n  takes more parameters than the \(parameters.count) that were given")
        }
        let parameter = parameters[taken]
        taken += 1
        guard let parameter else { return bind(.one(.null)) }
        if kind == .anything, let list = try list(parameter) { return bind(.list(list)) }
        guard let value = parameter as? any ConditionValue else { throw fault(kind, "\(type(of: parameter))") }
        let stored = value.conditionValue
        switch (kind, stored) {
        case (.anything, _), (_, .null), (.whole, .integer), (.whole, .unsigned), (.whole, .bool), (.number, .double),
            (.number, .integer), (.number, .unsigned), (.text, .text):
            bind(.one(stored))
        default: throw fault(kind, "\(type(of: parameter))")
        }
    }

    private func fault(_ kind: FormatSpecifier.Kind, _ found: String) -> MakoError {
        .query(message: "\(format)\n  takes \(kind.rawValue) as its parameter \(taken), not a \(found)")
    }

    /// The values of a list; nil for a single value.
    private func list(_ parameter: Any) throws(MakoError) -> [StoredValue]? {
        if let value = parameter as? any ConditionValue {
            return value.conditionList
        }
        guard let elements = Self.elements(of: parameter) else { return nil }
        var values: [StoredValue] = []
        for element in elements {
            guard let value = element as? any ConditionValue else {
                throw fault(.anything, "list of \(type(of: element))")
            }
            values.append(value.conditionValue)
        }
        return values
    }

    private static func elements(of parameter: Any) -> [Any]? {
        if let array = parameter as? [Any] { return array }
        if let sequence = parameter as? any Sequence { return erased(sequence) }
        return nil
    }

    private static func erased(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }

    private mutating func bind(_ value: ParameterValue) {
        text += "?"
        values.append(value)
    }
}

extension Query {
    /// Adds a condition with format specifiers: `%@` binds the next parameter of any type; `%d %i %u %l %q` and their
    /// long forms `%ld %li %lu %lld %lli %llu %ul %ull %qi %zd` an integer; `%f %g %lf` a number; `%s %c` a text. `\%`
    /// is a percent sign. Parameters are bound, never inserted into the text.
    ///
    /// ```swift
    /// let people = try Person.query()
    ///     .where("age = %@ AND name IN %@", withParameters: [35, ["Ada", "Bob"]])
    ///     .fetch()
    /// ```
    ///
    /// - Throws: the terminal throws `MakoError.query` for too many or too few parameters, and for one of another type.
    public func `where`(_ format: String, withParameters parameters: [Any?]) -> Query {
        var text = FormatText(format, parameters)
        return adding(text.condition())
    }
}
