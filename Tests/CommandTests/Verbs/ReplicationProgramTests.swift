import Foundation
import MakoReplication
import MakoStorage
import Testing

/// Ships databases to a folder and restores them by the built program.
@Suite struct ReplicationProgramTests {
    private let program: BuiltProgram

    init() throws {
        program = try BuiltProgram()
        try program.write("id,name\n1,Ada\n2,Bob\n", to: "people.csv")
        _ = try program.run(["import", "people.csv", "people.mako"])
    }

    private func mako(_ arguments: String...) throws -> BuiltProgram.Outcome { try program.run(arguments) }

    private func count(_ file: String) throws -> String {
        try mako("query", file, "SELECT count(*) FROM people", "-f", "csv").output
    }

    @Test func aDatabaseIsShippedListedAndRestored() throws {
        let shipped = try mako("replicate", "people.mako", "objects", "--once")
        #expect(shipped.status == 0 && shipped.output.contains("is on branch 1: 2 objects"), "\(shipped)")
        let again = try mako("replicate", "people.mako", "objects", "--once")
        #expect(again.status == 0 && again.output.contains(": 0 objects"), "\(again)")
        let listed = try mako("replicas", "objects")
        #expect(listed.status == 0 && listed.output.contains("  branch 1: 1 object, "), "\(listed)")
        #expect(listed.output.contains("newest commit shipped "))
        let restored = try mako("restore", "file://\(program.folder)objects", "restored.mako")
        #expect(restored.status == 0 && restored.output.contains("it ships to branch 2"), "\(restored)")
        #expect(try count("restored.mako") == "count(*)\n2\n")
        #expect(try mako("check", "restored.mako").status == 0)
        let number = try #require(shipped.output.split(separator: " ").dropFirst().first)
        let commit = number.filter { $0 != "," }
        #expect(try mako("restore", "objects", "--to", "second.mako", "--at", commit, "--branch", "1").status == 0)
        #expect(try mako("restore", "objects", "third.mako", "--at", "2999-01-01", "--branch", "1").status == 0)
        let early = try mako("restore", "objects", "early.mako", "--at", "2001-01-01T12:30", "--branch", "1")
        #expect(early.status == 66 && early.errors.contains("by 2001-01-01 12:30"), "\(early)")
        let missing = try mako("restore", "objects", "early.mako", "--at", "999999", "--branch", "1")
        #expect(missing.status == 66 && missing.errors.contains("cannot be restored by itself"))
        #expect(!FileManager.default.fileExists(atPath: program.folder + "early.mako"))
    }

    @Test func aDatabaseWhoseLogIsGoneNeedsANewBranch() throws {
        #expect(try mako("replicate", "people.mako", "objects", "--once").status == 0)
        #expect(try mako("query", "people.mako", "INSERT INTO people VALUES (3, 'Cleo')").status == 0)
        let gone = try mako("replicate", "people.mako", "objects", "--once")
        #expect(gone.status == 65 && gone.errors.contains("--new-branch"), "\(gone)")
        #expect(try mako("replicate", "people.mako", "objects", "--once", "--new-branch").status == 0)
        #expect(try mako("restore", "objects", "restored.mako").status == 0)
        #expect(try count("restored.mako") == "count(*)\n3\n")
    }

    @Test func aFileThatAnotherProgramHasOpenIsShippedLater() throws {
        let store = try Store(at: program.folder + "people.mako")
        let refused = try mako("replicate", "people.mako", "objects", "--once")
        #expect(refused.status == 75 && refused.errors.contains("another program has people.mako open"), "\(refused)")
        let outcome = try program.run(["replicate", "people.mako", "objects", "--interval", "0.1"]) { process in
            Thread.sleep(forTimeInterval: 1)
            try store.close()
            let objects = program.folder + "objects"
            for _ in 0..<600 {
                if let found = FileManager.default.enumerator(atPath: objects)?.contains(where: {
                    "\($0)".hasSuffix("000000000001")
                }), found {
                    break
                }
                Thread.sleep(forTimeInterval: 0.1)
            }
            process.interrupt()
        }
        // By the signal, after the file is closed.
        #expect(outcome.status == SIGINT && outcome.output.contains("is on branch 1"), "\(outcome)")
        #expect(outcome.errors.contains("it is shipped after that"))
        #expect(try !program.files.contains { $0.contains("-wal-") })
        #expect(try mako("restore", "objects", "restored.mako").status == 0)
    }

    /// Ships by the library, with dates in the past.
    private func ship(daysAgo days: [UInt64]) throws {
        var options = StoreOptions()
        options.logArchiveBytes = 64 << 20
        let store = try Store(at: program.folder + "people.mako", options: options)
        let objects = try FolderObjectStore(at: program.folder + "objects")
        for day in days {
            var own = Replicator.Options()
            own.retention = Retention(age: .seconds(86_400))
            own.now = { Replicator.milliseconds() - day * 86_400_000 }
            try store.write { transaction in _ = try transaction.createTree(named: "day \(day)", keys: .integer) }
            try Replicator(store, to: objects, options: own).ship()
        }
        try store.close()
    }

    private var objects: Set<String> {
        let all = FileManager.default.enumerator(atPath: program.folder + "objects")
        return Set(all?.compactMap { ($0 as? String).flatMap { $0.hasSuffix("/") ? nil : $0 } } ?? [])
    }

    @Test func keepDeletesWhatOnlyEarlierCommitsNeed() throws {
        // Two full backups, of 9 and of 7 days ago.
        try ship(daysAgo: [9, 7])
        let before = objects
        #expect(before.count { $0.contains("/full/") } == 2)
        #expect(try mako("replicate", "people.mako", "objects", "--once", "--keep", "8d").status == 0)
        #expect(try Replica(FolderObjectStore(at: program.folder + "objects")).restorePoints()[0].keptFrom == nil)
        #expect(try mako("replicate", "people.mako", "objects", "--once", "--keep", "6d").status == 0)
        // The second is named as the beginning at once, and the first is deleted an hour later.
        let points = try Replica(FolderObjectStore(at: program.folder + "objects")).restorePoints()[0]
        let oldest = try #require(points.keptFrom)
        #expect(points.newest == oldest && objects.isSuperset(of: before))
        let early = try mako("restore", "objects", "early.mako", "--at", "\(oldest - 1)")
        #expect(early.status == 66 && early.errors.contains("no longer kept"), "\(early)")
        #expect(try mako("restore", "objects", "restored.mako").status == 0)
        #expect(try count("restored.mako") == "count(*)\n2\n")
        for wrong in ["30", "0d", "1.5h", "-1d", "d", "100001w"] {
            let refused = try mako("replicate", "people.mako", "objects", "--once", "--keep=\(wrong)")
            #expect(refused.status == 64 && refused.errors.contains("hours, days or weeks"), "\(refused)")
        }
    }

    @Test func failuresSayWhatToDo() throws {
        let failures: [(arguments: [String], status: Int32, words: String)] = [
            (["replicate", "nothing.mako", "objects"], 66, "there is no file nothing.mako"),
            (["replicate", "people.mako", "ftp://host/a", "--once"], 64, "neither s3://bucket/prefix nor file:///"),
            (["replicate", "people.mako", "objects", "--region", "a"], 64, "belong to s3:// URLs"),
            (["replicate", "people.mako", "objects", "--interval", "0"], 64, "--interval is 0.1 to 86400"),
            (["replicate", "people.mako", ".", "--once"], 64, "holds no objects of Mako"),
            (["replicas", "nothing"], 66, "there is no folder nothing"),
            (["restore", "file:///", "a", "b"], 64, "one file to make follows the URL"),
            (["restore", "file:///", "a", "--at", "yesterday"], 64, "neither the number of a commit nor a date"),
            (["restore", "people.mako", "--to", "b", "--at", "1"], 64, "--at needs an object store"),
        ]
        for failure in failures {
            let outcome = try program.run(failure.arguments)
            #expect(outcome.status == failure.status && outcome.errors.contains(failure.words), "\(outcome)")
        }
        #if Replication
            let keys = try mako("replicas", "s3://bucket/prefix")
            #expect(keys.status == 64 && keys.errors.contains("AWS_ACCESS_KEY_ID"), "\(keys)")
            let bucket = try mako("replicas", "s3://B")
            #expect(bucket.status == 64 && bucket.errors.contains("no name of a bucket"), "\(bucket)")
        #else
            let without = try mako("replicas", "s3://bucket/prefix")
            #expect(without.status == 64 && without.errors.contains("--traits Replication"), "\(without)")
        #endif
    }
}
