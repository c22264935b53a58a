#if Replication
    import Foundation
    import MakoStorage
    import Testing

    @testable import MakoReplication

    /// A service at `MAKO_S3_SERVERS`, which `scripts/services` sets.
    struct ObjectServer: Sendable, CustomTestStringConvertible {
        let name: String
        let url: String

        static let all: [ObjectServer] = (ProcessInfo.processInfo.environment["MAKO_S3_SERVERS"] ?? "")
            .split(separator: ",").compactMap {
                let parts = $0.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? ObjectServer(name: String(parts[0]), url: String(parts[1])) : nil
            }

        static let bucket = "mako-tests"

        var testDescription: String { name }

        var variables: [String: String] {
            ["AWS_ACCESS_KEY_ID": "makokey", "AWS_SECRET_ACCESS_KEY": "makosecret", "AWS_ENDPOINT_URL_S3": url]
        }

        /// Makes the bucket where it is missing. Returns the URL of a new prefix.
        func newPlace() throws -> String {
            let options = S3Options(bucket: ObjectServer.bucket)
            let client = S3Client(
                place: try S3Place(options, S3Environment(variables: variables) { _ in nil }),
                transport: S3URLTransport(timeout: 30), bucket: ObjectServer.bucket, attempts: 3)
            do throws(ObjectStoreError) { _ = try client.send(.put, client.place.bucketPath) } catch {
                guard "\(error)".contains("BucketAlready") else { throw error }
            }
            return "s3://\(ObjectServer.bucket)/commands/\(UInt64.random(in: .min ... .max))"
        }
    }

    /// Ships to servers that speak the protocol of S3, restores, follows and promotes, by the built program with the variables that users set.
    @Suite(.enabled(if: !ObjectServer.all.isEmpty, "needs a server: make test-services"))
    struct ReplicationServerTests {
        private let program: BuiltProgram

        init() throws {
            program = try BuiltProgram()
            try program.write("id,name\n1,Ada\n2,Bob\n", to: "people.csv")
            _ = try program.run(["import", "people.csv", "people.mako"])
        }

        /// Makes a commit for each tree, with a log that stays for the next shipment. Returns the number of the last one.
        private func commit(_ trees: [String]) throws -> UInt64 {
            var options = StoreOptions()
            options.logArchiveBytes = 64 << 20
            let store = try Store(at: program.folder + "people.mako", options: options)
            for tree in trees {
                try store.write { transaction in _ = try transaction.createTree(named: tree, keys: .integer) }
            }
            let number = try store.read { $0.commitNumber }
            try store.close()
            return number
        }

        /// Those of the trees that a file has.
        private func trees(_ file: String, _ names: [String]) throws -> [String] {
            var options = StoreOptions()
            options.readOnly = true
            let store = try Store(at: program.folder + file, options: options)
            let found = try store.read { snapshot in names.filter { snapshot.tree(named: $0) != nil } }
            try store.close()
            return found
        }

        @Test(arguments: ObjectServer.all) func aDatabaseIsShippedRestoredFollowedAndPromoted(_ server: ObjectServer)
            throws
        {
            let place = try server.newPlace()
            func mako(_ arguments: String...) throws -> BuiltProgram.Outcome {
                try program.run(arguments, environment: server.variables)
            }
            let shipped = try mako("replicate", "people.mako", place, "--once")
            #expect(
                shipped.status == 0 && shipped.output.hasPrefix("commit 1 of people.mako is on branch 1: 2 objects, "),
                "\(shipped)")
            let listed = try mako("replicas", place)
            #expect(listed.status == 0 && listed.output.contains("  branch 1: 1 object, "), "\(listed)")
            #expect(listed.output.contains("    commits 1, "), "\(listed)")

            let last = try commit(["a", "b"])
            let more = try mako("replicate", "people.mako", place, "--once", "--progress")
            #expect(more.output.hasPrefix("commit \(last) of people.mako is on branch 1: 1 object, "), "\(more)")
            let again = try mako("replicate", "people.mako", place, "--once")
            #expect(again.status == 0 && again.output.contains("is on branch 1: 0 objects, "), "\(again)")
            let both = try mako("replicas", place, "--progress")
            #expect(both.status == 0 && both.output.contains("    commits 1 to \(last), "), "\(both)")

            let followed = try mako("follow", place, "replica.mako", "--once", "--progress")
            #expect(followed.status == 0, "\(followed)")
            #expect(followed.output.contains("replica.mako has commit \(last) of branch 1: "), "\(followed)")
            let newest = try commit(["c"])
            #expect(try mako("replicate", "people.mako", place, "--once").status == 0)
            let further = try mako("follow", place, "replica.mako", "--once")
            #expect(further.output.hasPrefix("replica.mako has commit \(newest) of branch 1: 1 object, "), "\(further)")
            #expect(try trees("replica.mako", ["a", "b", "c"]) == ["a", "b", "c"])

            // By the option instead of the variable.
            var keys = server.variables
            keys["AWS_ENDPOINT_URL_S3"] = nil
            let promoted = try program.run(
                ["promote", place, "replica.mako", "--endpoint", server.url, "--progress"], environment: keys)
            #expect(promoted.status == 0, "\(promoted)")
            #expect(
                promoted.output.hasPrefix("replica.mako continues branch 1 from commit \(newest + 1), "), "\(promoted)")
            let fenced = try mako("replicate", "people.mako", place, "--once")
            #expect(fenced.status == 65 && fenced.errors.contains("extended by another database"), "\(fenced)")
            #expect(fenced.errors.contains("--new-branch begins one"), "\(fenced)")
            let continued = try mako("replicate", "replica.mako", place, "--once")
            #expect(continued.status == 0 && continued.output.contains("is on branch 1: "), "\(continued)")

            let restored = try mako("restore", place, "restored.mako", "--progress")
            #expect(restored.status == 0 && restored.output.hasPrefix("restored.mako holds commit \(newest + 1), "))
            #expect(restored.output.hasSuffix("; it ships to branch 2\n"), "\(restored)")
            #expect(try trees("restored.mako", ["a", "b", "c"]) == ["a", "b", "c"])
            #expect(try mako("check", "restored.mako").status == 0)
            let earlier = try mako("restore", place, "earlier.mako", "--at", "\(last - 1)", "--branch", "1")
            #expect(earlier.status == 0 && earlier.output.contains("holds commit \(last - 1), "), "\(earlier)")
            #expect(try trees("earlier.mako", ["a", "b"]) == ["a"])
            let missing = try mako("restore", place, "missing.mako", "--at", "\(newest + 2)", "--branch", "1")
            #expect(missing.status == 66 && missing.errors.contains("cannot be restored by itself"), "\(missing)")
            let apart = try mako("replicate", "people.mako", place, "--once", "--new-branch")
            #expect(apart.status == 0 && !apart.output.contains("is on branch 1: "), "\(apart)")
        }

        @Test(arguments: ObjectServer.all) func failuresSayWhatToDo(_ server: ObjectServer) throws {
            let place = try server.newPlace()
            func check(
                _ arguments: [String], _ changes: [String: String] = [:], status: Int32, _ words: [String]
            ) throws {
                let variables = server.variables.merging(changes) { $1 }
                let outcome = try program.run(arguments, environment: variables)
                #expect(outcome.status == status, "\(arguments): \(outcome)")
                for word in words { #expect(outcome.errors.contains(word), "\(arguments): \(outcome)") }
                #expect(outcome.output.isEmpty)
            }
            // Nothing was shipped there.
            try check(["replicas", place], status: 66, ["no database was shipped to \(place)"])
            try check(["follow", place, "replica.mako", "--once"], status: 66, ["no database was shipped there"])
            try check(["restore", place, "restored.mako"], status: 66, ["no database was shipped there"])
            // Also without --once: an error of the configuration is not tried again.
            for arguments in [
                ["replicate", "people.mako", "s3://mako-nothing/a", "--once"],
                ["replicate", "people.mako", "s3://mako-nothing/a"],
                ["restore", "s3://mako-nothing/a", "restored.mako"],
                ["promote", "s3://mako-nothing/a", "replica.mako"],
                ["follow", "s3://mako-nothing/a", "replica.mako"], ["replicas", "s3://mako-nothing/a"],
            ] {
                try check(
                    arguments, status: 64,
                    ["there is no bucket 'mako-nothing' at 127.0.0.1:", "create it, or check its name"])
            }
            let all = [
                ["replicate", "people.mako", place], ["replicas", place], ["restore", place, "restored.mako"],
                ["follow", place, "replica.mako"], ["promote", place, "replica.mako"],
            ]
            for arguments in all {
                // An empty variable counts as none.
                try check(
                    arguments, ["AWS_SECRET_ACCESS_KEY": ""], status: 64,
                    ["AWS_ACCESS_KEY_ID", "set these variables or AWS_PROFILE"])
                // moto accepts any key.
                guard server.name != "moto" else { continue }
                try check(
                    arguments, ["AWS_SECRET_ACCESS_KEY": "wrong"], status: 64,
                    ["the key makokey was refused", "check the keys, or renew them"])
                try check(
                    arguments, ["AWS_ACCESS_KEY_ID": "wrong"], status: 64,
                    ["the key wrong was refused", "check the keys, or renew them"])
            }
            #expect(try program.files.filter { $0.hasSuffix(".mako") } == ["people.mako"])
        }
    }
#endif
