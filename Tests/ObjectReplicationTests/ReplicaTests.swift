import Mako
import MakoObjectReplication
import MakoStorage
import ReplicationTestSupport
import Testing

/// Replicas that are open as databases of objects.
@Suite struct ReplicaTests {
    private func text(_ difference: QueryDifference<Note>?) -> String {
        guard let difference else { return "end" }
        return
            "\(difference.results.described); -\(difference.deletions) +\(difference.insertions) =\(difference.updates)"
    }

    @Test func liveQueriesFollowShippedCommits() async throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        for text in ["a", "b", "c"] { try writer.set(text, 1) }
        try replicator.ship()
        let replica = try machines.replica()
        var live = replica.query(Note.self).where(\.stars > 0).orderBy(\.text).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "a 1, b 1, c 1; -[] +[0, 1, 2] =[]")
        try await writer.transaction { _ in
            try writer.set("a", 0)
            try writer.set("b", 2)
            try writer.set("d", 1)
        }
        try writer.set("c", 3)
        // Nothing is seen before it is shipped, nor before it is followed.
        #expect(try replica.follow().commits == 0)
        try replicator.ship()
        #expect(try replica.notes() == "a 1, b 1, c 1")
        #expect(try replica.follow().commits == 2)
        #expect(text(try await live.next()) == "b 2, c 3, d 1; -[0] +[2] =[0, 1]")
        #expect(try replica.notes() == "a 0, b 2, c 3, d 1")
        try await replica.close()
        #expect(text(try await live.next()) == "end")
        try await writer.close()
    }

    /// The file of the replica is replaced, and its watchers get the difference all the same.
    @Test func commitsOutsideOfTheLogAreFollowed() async throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        for text in ["a", "b", "c"] { try writer.set(text, 1) }
        try replicator.ship()
        let replica = try machines.replica()
        var live = replica.query(Note.self).orderBy(\.text).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "a 1, b 1, c 1; -[] +[0, 1, 2] =[]")
        let long = String(repeating: "l", count: 200_000)
        try writer.set(long, 5)
        try replicator.ship()
        #expect(try replica.follow().restart == .backup)
        #expect(text(try await live.next()) == "a 1, b 1, c 1, llll 5; -[] +[3] =[]")
        try writer.set("b", 2)
        try replicator.ship()
        #expect(try replica.follow().restart == nil)
        #expect(text(try await live.next()) == "a 1, b 2, c 1, llll 5; -[] +[] =[1]")
        try await replica.close()
        try await writer.close()
    }

    @Test func aTableThatIsShippedLaterIsUsedFromThenOn() throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        try replicator.ship()
        let replica = try machines.replica()
        #expect(throws: MakoError.self) { try replica.query(Label.self).count() }
        try writer.save(Label(name: "new"))
        try replicator.ship()
        try replica.follow()
        #expect(try replica.query(Label.self).fetch().map(\.name) == ["new"])
        #expect {
            try replica.save(Label(name: "own"))
        } throws: { error in
            if case MakoError.readOnly = error { true } else { false }
        }
    }

    @Test func theThreadNotifiesHandlersAndGoesOnAfterAnOutage() throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        try writer.set("a", 1)
        try replicator.ship()
        let steps = Guarded<(commits: UInt64, failures: Int)>((0, 0))
        let replica = try machines.replica(every: .milliseconds(5)) { result in
            steps.withLock { steps in
                switch result {
                case .success(let report): steps.commits += report.commits
                case .failure: steps.failures += 1
                }
            }
        }
        let seen = Guarded<[String]>([])
        let token = try Note.onChange(in: replica) { change in
            seen.withLock { $0.append("\(change.kind) \(change.object?.text ?? "")") }
        }
        try writer.set("a", 2)
        try replicator.ship()
        #expect(eventually { seen.withLock { $0 } == ["update a"] })
        machines.objects.isDown = true
        #expect(eventually { steps.withLock { $0.failures } > 0 })
        machines.objects.isDown = false
        try writer.set("b", 1)
        try replicator.ship()
        #expect(eventually { steps.withLock { $0.commits } == 2 })
        // The handlers of a step come before its report.
        #expect(seen.withLock { $0 } == ["update a", "insert b"])
        #expect(try replica.notes() == "a 2, b 1")
        token.cancel()
        try replica.close()
    }

    @Test func closingEndsTheFollowerAndTheNextOneGoesOn() throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        try writer.set("a", 1)
        try replicator.ship()
        let first = try machines.replica(every: .milliseconds(5))
        let follower = try #require(first.follower)
        #expect(follower.firstRestart == .newFile)
        try first.close()
        #expect(throws: ReplicationError.storage(.closed(path: "replica.mako"))) { try follower.follow() }
        #expect(throws: MakoError.self) { try first.follow() }
        #expect(first.follower == nil && writer.follower == nil)
        try writer.set("b", 1)
        try replicator.ship()
        // One that is released lets go of the file, too.
        for _ in 0..<2 {
            let next = try machines.replica()
            try next.follow()
            #expect(next.follower?.firstRestart == nil)
            #expect(try next.notes() == "a 1, b 1")
        }
    }

    @Test func aPromotedReplicaTakesOver() throws {
        let machines = Machines()
        let writer = try machines.writer()
        let replicator = try Replicator(writer, to: machines.objects)
        try writer.set("a", 1)
        try replicator.ship()
        let replica = try machines.replica(every: .milliseconds(5))
        try writer.set("b", 2)
        try replicator.ship()
        try writer.set("lost", 1)
        machines.objects.isDown = true
        #expect(throws: ReplicationError.self) {
            try replica.promote(entities: [Note.self], options: machines.options(machines.other))
        }
        machines.objects.isDown = false
        // It goes on as a replica, and promises nothing.
        #expect(try eventually { try replica.notes() == "a 1, b 2" })
        let next = try replica.promote(entities: [Note.self], options: machines.options(machines.other))
        #expect(throws: MakoError.self) { try replica.notes() }
        let second = try Replicator(next, to: machines.objects)
        try next.set("c", 3)
        try second.ship()
        #expect(try next.notes() == "a 1, b 2, c 3")
        #expect {
            try replicator.ship()
        } throws: { error in
            if case ReplicationError.fenced = error { true } else { false }
        }
        try next.close()
    }
}
