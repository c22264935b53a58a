import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import MakoMacroExpansion

/// Expands the macros in a source text; answers the text and the messages.
/// The conformances that the macro declares, as the compiler lists those a type does not have yet.
let allConformances = [
    "ObjectEntity", "Entity", "Hashable", "Identifiable", "ConditionValue", "CustomStringConvertible",
    "Sendable",
    "ObservableEntity",
    "Observable",
]

func expand(_ source: String, conformances: [String] = allConformances) -> (text: String, messages: [String]) {
    let (text, diagnostics) = diagnosed(source, conformances: conformances)
    return (text, diagnostics.map(\.message))
}

/// The fix-its for a source text, with the text that they insert.
func repaired(_ source: String) -> [String] {
    diagnosed(source, conformances: allConformances).diagnostics.flatMap(\.fixIts).map { fixIt in
        let texts = fixIt.changes.map { change in
            if case .replace(_, let node) = change { node.description } else { "" }
        }
        return "\(fixIt.message.message): \(texts.joined(separator: ", "))"
    }
}

/// A source text after the fix-its of all that is wrong with it.
func mended(_ source: String) -> String {
    var text = source
    for change in diagnosed(source, conformances: allConformances).diagnostics.flatMap(\.fixIts).flatMap(\.changes) {
        guard case .replace(let old, let new) = change else { continue }
        text = text.replacing(old.description, with: new.description, maxReplacements: 1)
    }
    return text
}

private func diagnosed(_ source: String, conformances: [String]) -> (text: String, diagnostics: [Diagnostic]) {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "Test.swift")])
    let types = conformances.map { TypeSyntax(stringLiteral: $0) }
    let expanded = file.expand(
        macroSpecs: [
            "Entity": MacroSpec(type: EntityMacro.self, conformances: types),
            "_Stored": MacroSpec(type: StoredPropertyMacro.self), "Attribute": MacroSpec(type: MarkerMacro.self),
            "Relationship": MacroSpec(type: MarkerMacro.self), "Transient": MacroSpec(type: MarkerMacro.self),
            "Index": MacroSpec(type: DeclarationMarkerMacro.self),
            "Unique": MacroSpec(type: DeclarationMarkerMacro.self),
        ],
        contextGenerator: { node in
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
        }, indentationWidth: .spaces(4))
    return (expanded.description, context.diagnostics)
}

/// The messages of a source text that is to be refused.
func complaints(_ source: String) -> [String] { expand(source).messages }

/// The parsed type of a source text, whose macros are not expanded: that takes seconds with a thousand properties.
func parsed(_ source: String) -> EntitySource? {
    let statement = Parser.parse(source: source).statements.first?.item
    guard let type = statement?.asProtocol((any DeclGroupSyntax).self),
        case .attribute(let attribute) = type.attributes.first
    else { return nil }
    var parser = EntityParser()
    return parser.parse(type, attribute: attribute)
}
