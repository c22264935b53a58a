import SwiftSyntax

// The types and values of properties without a type annotation.
extension EntityParser {
    /// The written type, or the type of a literal or well-known initialiser.
    static func type(of binding: PatternBindingSyntax) -> String? {
        if let type = binding.typeAnnotation?.type {
            if let implicit = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
                return implicit.wrappedType.trimmedDescription + "?"
            }
            return type.trimmedDescription
        }
        guard let value = binding.initializer?.value else { return nil }
        return inferredType(of: value)
    }

    private static func inferredType(of value: ExprSyntax) -> String? {
        if value.is(StringLiteralExprSyntax.self) { return "String" }
        if value.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        if value.is(IntegerLiteralExprSyntax.self) { return "Int" }
        if value.is(FloatLiteralExprSyntax.self) { return "Double" }
        if let prefix = value.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "-" {
            return inferredType(of: prefix.expression)
        }
        if let call = value.as(FunctionCallExprSyntax.self),
            let name = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text,
            PropertySource.valueTypes.contains(name) || certainLabels[name] != nil, isCertain(call, of: name)
        {
            return name
        }
        return nil
    }

    /// Whether an initialiser always returns a value. Others may be failable, as `URL(string:)` and `Int("5")` are, so
    /// that the property would be an optional.
    private static func isCertain(_ call: FunctionCallExprSyntax, of name: String) -> Bool {
        guard let first = call.arguments.first else { return call.trailingClosure == nil }
        guard let label = first.label?.text else {
            // `Int(text)` is failable, too, but looks as `Int(number)` does.
            return ["Character", "String", "Substring"].contains(name)
                || !first.expression.is(StringLiteralExprSyntax.self)
        }
        return (certainLabels[name] ?? certainLabelsOfNumbers).contains(label)
    }

    private static let certainLabelsOfNumbers: Set<String> = [
        "ascii", "bitPattern", "clamping", "sign", "signOf", "truncatingIfNeeded",
    ]

    /// The first labels of initialisers that always return a value.
    private static let certainLabels: [String: Set<String>] = [
        "CGPoint": ["x"], "CGRect": ["x", "origin"], "CGSize": ["width"], "Character": [], "Coordinate": ["latitude"],
        "Data": ["buffer", "bytes", "capacity", "count", "repeating"],
        "Date": ["timeIntervalSinceReferenceDate", "timeIntervalSince1970", "timeIntervalSinceNow", "timeInterval"],
        "Decimal": ["sign", "signOf", "floatLiteral", "integerLiteral"], "NSRange": ["location"],
        "RGBAColor": ["red"],
        "String": ["cString", "decoding", "describing", "format", "localized", "reflecting", "repeating"],
        "Substring": [], "URL": ["fileURLWithPath", "filePath"], "UUID": ["uuid"],
    ]

    /// Whether a value consists of literals, or is that of a well-known type without arguments, such as `Date()`.
    static func isPlain(_ value: ExprSyntax) -> Bool {
        if let text = value.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue != nil }
        if let prefix = value.as(PrefixOperatorExprSyntax.self) { return isPlain(prefix.expression) }
        if let array = value.as(ArrayExprSyntax.self) { return array.elements.allSatisfy { isPlain($0.expression) } }
        if let dictionary = value.as(DictionaryExprSyntax.self) {
            guard case .elements(let elements) = dictionary.content else { return true }
            return elements.allSatisfy { isPlain($0.key) && isPlain($0.value) }
        }
        if let call = value.as(FunctionCallExprSyntax.self) {
            return call.arguments.isEmpty && inferredType(of: value) != nil
        }
        return value.is(IntegerLiteralExprSyntax.self) || value.is(FloatLiteralExprSyntax.self)
            || value.is(BooleanLiteralExprSyntax.self) || value.is(NilLiteralExprSyntax.self)
    }
}
