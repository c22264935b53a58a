import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error of the macros: says what is wrong and what to write instead.
struct MacroComplaint: DiagnosticMessage {
    let message: String
    let id: String
    var diagnosticID: MessageID { MessageID(domain: "Mako", id: id) }
    var severity: DiagnosticSeverity { .error }
}

/// One finding of the parse and check steps.
struct Finding {
    var id: String
    var message: String
    var node: Syntax

    func report(in context: some MacroExpansionContext) {
        context.diagnose(Diagnostic(node: node, message: MacroComplaint(message: message, id: id)))
    }
}
