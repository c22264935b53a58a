import MakoStorage

/// The names of types in keyed stores: `Mail.Draft` for a type nested in another, without the module, which may be renamed.
enum StoreTypeNames {
    private static let known = Guarded<[ObjectIdentifier: String]>([:])

    /// Whether a value with this stored name is one of the type.
    static func matches(_ stored: String, _ type: Any.Type) -> Bool {
        // Earlier versions stored the name without the outer types.
        stored == "\(wrapped(type))" || stored == qualified(type)
    }

    /// The name of a type; for an optional, that of the wrapped type.
    static func qualified(_ type: Any.Type) -> String {
        let type = wrapped(type)
        if let name = known.withLock({ $0[ObjectIdentifier(type)] }) { return name }
        let name = withoutModules(String(reflecting: type))
        known.withLock { $0[ObjectIdentifier(type)] = name }
        return name
    }

    private static func wrapped(_ type: Any.Type) -> Any.Type {
        var type = type
        while let optional = type as? any AnyOptionalType.Type { type = optional.wrapped }
        return type
    }

    /// Removes the modules, and the parts that differ from one build to the next, from a name as the runtime gives it:
    /// `App.Box<App.(unknown context at $10f2).Draft>` becomes `Box<Draft>`.
    static func withoutModules(_ name: String) -> String {
        var result = ""
        var path = ""
        for character in withoutContexts(name) {
            if character == "." || character == "_" || character.isLetter || character.isNumber {
                path.append(character)
            } else {
                result += withoutModule(path)
                result.append(character)
                path = ""
            }
        }
        return result + withoutModule(path)
    }

    /// Removes the first part of a path. A path that begins with a point goes on after the arguments of a generic type.
    private static func withoutModule(_ path: String) -> String {
        guard path.first != ".", let point = path.firstIndex(of: ".") else { return path }
        return String(path[path.index(after: point)...])
    }

    /// Removes `(unknown context at $10f2).`, the place of a private or local type, and `(extension in Other):`.
    private static func withoutContexts(_ name: String) -> String {
        var rest = name[...]
        var result = ""
        while let character = rest.first {
            let isContext = rest.hasPrefix("(unknown context at ") || rest.hasPrefix("(extension in ")
            if isContext, let end = rest.firstIndex(of: ")") {
                // With the point or colon that follows.
                rest = rest[end...].dropFirst(2)
            } else {
                result.append(character)
                rest.removeFirst()
            }
        }
        return result
    }
}

private protocol AnyOptionalType { static var wrapped: Any.Type { get } }
extension Optional: AnyOptionalType { static var wrapped: Any.Type { Wrapped.self } }
