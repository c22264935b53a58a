import MakoRecords

/// A condition as text. Interpolated values are bound, never pasted: `"age >= \(35) AND name = \(name)"`.
///
/// A sequence becomes a list, behind IN: `"age IN \([35, 36])"`, or with parentheses, `"age IN (\(ages), 40)"`. Nothing is in an empty one.
public struct WhereText: ExpressibleByStringInterpolation, Sendable {
    let text: String
    let interpolated: [String: ParameterValue]

    public init(stringLiteral value: String) {
        text = value
        interpolated = [:]
    }

    public init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        interpolated = stringInterpolation.values
    }

    /// Text that is known only at run time. Nothing in it is bound.
    public init(text: String) {
        self.text = text
        interpolated = [:]
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        var values: [String: ParameterValue] = [:]

        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        public mutating func appendLiteral(_ literal: String) { text += literal }

        public mutating func appendInterpolation<V: StorableValue>(_ value: V) { append(value.stored) }
        public mutating func appendInterpolation<V: StorableValue>(_ value: V?) { append(value?.stored ?? .null) }
        public mutating func appendInterpolation<E: ObjectEntity>(_ object: E?) {
            append(object?.conditionValue ?? .null)
        }
        public mutating func appendInterpolation<E: Entity>(_ value: E) { append(value.conditionValue) }
        public mutating func appendInterpolation<E: Entity>(_ value: E?) where E._$Kind == EntityKind.Value {
            append(value?.conditionValue ?? .null)
        }
        public mutating func appendInterpolation<V: RawRepresentable>(_ value: V) where V.RawValue: StorableValue {
            append(value.rawValue.stored)
        }
        public mutating func appendInterpolation<V: StorableValue & RawRepresentable>(_ value: V)
        where V.RawValue: StorableValue { append(value.stored) }
        public mutating func appendInterpolation<V: RawRepresentable>(_ value: V?) where V.RawValue: StorableValue {
            append(value?.rawValue.stored ?? .null)
        }
        public mutating func appendInterpolation<V: StorableValue & RawRepresentable>(_ value: V?)
        where V.RawValue: StorableValue { append(value?.stored ?? .null) }
        public mutating func appendInterpolation(_ bytes: [UInt8]) { append(.blob(bytes)) }
        public mutating func appendInterpolation(_ pattern: MatchPattern) { append(pattern.conditionValue) }

        public mutating func appendInterpolation<V: StorableValue>(_ values: [V]) { append(list: values.map(\.stored)) }
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S) where S.Element: StorableValue {
            append(list: values.map(\.stored))
        }
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ objects: S) where S.Element: Entity {
            append(list: objects.map(\.conditionValue))
        }
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S)
        where S.Element: RawRepresentable, S.Element.RawValue: StorableValue {
            append(list: values.map(\.rawValue.stored))
        }
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

    /// Parsed, with what is given for its parameters.
    func condition(
        of parameters: [(any ConditionValue)?], _ named: [String: (any ConditionValue)?]
    ) -> ConditionSource {
        guard named.isEmpty, interpolated.isEmpty, let values = parameters.plainValues else {
            return condition(parameters.parameterValues, named: named.parameterValues)
        }
        return WhereText.condition(FilledText(text: text, positions: values, named: [:]))
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

    /// Parsed, with the values of its parameters.
    func condition(_ parameters: [ParameterValue], named: [String: ParameterValue] = [:]) -> ConditionSource {
        do throws(MakoError) {
            return WhereText.condition(try filled(parameters, named, isStatement: false))
        } catch {
            return .failed(error)
        }
    }

    /// The text with a parameter for each value of each list.
    func filled(
        _ parameters: [ParameterValue], _ named: [String: ParameterValue], isStatement: Bool
    ) throws(MakoError) -> FilledText {
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
    /// What is given for the parameters of a text.
    var parameterValues: [ParameterValue] { map { $0.parameterValue } }

    /// The values, where none is a list.
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

extension Dictionary where Key == String, Value == (any ConditionValue)? {
    var parameterValues: [String: ParameterValue] { mapValues { $0.parameterValue } }
}

extension Optional where Wrapped == any ConditionValue {
    fileprivate var parameterValue: ParameterValue {
        guard let self else { return .one(.null) }
        return self.conditionList.map(ParameterValue.list) ?? .one(self.conditionValue)
    }
}

extension Array where Element == ParameterValue {
    /// The values, where none is a list.
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
