import MakoRecords

/// A condition with format specifiers, as older libraries write them: each takes the next parameter, and binds it.
///
///     "age = %@ AND name LIKE %@"      %@ anything; a list becomes (…, …), an empty one (NULL), and in IN (%@) it has its parentheses
///     "age > %d AND weight < %f"       %d %i %l whole numbers, also %u %ul %ull; %f numbers; %s texts
///     "age \% 2 = 0"                   a percent sign
///
/// Inside text literals percent signs stand for themselves.
struct FormatText {
    /// What a specifier takes.
    private enum Kind: String {
        case anything = "anything"
        case whole = "a whole number"
        case number = "a number"
        case text = "a text"
    }

    private let format: String
    private let parameters: [Any?]
    private var text = ""
    private var values: [StoredValue] = []
    private var taken = 0

    init(_ format: String, _ parameters: [Any?]) {
        self.format = format
        self.parameters = parameters
    }

    /// The condition with everything bound.
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
            } else if next == "%", let (kind, length) = Self.specifier(rest) {
                rest.removeFirst(length)
                let isEnclosed = text.last { $0 != " " } == "(" && rest.first { $0 != " " } == ")"
                try take(kind, isEnclosed)
            } else {
                text.append(next)
            }
        }
    }

    private static func specifier(_ rest: Substring) -> (Kind, Int)? {
        for (name, kind) in [
            ("ull", Kind.whole), ("ul", .whole), ("u", .whole), ("l", .whole), ("d", .whole), ("i", .whole),
            ("f", .number), ("s", .text), ("@", .anything),
        ] where rest.hasPrefix(name) {
            // `a %limit` is a remainder and no specifier.
            if let after = rest.dropFirst(name.count).first, name != "@", after.isLetter || after == "_" { continue }
            return (kind, name.count)
        }
        return nil
    }

    private mutating func take(_ kind: Kind, _ isEnclosed: Bool) throws(MakoError) {
        guard taken < parameters.count else {
            throw .query(message: "\(format)\n  takes more parameters than the \(parameters.count) that were given")
        }
        let parameter = parameters[taken]
        taken += 1
        guard let parameter else { return bind(.null) }
        if kind == .anything, !(parameter is any ConditionValue), let list = Self.elements(of: parameter) {
            try bind(list, isEnclosed)
            return
        }
        guard let value = parameter as? any ConditionValue else { throw fault(kind, "\(type(of: parameter))") }
        let stored = value.conditionValue
        switch (kind, stored) {
        case (.anything, _), (_, .null), (.whole, .integer), (.whole, .unsigned), (.whole, .bool), (.number, .double),
            (.number, .integer), (.number, .unsigned), (.text, .text):
            bind(stored)
        default: throw fault(kind, "\(type(of: parameter))")
        }
    }

    private func fault(_ kind: Kind, _ found: String) -> MakoError {
        .query(message: "\(format)\n  takes \(kind.rawValue) as its parameter \(taken), not a \(found)")
    }

    private static func elements(of parameter: Any) -> [Any]? {
        if let array = parameter as? [Any] { return array }
        if let sequence = parameter as? any Sequence { return erased(sequence) }
        return nil
    }

    private static func erased(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }

    private mutating func bind(_ value: StoredValue) {
        text += "?"
        values.append(value)
    }

    private mutating func bind(_ list: [Any], _ isEnclosed: Bool) throws(MakoError) {
        if !isEnclosed { text += "(" }
        for (index, element) in list.enumerated() {
            guard let value = element as? any ConditionValue else {
                throw fault(.anything, "list of \(type(of: element))")
            }
            if index > 0 { text += ", " }
            bind(value.conditionValue)
        }
        if list.isEmpty { text += "NULL" }
        if !isEnclosed { text += ")" }
    }
}

extension Query {
    /// Objects that fulfil a condition with format specifiers: `%@` takes the next parameter, whatever it is, `%d %i %l %u %ul %ull` a
    /// whole number, `%f` a number, `%s` a text. `\%` is a percent sign. Every parameter is bound, never pasted.
    ///
    /// ```swift
    /// let people = try Person.query()
    ///     .where("age = %@ AND name IN %@", withParameters: [35, ["Ada", "Bob"]])
    ///     .fetch()
    /// ```
    ///
    /// - Throws: the terminal throws `MakoError.query` when parameters are too many, too few or of another kind.
    public func `where`(_ format: String, withParameters parameters: [Any?]) -> Query {
        var text = FormatText(format, parameters)
        return adding(text.condition())
    }
}
