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

/// What a fix-it does, in words.
struct MacroRepair: FixItMessage {
    let message: String
    let id: String
    var fixItID: MessageID { MessageID(domain: "Mako", id: id) }
}

/// One finding of the parse and check steps.
struct Finding {
    var id: String
    var message: String
    var node: Syntax
    /// What the compiler offers to write instead.
    var fixIt: FixIt? = nil

    func report(in context: some MacroExpansionContext) {
        let fixIts = fixIt.map { [$0] } ?? []
        context.diagnose(
            Diagnostic(node: node, message: MacroComplaint(message: message, id: id), fixIts: fixIts))
    }
}
