import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A message of the macros, with the remedy.
struct MacroComplaint: DiagnosticMessage {
    let message: String
    let id: String
    var diagnosticID: MessageID { MessageID(domain: "Mako", id: id) }
    var severity = DiagnosticSeverity.error
}

/// The description of a fix-it.
struct MacroRepair: FixItMessage {
    let message: String
    let id: String
    var fixItID: MessageID { MessageID(domain: "Mako", id: id) }
}

/// A finding of the parse and check steps.
struct Finding {
    var id: String
    var message: String
    var node: Syntax
    /// The fix-it that the compiler offers.
    var fixIt: FixIt? = nil
    /// Whether members are generated nevertheless.
    var isWarning = false

    func report(in context: some MacroExpansionContext) {
        let fixIts = fixIt.map { [$0] } ?? []
        context.diagnose(
            Diagnostic(
                node: node, message: MacroComplaint(message: message, id: id, severity: isWarning ? .warning : .error),
                fixIts: fixIts))
    }
}
