import Foundation

/// The program litestream, with the database `data.sqlite` of a directory.
final class Litestream {
    private let directory: String
    private let program: String
    private let interval: Int
    private let socket: String
    private var running: Process?

    init(_ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int) throws {
        self.directory = directory
        self.interval = interval
        program = place.litestream
        // The path of a socket has at most 107 bytes.
        socket = "/tmp/\(prefix).socket"
        let settings = """
            access-key-id: \(place.key.id)
            secret-access-key: \(place.key.secret)
            socket:
              enabled: true
              path: \(socket)
            dbs:
              - path: \(directory)/data.sqlite
                monitor-interval: \(interval)ms
                replica:
                  type: s3
                  bucket: \(place.bucket)
                  path: \(prefix)
                  endpoint: \(place.endpoint)
                  region: us-east-1
                  force-path-style: true
                  sync-interval: \(interval)ms
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: directory + "/litestream.yml"))
    }

    /// Ships by itself from now on; returns when the object store has the database.
    func replicate() throws {
        running = try start("replicate", [])
        try wait(for: "litestream answers") {
            guard FileManager.default.fileExists(atPath: socket) else { return false }
            let call = try start("sync", ["-wait", "-socket", socket, directory + "/data.sqlite"], hasSettings: false)
            call.waitUntilExit()
            return call.terminationStatus == 0
        }
        // Its first snapshot and its first compaction follow about a second later.
        Thread.sleep(forTimeInterval: 3)
    }

    func sync() throws {
        try run("sync", ["-wait", "-socket", socket, directory + "/data.sqlite"], hasSettings: false)
    }

    func restore(to name: String) throws {
        try run("restore", ["-o", "\(directory)/\(name)", directory + "/data.sqlite"])
    }

    /// Keeps a copy up to date; returns when it is there.
    func follow(at name: String) throws {
        running = try start(
            "restore",
            ["-f", "-follow-interval", "\(interval)ms", "-o", "\(directory)/\(name)", directory + "/data.sqlite"])
        try wait(for: "the copy is there") { FileManager.default.fileExists(atPath: "\(directory)/\(name)") }
    }

    func end() {
        running?.terminate()
        running?.waitUntilExit()
        running = nil
        try? FileManager.default.removeItem(atPath: socket)
    }

    private func run(_ command: String, _ arguments: [String], hasSettings: Bool = true) throws {
        let process = try start(command, arguments, hasSettings: hasSettings)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError(
                "litestream \(command) ended with \(process.terminationStatus): \(directory)/litestream.log")
        }
    }

    private func start(_ command: String, _ arguments: [String], hasSettings: Bool = true) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments =
            [command] + (hasSettings ? ["-config", directory + "/litestream.yml"] : []) + arguments
        // Its client of S3 ends with an error where a file of certificates is named.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "AWS_CA_BUNDLE" }
        let path = directory + "/litestream.log"
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        log.seekToEndOfFile()
        process.standardOutput = log
        process.standardError = log
        try process.run()
        return process
    }

    private func wait(for what: String, _ condition: () throws -> Bool) throws {
        let end = Date().addingTimeInterval(20)
        while try !condition() {
            guard Date() < end else { throw BenchmarkError("not within 20 s: \(what); \(directory)/litestream.log") }
            Thread.sleep(forTimeInterval: 0.02)
        }
    }
}
