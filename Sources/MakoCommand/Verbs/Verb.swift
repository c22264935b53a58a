import ArgumentParser
import Foundation
import MakoStorage

/// A subcommand. Its errors are written to standard error and determine the exit status.
protocol Verb: ParsableCommand {
    func perform() throws
}

extension Verb {
    func run() throws {
        do {
            try perform()
            try Terminal.checkOutput()
        } catch let code as ExitCode {
            throw code
        } catch {
            let failure = Failure(error)
            Terminal.writeError("mako: \(failure.message)\n")
            throw ExitCode(failure.status.rawValue)
        }
    }
}
