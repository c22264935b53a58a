import ArgumentParser
import CallSteps
import Foundation
import MakoCommand

/// `mako import` in this process, stopped before each call of the system's that changes a file of the folder: those of the engine, of the
/// program, and of the library that both use.
struct SteppedImport {
    let folder: DeedFolder
    /// The table that the rows come to, by the number of the process.
    let row: UInt64

    /// Whether the system can be watched so closely.
    static var isPossible: Bool { mako_steps_work() != 0 }

    static func table(_ row: UInt64) -> String { "t\(row)" }

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// Another process may change the key at any moment.
    func run() throws {
        var arguments: [String] = []
        for _ in 0..<8 {
            guard let refusal = try attempt(arguments) else { return }
            if refusal.contains("is encrypted") {
                arguments = ["--key-file", folder.keyFile]
            } else if refusal.contains("is not encrypted") {
                arguments = []
            } else {
                throw Refusal(description: refusal)
            }
        }
        throw Refusal(description: "the key changes all the time")
    }

    /// - Returns: the standard error of the program when it fails.
    private func attempt(_ arguments: [String]) throws -> String? {
        guard let errors = tmpfile() else { throw Refusal(description: "no temporary file") }
        let stream = dup(2)
        defer {
            dup2(stream, 2)
            close(stream)
            fclose(errors)
        }
        dup2(fileno(errors), 2)
        mako_step_calls(folder.path) { operation, path in
            guard let operation, let path else { return }
            SteppedFiles.step(String(cString: operation), String(cString: path))
        }
        defer { mako_step_calls(folder.path, nil) }
        do {
            var command = try MakoProgram.parseAsRoot(
                ["import", folder.rows, folder.database, "--table", SteppedImport.table(row)] + arguments)
            try command.run()
            return nil
        } catch {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = pread(fileno(errors), &bytes, bytes.count, 0)
            let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
            return text.isEmpty ? "\(error)" : text.split(separator: "\n").joined(separator: " ")
        }
    }
}
