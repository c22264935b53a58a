import MakoRecords

/// A condition as text. Interpolated values are bound, never pasted: `"age >= \(35) AND name = \(name)"`.
///
/// A sequence becomes a list: `"age IN \([35, 36])"`.
public struct WhereText: ExpressibleByStringInterpolation, Sendable {
    let text: String
    let interpolated: [String: StoredValue]

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
        var values: [String: StoredValue] = [:]

        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        public mutating func appendLiteral(_ literal: String) { text += literal }

        public mutating func appendInterpolation<V: StorableValue>(_ value: V) { append(value.stored) }
        public mutating func appendInterpolation<V: StorableValue>(_ value: V?) { append(value?.stored ?? .null) }
        public mutating func appendInterpolation<E: ObjectEntity>(_ object: E?) {
            append(object?.conditionValue ?? .null)
        }
        public mutating func appendInterpolation<E: Entity>(_ value: E) { append(value.conditionValue) }
        public mutating func appendInterpolation<V: RawRepresentable>(_ value: V) where V.RawValue: StorableValue {
            append(value.rawValue.stored)
        }
        public mutating func appendInterpolation<V: StorableValue & RawRepresentable>(_ value: V)
        where V.RawValue: StorableValue { append(value.stored) }
        public mutating func appendInterpolation(_ bytes: [UInt8]) { append(.blob(bytes)) }
        public mutating func appendInterpolation<V: StorableValue>(_ values: [V]) { appendList(values) }
        @_disfavoredOverload
        public mutating func appendInterpolation<S: Sequence>(_ values: S) where S.Element: StorableValue {
            appendList(values)
        }

        private mutating func appendList<S: Sequence>(_ values: S) where S.Element: StorableValue {
            text += "("
            var isFirst = true
            for value in values {
                if !isFirst { text += ", " }
                isFirst = false
                append(value.stored)
            }
            text += isFirst ? "NULL)" : ")"
        }

        private mutating func append(_ value: StoredValue) {
            let name = "mako\(values.count)"
            values[name] = value
            text += ":\(name)"
        }
    }

    /// Parsed, with the values of its parameters.
    func condition(_ parameters: [StoredValue]) -> ConditionSource {
        do throws(MakoError) {
            let parsed = try records { () throws(RecordError) in
                try KnownTexts.conditions.of(text, values: parameters.count) { () throws(RecordError) in
                    PreparedCondition(try MakoRecords.Condition.parse(text, values: parameters.count))
                }
            }
            return .prepared(parsed, ParameterValues(positions: parameters, names: interpolated, text: text))
        } catch {
            return .failed(error)
        }
    }
}
