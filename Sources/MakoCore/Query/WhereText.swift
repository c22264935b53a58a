import MakoRecords

/// A condition as text. Interpolated values are bound, never inserted into the text:
/// `"age >= \(35) AND name = \(name)"`.
///
/// An interpolated sequence is a list behind IN: `"age IN \([35, 36])"`, or, in parentheses, part of one:
/// `"age IN (\(ages), 40)"`. No value is in an empty list.
public struct WhereText: ExpressibleByStringInterpolation, Sendable {
    let text: String
    let interpolated: [String: ParameterValue]

    /// Creates a condition from a literal without interpolations.
    public init(stringLiteral value: String) {
        text = value
        interpolated = [:]
    }

    /// Creates a condition from a literal, whose interpolated values become named parameters.
    public init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        interpolated = stringInterpolation.values
    }

    /// Creates a condition from text that is known only at run time. It has no bound values.
    public init(text: String) {
        self.text = text
        interpolated = [:]
    }

    /// Collects the text and the bound values of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        var values: [String: ParameterValue] = [:]

        /// Creates an empty text with capacity for the literal.
        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        /// Appends a piece of the literal to the text.
        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Binds a value.
        public mutating func appendInterpolation<V: StorableValue>(_ value: V) { append(value.stored) }
        /// Binds an optional value; nil as NULL.
        public mutating func appendInterpolation<V: StorableValue>(_ value: V?) { append(value?.stored ?? .null) }
        /// Binds the key of an object; NULL for nil, and for an object that is not stored.
        public mutating func appendInterpolation<E: ObjectEntity>(_ object: E?) {
            append(object?.conditionValue ?? .null)
        }
        /// Binds the key of an entity's value; NULL for a value that is not stored.
        public mutating func appendInterpolation<E: Entity>(_ value: E) { append(value.conditionValue) }
        /// Binds the key of an optional struct; nil as NULL.
        public mutating func appendInterpolation<E: Entity>(_ value: E?) where E._$Kind == EntityKind.Value {
            append(value?.conditionValue ?? .null)
        }
        /// Binds the raw value of a value.
        public mutating func appendInterpolation<V: RawRepresentable>(_ value: V) where V.RawValue: StorableValue {
            append(value.rawValue.stored)
        }
        /// Binds a storable value with a raw value as it is stored.
        public mutating func appendInterpolation<V: StorableValue & RawRepresentable>(_ value: V)
        where V.RawValue: StorableValue { append(value.stored) }
        /// Binds the raw value of an optional value; nil as NULL.
        public mutating func appendInterpolation<V: RawRepresentable>(_ value: V?) where V.RawValue: StorableValue {
            append(value?.rawValue.stored ?? .null)
        }
        /// Binds an optional storable value with a raw value as it is stored; nil as NULL.
        public mutating func appendInterpolation<V: StorableValue & RawRepresentable>(_ value: V?)
        where V.RawValue: StorableValue { append(value?.stored ?? .null) }
        /// Binds bytes as one blob.
        public mutating func appendInterpolation(_ bytes: [UInt8]) { append(.blob(bytes)) }
        /// Binds the text of a full-text pattern.
        public mutating func appendInterpolation(_ pattern: MatchPattern) { append(pattern.conditionValue) }

        /// Binds an array as a list of values.
        public mutating func appendInterpolation<V: StorableValue>(_ values: [V]) { append(list: values.map(\.stored)) }
        /// Binds a sequence as a list of values.
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S) where S.Element: StorableValue {
            append(list: values.map(\.stored))
        }
        /// Binds the keys of entities as a list.
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ objects: S) where S.Element: Entity {
            append(list: objects.map(\.conditionValue))
        }
        /// Binds the raw values of a sequence as a list.
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S)
        where S.Element: RawRepresentable, S.Element.RawValue: StorableValue {
            append(list: values.map(\.rawValue.stored))
        }
        /// Binds the storable values of a sequence as a list, as they are stored.
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S)
        where S.Element: StorableValue & RawRepresentable, S.Element.RawValue: StorableValue {
            append(list: values.map(\.stored))
        }

        private mutating func append(_ value: StoredValue) { append(.one(value)) }
        private mutating func append(list values: [StoredValue]) { append(.list(values)) }

        private mutating func append(_ value: ParameterValue) {
            let name = "mako\(values.count)"
            values[name] = value
            text += ":\(name)"
        }
    }

    /// The parsed condition with its arguments.
    func condition(of parameters: [(any ConditionValue)?], _ named: NamedValues) -> ConditionSource {
        if named.isEmpty, interpolated.isEmpty, let values = parameters.plainValues {
            return WhereText.condition(FilledText(text: text, positions: values, named: [:]))
        }
        do throws(MakoError) {
            return condition(parameters.parameterValues, named: try named.parameterValues())
        } catch {
            return .failed(error)
        }
    }

    private static func condition(_ filled: FilledText) -> ConditionSource {
        do throws(RecordError) {
            let count = filled.positions.count
            let parsed = try KnownTexts.conditions.of(filled.text, values: count) { () throws(RecordError) in
                PreparedCondition(try MakoRecords.Condition.parse(filled.text, values: count))
            }
            return .prepared(
                parsed, ParameterValues(positions: filled.positions, names: filled.named, text: filled.text))
        } catch {
            return .failed(MakoError(error))
        }
    }

    /// The parsed condition with the values of its parameters.
    func condition(_ parameters: [ParameterValue], named: [String: ParameterValue] = [:]) -> ConditionSource {
        do throws(MakoError) {
            return WhereText.condition(try filled(parameters, named, isStatement: false))
        } catch {
            return .failed(error)
        }
    }

    /// The text with one parameter for each value of a list.
    func filled(
        _ parameters: [ParameterValue], _ named: [String: ParameterValue], isStatement: Bool
    ) throws(MakoError) -> FilledText {
        if let name = named.keys.first(where: { interpolated[$0] != nil }) {
            throw .invalidArgument(":\(name) is the name of a value that is written into the text; choose another name")
        }
        let all = interpolated.merging(named) { own, _ in own }
        if named.isEmpty, let positions = parameters.ones, let names = all.ones {
            return FilledText(text: text, positions: positions, named: names)
        }
        return try records { () throws(RecordError) in
            let known = isStatement ? KnownTexts.statementPlaces : KnownTexts.conditionPlaces
            let places = try known.of(text, values: 0) { () throws(RecordError) in
                try isStatement ? .ofStatement(text) : .ofCondition(text)
            }
            try places.check(named.keys, in: text)
            return try places.filled(text, parameters, all)
        }
    }
}

extension Array where Element == (any ConditionValue)? {
    /// The values of the arguments.
    var parameterValues: [ParameterValue] { map { $0.parameterValue } }

    /// The values; nil if one is a list.
    var plainValues: [StoredValue]? {
        var values: [StoredValue] = []
        values.reserveCapacity(count)
        for each in self {
            guard let each else {
                values.append(.null)
                continue
            }
            if each.conditionList != nil { return nil }
            values.append(each.conditionValue)
        }
        return values
    }
}

extension Optional where Wrapped == any ConditionValue {
    /// The value of the argument.
    var parameterValue: ParameterValue {
        guard let self else { return .one(.null) }
        return self.conditionList.map(ParameterValue.list) ?? .one(self.conditionValue)
    }
}

extension Array where Element == ParameterValue {
    /// The values; nil if one is a list.
    fileprivate var ones: [StoredValue]? {
        var values: [StoredValue] = []
        for case .one(let value) in self { values.append(value) }
        return values.count == count ? values : nil
    }
}

extension Dictionary where Key == String, Value == ParameterValue {
    fileprivate var ones: [String: StoredValue]? {
        var values: [String: StoredValue] = [:]
        for case (let name, .one(let value)) in self { values[name] = value }
        return values.count == count ? values : nil
    }
}
