import Foundation
import Testing

/// The built program, run as users do, in a folder of its own.
struct BuiltProgram {
    struct Outcome {
        var status: Int32
        var output: String
        var errors: String
    }

    let folder: String

    init() throws { folder = try temporaryPath("") }

    /// The program lies where the test bundle lies.
    private static let location: URL? = {
        let bundles = Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: CommandLine.arguments[0])]
        for bundle in bundles {
            var folder = bundle
            for _ in 0..<5 {
                folder.deleteLastPathComponent()
                let program = folder.appendingPathComponent("mako-cli")
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: program.path, isDirectory: &isFolder), !isFolder.boolValue {
                    return program
                }
            }
        }
        return nil
    }()

    /// A process that is not started yet.
    func process(_ arguments: [String], environment: [String: String] = [:]) throws -> Process {
        let process = Process()
        let program: URL = try #require(Self.location, "the program mako is built beside the tests")
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.environment = ["HOME": folder, "PATH": "/usr/bin:/bin", "TMPDIR": folder]
        process.environment?["MAKO_SABOTAGE"] = ProcessInfo.processInfo.environment["MAKO_SABOTAGE"]
        for (name, value) in environment { process.environment?[name] = value }
        return process
    }

    /// Runs the program to its end. `during` is called while it runs.
    func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:], outputPath: String? = nil,
        errorPath: String? = nil, during: (Process) throws -> Void = { _ in }
    ) throws -> Outcome {
        let process = try process(arguments, environment: environment)
        // Outside of the folder, whose files tests count.
        let streams = try temporaryPath("")
        let inputPath = streams + "in"
        let (outputPath, errorPath) = (outputPath ?? streams + "out", errorPath ?? streams + "err")
        for path in [outputPath, errorPath] where !FileManager.default.fileExists(atPath: path) {
            try "".write(toFile: path, atomically: true, encoding: .utf8)
        }
        try input.write(toFile: inputPath, atomically: true, encoding: .utf8)
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: inputPath))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
        try process.run()
        try during(process)
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            output: outputPath.hasPrefix("/dev/") ? "" : try String(contentsOfFile: outputPath, encoding: .utf8),
            errors: try String(contentsOfFile: errorPath, encoding: .utf8))
    }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: folder + name, atomically: true, encoding: .utf8)
    }

    /// The names of the folder's files, hidden ones included.
    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + name)
        return try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
    }
}
