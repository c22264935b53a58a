/// The value of a parameter, or a list of values for a parameter in IN.
package enum ParameterValue: Sendable, Hashable {
    /// A single value.
    case one(Value)
    /// The values of a list in IN.
    case list([Value])
}

/// A text in which each parameter takes one value, with the values.
package struct FilledText: Sendable, Hashable {
    /// The text.
    package let text: String
    /// The values of positional parameters.
    package let positions: [Value]
    /// The values of named parameters.
    package let named: [String: Value]

    /// Makes a text with its values.
    package init(text: String, positions: [Value], named: [String: Value]) {
        self.text = text
        self.positions = positions
        self.named = named
    }
}

/// The positions of a text's parameters, and of the IN lists that contain them.
package struct ParameterPlaces: Sendable {
    /// An item of an IN list.
    struct Item: Sendable {
        /// The range in UTF-8 bytes.
        let span: Range<Int>
        /// The parameter that the item consists of; `nil` for other items.
        let parameter: Parameter?

        init(_ expr: Expr, _ span: SourcePosition) {
            self.span = span.range
            // A parameter in parentheses or in an expression takes a single value.
            if case .parameter(let parameter, let at) = expr, at.range == span.range {
                self.parameter = parameter
            } else {
                parameter = nil
            }
        }
    }

    private struct List: Sendable {
        let items: [Item]
        let isEnclosed: Bool
    }

    private var parameters: [(parameter: Parameter, at: SourcePosition)] = []
    private var lists: [List] = []
    /// The names of the named parameters.
    package private(set) var names: Set<String> = []

    init() {}

    /// Whether the text has no parameters.
    var isEmpty: Bool { parameters.isEmpty }

    mutating func note(_ parameter: Parameter, _ at: SourcePosition) {
        parameters.append((parameter, at))
        if case .name(let name) = parameter { names.insert(name) }
    }

    mutating func note(_ items: [Item], isEnclosed: Bool) {
        if items.contains(where: { $0.parameter != nil }) { lists.append(List(items: items, isEnclosed: isEnclosed)) }
    }

    /// Parses a condition.
    ///
    /// - Throws: `syntax` for a text that is not a condition.
    package static func ofCondition(_ text: String) throws(RecordError) -> ParameterPlaces {
        var parser = try Parser(text)
        _ = try parser.condition()
        try parser.expectEnd()
        return parser.places
    }

    /// Parses a statement.
    ///
    /// - Throws: `syntax` for a text that is not a statement.
    package static func ofStatement(_ text: String) throws(RecordError) -> ParameterPlaces {
        var parser = try Parser(text)
        if parser.startsSelect(0) {
            _ = try SelectStatement.read(&parser)
        } else {
            _ = try parser.statement()
        }
        return parser.places
    }

    /// Checks that every given name is that of a parameter.
    ///
    /// - Throws: `syntax`, with the nearest existing name.
    package func check(_ given: some Sequence<String>, in text: String) throws(RecordError) {
        guard let name = given.lazy.filter({ !names.contains($0) }).min() else { return }
        throw SourcePosition(text: text, offset: text.utf8.count, length: 1).error(
            "the text has no parameter :\(name)", nearest: Spelling.nearest(to: name, in: Array(names)))
    }

    /// Returns the text with each list expanded in place of its parameter: one parameter for each value, none for an
    /// empty list.
    ///
    /// - Throws: `syntax` for a list outside IN, and for more values than parameters.
    package func filled(
        _ text: String, _ positions: [ParameterValue], _ named: [String: ParameterValue]
    ) throws(RecordError) -> FilledText {
        var filling = Filling(positions, named)
        let places = parameters.reduce(0) { max($0, ($1.parameter.position ?? -1) + 1) }
        if positions.count > places {
            throw SourcePosition.valuesLeftOver(positions.count, places: places, in: text)
        }
        var spread: Set<Int> = []
        for list in lists { filling.spread(list.items, isEnclosed: list.isEnclosed, &spread) }
        for (parameter, at) in parameters where !spread.contains(at.offset) {
            if filling.list(parameter) != nil { throw at.error("a list of values is allowed after IN only") }
            if let number = filling.renumbered(parameter) { filling.edits.append((at.range, "?\(number + 1)")) }
        }
        return filling.applied(to: text)
    }

    /// Expands the lists in one text.
    private struct Filling {
        private var named: [String: Value] = [:]
        private var positions: [Value] = []
        private var numbers: [Int?] = []
        private var lists: [Parameter: [Value]] = [:]
        var edits: [(range: Range<Int>, text: String)] = []

        init(_ positions: [ParameterValue], _ named: [String: ParameterValue]) {
            for (number, value) in positions.enumerated() {
                switch value {
                case .one(let value):
                    numbers.append(self.positions.count)
                    self.positions.append(value)
                case .list(let values):
                    numbers.append(nil)
                    lists[.position(number)] = values
                }
            }
            for (name, value) in named {
                switch value {
                case .one(let value): self.named[name] = value
                case .list(let values): lists[.name(name)] = values
                }
            }
        }

        func list(_ parameter: Parameter) -> [Value]? { lists[parameter] }

        /// Returns the new number of a positional parameter after lists have been removed from the values.
        func renumbered(_ parameter: Parameter) -> Int? {
            guard let position = parameter.position, numbers.indices.contains(position) else { return nil }
            return numbers[position]
        }

        mutating func spread(_ items: [Item], isEnclosed: Bool, _ spread: inout Set<Int>) {
            let found = items.map { item in item.parameter.flatMap { lists[$0] } }
            guard found.contains(where: { $0 != nil }) else { return }
            var hasItems = false
            for (place, item) in items.enumerated() {
                let isThere = found[place]?.isEmpty != true
                if place > 0 {
                    let gap = items[place - 1].span.upperBound..<item.span.lowerBound
                    edits.append((gap, hasItems && isThere ? ", " : ""))
                }
                hasItems = hasItems || isThere
                guard let parameter = item.parameter, let values = found[place] else { continue }
                let written = name(values, parameter).joined(separator: ", ")
                edits.append((item.span, isEnclosed ? written : "(\(written))"))
                spread.insert(item.span.lowerBound)
            }
        }

        /// Returns a named parameter for each value; no text contains these names.
        private mutating func name(_ values: [Value], _ parameter: Parameter) -> [String] {
            let name =
                switch parameter {
                case .position(let number): "$\(number)"
                case .name(let name): "$\(name)"
                }
            return values.enumerated().map { place, value in
                named["\(name)$\(place)"] = value
                return ":\(name)$\(place)"
            }
        }

        func applied(to text: String) -> FilledText {
            let bytes = Array(text.utf8)
            var result: [UInt8] = []
            var end = 0
            for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
                result += bytes[end..<edit.range.lowerBound]
                result += Array(edit.text.utf8)
                end = edit.range.upperBound
            }
            result += bytes[end...]
            return FilledText(text: String(decoding: result, as: UTF8.self), positions: positions, named: named)
        }
    }
}

extension Parameter {
    fileprivate var position: Int? {
        if case .position(let number) = self { number } else { nil }
    }
}

extension SourcePosition {
    fileprivate var range: Range<Int> { offset..<(offset + length) }
}
