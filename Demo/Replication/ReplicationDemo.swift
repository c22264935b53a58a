import Foundation
import MakoReplication
import MakoStorage

// A writer ships each commit to a folder of objects, and is killed. A follower in another folder takes over. `make demo-replication` runs it.

/// The demo, and the writer process that it starts.
@main
enum ReplicationDemo {
    private static let seconds = 3.0

    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "write" { return try write(in: arguments[2]) }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mako-replication-\(UUID())")
        for name in ["writer", "follower"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        try demonstrate(folder.path)
    }

    // MARK: The writer

    /// Commits numbers, ships each, and prints it as soon as the object store has acknowledged it.
    private static func write(in folder: String) throws {
        var options = StoreOptions()
        options.logArchiveBytes = 64 << 20
        let store = try Store(at: folder + "/writer/numbers.mako", options: options)
        let replicator = try Replicator(store, to: FolderObjectStore(at: folder + "/objects"))
        for number in UInt64(1)... {
            try put(number, in: store)
            try replicator.ship()
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
        }
    }

    private static func put(_ number: UInt64, in store: Store) throws {
        try store.write { transaction in
            let numbers =
                try transaction.view.tree(named: "numbers") ?? transaction.createTree(named: "numbers", keys: .integer)
            try transaction.put(Array("number \(number)".utf8), for: number, in: numbers)
        }
    }

    private static func count(_ store: Store) throws -> UInt64 {
        try store.read { snapshot in
            guard let numbers = snapshot.tree(named: "numbers") else { return 0 }
            var number: UInt64 = 0
            while try snapshot.get(number + 1, in: numbers) != nil { number += 1 }
            return number
        }
    }

    // MARK: The demo

    private static func demonstrate(_ folder: String) throws {
        print("A process writes \(folder)/writer/numbers.mako and ships each commit to \(folder)/objects.")
        let writer = Process()
        writer.executableURL = Bundle.main.executableURL
        writer.arguments = ["write", folder]
        let output = folder + "/acknowledged"
        guard FileManager.default.createFile(atPath: output, contents: nil) else { throw CocoaError(.fileWriteUnknown) }
        writer.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        try writer.run()
        let follower = try follow(folder, writer)
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            let report = try follower.follow()
            if report.commits > 0 { print("  the follower has commit \(report.commit)") }
            Thread.sleep(forTimeInterval: 0.5)
        }
        kill(writer.processIdentifier, SIGKILL)
        writer.waitUntilExit()
        let text = try String(contentsOfFile: output, encoding: .utf8)
        let acknowledged = text.split(separator: "\n").compactMap { UInt64($0) }.last ?? 0
        print("The writer is killed. Number \(acknowledged) was the last that the object store had acknowledged.")
        try promote(follower, acknowledged, folder)
    }

    /// Opens a follower as soon as there is something to follow.
    private static func follow(_ folder: String, _ writer: Process) throws -> Follower {
        while writer.isRunning {
            if let objects = try? FolderObjectStore(at: folder + "/objects"),
                let follower = try? Follower(objects, at: folder + "/follower/numbers.mako")
            {
                print("A follower keeps \(folder)/follower/numbers.mako up to date.")
                return follower
            }
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw CocoaError(.fileReadUnknown)
    }

    private static func promote(_ follower: Follower, _ acknowledged: UInt64, _ folder: String) throws {
        var options = StoreOptions()
        options.logArchiveBytes = 64 << 20
        let start = ContinuousClock.now
        let store = try follower.promote(options: options)
        let time = ContinuousClock.now - start
        let found = try count(store)
        print("The follower is promoted and open for writing after \(time). It has the numbers to \(found).")
        guard found >= acknowledged else {
            print("LOST: \(acknowledged - found) numbers")
            exit(1)
        }
        print("Nothing that was acknowledged is lost.")
        let objects = try FolderObjectStore(at: folder + "/objects")
        let replicator = try Replicator(store, to: objects)
        try put(found + 1, in: store)
        try replicator.ship()
        print("It goes on with number \(found + 1), and ships it to branch \(replicator.branch).")
        try store.close()
        let old = try Store(at: folder + "/writer/numbers.mako", options: options)
        defer { try? old.close() }
        print("The file of the writer before is fenced: \(try fence(old, objects)).")
    }

    /// Expects that a store cannot extend the branch. Returns the reason.
    private static func fence(_ old: Store, _ objects: FolderObjectStore) throws -> String {
        do throws(ReplicationError) { _ = try Replicator(old, to: objects) } catch {
            guard case .fenced(_, let reason) = error else { throw error }
            return reason
        }
        print("NOT FENCED: the writer before ships to the branch, too")
        exit(1)
    }
}
