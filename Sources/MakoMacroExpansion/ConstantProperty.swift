import SwiftSyntax

// `let` properties: those of structs are stored where nothing but an initialiser sets them.
extension EntityParser {
    /// Why a property that is declared by `let` cannot be stored; nil: it can, or it is a `var`.
    static func faultOfConstant(
        _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, isClass: Bool
    ) -> String? {
        if variable.bindingSpecifier.tokenKind == .keyword(.var) { return nil }
        if isClass { return "because objects are read back from the file" }
        return binding.initializer == nil ? nil : "because its value is fixed and cannot be read back from the file"
    }

    /// Why a parsed property must be a `var`, because saving sets it.
    static func fault(ofConstant property: PropertySource) -> String? {
        property.isConstant && property.isToOne ? "because a save writes the key of its object into it" : nil
    }

    mutating func findConstant(_ variable: VariableDeclSyntax, _ reason: String) {
        find(
            "constant",
            "@Entity: a 'let' property cannot be stored, \(reason); make it 'var' or mark it @Transient",
            Syntax(variable.bindingSpecifier),
            Repair.rewriting(variable.bindingSpecifier, as: "var", "make it 'var'", "variable"))
    }
}

extension EntityCheck {
    /// A key that the first save generates cannot be a `let`.
    static func checkConstantKeys(of source: EntitySource, _ found: inout [Finding]) {
        for key in source.keyProperties where key.isConstant {
            if !key.isOptional && key.name != source.rowNumberKey?.name { continue }
            found.append(
                Finding(
                    id: "constantKey",
                    message: "@Entity: the key '\(key.name)' cannot be a 'let', because the first save writes it; "
                        + "make it 'var'", node: key.node))
        }
    }
}
