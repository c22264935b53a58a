import SwiftSyntax
import SwiftSyntaxMacros

/// `@_Stored`, which `@Entity` adds to each stored property of a class: locked accessors and the private backing field.
open class StoredPropertyMacro {
    private struct Request {
        var column: String
        /// The bit of a property that may be in the row.
        var bit: String
        var kind: String
        var keepsDefault: Bool
        var isObserved: Bool
        var property: PropertySource

        /// A statement that calls the property's observation registrar; empty for classes that are not observable.
        func observation(_ what: String, line: String = "\n    ") -> String {
            isObserved ? "self._$observation.\(what)(self, keyPath: \\.\(property.codeName))\(line)" : ""
        }
    }

    private static func request(_ node: AttributeSyntax, _ declaration: some DeclSyntaxProtocol) -> Request? {
        guard let variable = declaration.as(VariableDeclSyntax.self), let binding = variable.bindings.first,
            let pattern = binding.pattern.as(IdentifierPatternSyntax.self), let type = EntityParser.type(of: binding),
            case .argumentList(let arguments) = node.arguments, arguments.count >= 2
        else { return nil }
        let list = Array(arguments)
        var property = PropertySource(
            name: pattern.identifier.text.trimmingBackticks, codeName: pattern.identifier.text, type: type,
            defaultValue: binding.initializer?.value.trimmedDescription, node: Syntax(pattern))
        for element in variable.attributes {
            guard case .attribute(let attribute) = element, case .argumentList(let options) = attribute.arguments else {
                continue
            }
            switch EntityParser.name(of: attribute) {
            case "Attribute": property.attributes += EntityParser.options(of: attribute)
            case "Relationship":
                property.relationship = EntityParser.options(of: attribute)
                property.inverse = options.first { $0.label?.text == "inverse" }?.expression.trimmedDescription
            default: continue
            }
        }
        property.isStamp = type == "EntityCoding.Stamp?"
        property.letsGo = list.contains { $0.label?.text == "letsGo" }
        let column = list[0].expression.trimmedDescription
        let base = list.first { $0.label?.text == "base" }.flatMap { EntityParser.literalText($0.expression) }
        return Request(
            column: base.map { "(\($0) + \(column))" } ?? column,
            bit: base.map { "1 << (\($0) + \(column))" } ?? "1 << \(min(63, Int(column) ?? 0))",
            kind: list[1].expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? "value",
            keepsDefault: list.contains { $0.label?.text == "keepsDefault" },
            isObserved: list.contains { $0.label?.text == "observed" }, property: property)
    }
}

extension StoredPropertyMacro: AccessorMacro {
    /// Generates the accessors.
    public static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let request = request(node, declaration) else { return [] }
        let property = request.property
        let field = "self.\(property.backing)"
        let read = request.observation("access")
        let notification = notification(request)
        switch request.kind {
        case "many":
            return ["get {\n    \(raw: property.type)(owner: self, inverse: \(raw: property.inverse ?? ""))\n}"]
        case "rowNumber":
            return [
                """
                get {
                    \(raw: read)return EntityCoding.rowNumber(of: self, as: (\(raw: property.type)).self)
                }
                """,
                """
                set {
                    \(raw: request.observation("willSet"))EntityCoding.setRowNumber(newValue, of: self)\(raw: notification)
                }
                """,
            ]
        case "slot":
            return [
                property.isWeak
                    ? weakGetter(request, field: field)
                    : """
                    get {
                        \(raw: read)let lock = EntityCoding.ObjectLock(self)
                        lock.lock()
                        if \(raw: field).isSettled {
                            defer { lock.unlock() }
                            return \(raw: field).value
                        }
                        let slot = \(raw: field)
                        lock.unlock()
                        let loaded = slot.loaded(by: self, property: \(raw: request.column))
                        lock.lock()
                        \(raw: settling(request, field: field))
                        let value = \(raw: field).value
                        lock.unlock()
                        if mark.needsUndo { EntityCoding.recordLoad(mark, of: self) { $0.\(raw: request.property.content) = slot } }
                        return value
                    }
                    """,
                setter(request, field: field, value: "\(EntityRender.codec(property)).slot(newValue)"),
            ]
        case "scalar":
            return [
                """
                get {
                    \(raw: read)\(raw: request.isObserved ? "return " : "")\(raw: field).value
                }
                """,
                setter(request, field: field + ".value", value: "newValue"),
            ]
        case "lazy":
            return [
                """
                get {
                    \(raw: read)let lock = EntityCoding.ObjectLock(self)
                    lock.lock()
                    defer { lock.unlock() }
                    if self._$state.isPending(\(raw: request.bit)) { self._$decode(\(raw: request.bit)) }
                    return \(raw: field)
                }
                """,
                setter(request, field: field, value: "newValue"),
            ]
        default:
            return [
                """
                get {
                    \(raw: read)let lock = EntityCoding.ObjectLock(self)
                    lock.lock()
                    defer { lock.unlock() }
                    return \(raw: field)
                }
                """,
                setter(request, field: field, value: "newValue"),
            ]
        }
    }

    /// An object without another owner must stay alive until it is returned.
    private static func weakGetter(_ request: Request, field: String) -> AccessorDeclSyntax {
        """
        get {
            \(raw: request.observation("access"))let lock = EntityCoding.ObjectLock(self)
            lock.lock()
            let slot = \(raw: field).held
            lock.unlock()
            if slot.isSettled { return slot.value }
            let loaded = slot.loaded(by: self, property: \(raw: request.column))
            lock.lock()
            \(raw: settling(request, field: field))
            lock.unlock()
            if mark.needsUndo { EntityCoding.recordLoad(mark, of: self) { $0.\(raw: request.property.content) = slot } }
            return loaded.value
        }
        """
    }

    /// Another thread may have loaded or set the reference meanwhile, and a load may fail. A weak reference to an object
    /// that is there stays unloaded without it.
    private static func settling(_ request: Request, field: String) -> String {
        let isLoaded = request.property.isWeak ? "loaded.isSettled && loaded.value == nil" : "loaded.isSettled"
        return """
            let isFirst = !\(field).isSettled && \(isLoaded)
            \(field).settle(loaded, replacing: slot)
            let mark = isFirst ? EntityCoding.noteLoad(&self._$state, property: \(request.column)) : EntityCoding.WriteMark.none
            """
    }

    /// Outside the object's lock, because observers may read the property.
    private static func notification(_ request: Request) -> String {
        request.isObserved ? "\n    " + request.observation("didSet", line: "") : ""
    }

    private static func setter(_ request: Request, field: String, value: String) -> AccessorDeclSyntax {
        let replacing = request.property.isCollection ? "\n    \(field).takePlace(of: old)" : ""
        let note =
            request.kind == "slot" && request.property.mayReferToObject
            ? "\n    EntityCoding.noteReference(to: newValue, of: self, property: \(request.column))" : ""
        let decoding = request.kind == "lazy" ? "\n    self._$decode(\(request.bit))" : ""
        return """
            set {
                \(raw: request.observation("willSet"))let lock = EntityCoding.ObjectLock(self)
                let value = \(raw: value)
                lock.lock()\(raw: decoding)
                let old = \(raw: field)
                let mark = EntityCoding.noteWrite(&self._$state, of: self, property: \(raw: request.column))
                \(raw: field) = value\(raw: replacing)
                lock.unlock()
                if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0.\(raw: request.property.content) = old } }\(raw: note)\(raw: notification(request))
            }
            """
    }
}

extension StoredPropertyMacro: PeerMacro {
    /// Generates the backing field.
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let request = request(node, declaration) else { return [] }
        let property = request.property
        switch request.kind {
        case "many", "rowNumber":
            return []
        case "slot":
            let start =
                (request.keepsDefault || !property.isOptional) && property.defaultValue != nil
                ? ".slot(\(property.defaultValue ?? "nil"))" : ".emptySlot"
            let slot = "\(EntityRender.codec(property))\(start)"
            return [
                "@exclusivity(unchecked) private var \(raw: property.backingName) = \(raw: property.letsGo ? "EntityCoding.SlotField(\(slot))" : slot)"
            ]
        case "scalar":
            let start = request.keepsDefault ? property.defaultValue ?? "" : ""
            return [
                "private let \(raw: property.backing) = EntityCoding.ScalarField<\(raw: property.type)>(\(raw: start))"
            ]
        default:
            var text = "@exclusivity(unchecked) private var \(property.backing): \(property.type)"
            if request.keepsDefault {
                text += " = " + (property.defaultValue ?? (property.isToOne ? ".init()" : "nil"))
            }
            return [DeclSyntax(stringLiteral: text)]
        }
    }
}
