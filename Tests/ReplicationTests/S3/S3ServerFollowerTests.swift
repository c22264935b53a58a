#if Replication
    import MakoReplication
    import MakoStorage
    import ReplicationTestSupport
    import Testing

    /// Followers, promotion and retention on servers that speak the protocol of S3.
    @Suite(.enabled(if: !S3Server.all.isEmpty, "needs a server: make test-services"), .serialized)
    struct S3ServerFollowerTests {
        private func isFence(_ error: any Error) -> Bool {
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }

        private func kinds(_ ledger: Ledger) throws -> [ObjectHeader.Kind] {
            try ledger.place.list("", after: nil, limit: 1000).filter { $0.contains("/seq/") }.map { name in
                let bytes = try ledger.place.get(name, 0..<UInt64(ObjectHeader.bytes)).bytes
                return try #require(ObjectHeader(bytes)).kind
            }
        }

        @Test(arguments: S3Server.all) func aFollowerTakesOverAndFencesTheWriter(_ server: S3Server) throws {
            let ledger = try Ledger(seed: 91, place: try server.store())
            try ledger.commit(.small)
            let old = try ledger.replicator(objectBytes: 2000)
            try old.ship()
            let bench = FollowerBench(ledger)
            try bench.check(try ledger.commitNumber())
            for _ in 0..<6 { try ledger.commitAtRandom(selfContained: true) }
            try old.ship()
            let frames = try bench.check(try ledger.commitNumber())
            #expect(frames.objects > 0)
            #expect(frames.restart == nil)
            // Not in frames: an incremental backup.
            try ledger.commit(.large)
            try ledger.commit(.small)
            try old.ship()
            #expect(try bench.check(try ledger.commitNumber()).restart == .backup)
            #expect(Set(try kinds(ledger)) == [.full, .frames, .part])

            let newest = try ledger.commitNumber()
            let store = try bench.promote()
            #expect(try store.read { $0.commitNumber } == newest + 1)
            #expect(try LedgerState(reading: store) == ledger.state)
            try ledger.commit(.small)
            for _ in 0..<2 { #expect(performing: { try old.ship() }, throws: isFence) }
            #expect(throws: ReplicationError.self) { _ = try ledger.replicator() }
            var options = Replicator.Options()
            options.now = { 3_000_000 }
            let new = try Replicator(store, to: ledger.place, options: options)
            try store.write { tx in
                let tree = try tx.view.tree(named: "numbers") ?? tx.createTree(named: "numbers", keys: .integer)
                try tx.put(Array("promoted".utf8), for: 1001, in: tree)
            }
            try new.ship()
            #expect(try ledger.restored(nil) == (try LedgerState(reading: store)))
            #expect(try ledger.restored(newest) == ledger.states[newest])
            #expect(try ledger.replica.restorePoints()[0].findings == [])
            let other = FollowerBench(ledger, seed: 6)
            let follower = try other.current()
            try follower.follow()
            #expect(follower.commit == newest + 2)
            let reader = try other.open()
            #expect(try LedgerState(reading: reader) == (try LedgerState(reading: store)))
            try reader.close()
        }

        @Test(arguments: S3Server.all) func retentionDeletesWhatNoMinimumNeeds(_ server: S3Server) throws {
            let ledger = try Ledger(seed: 92, place: try server.store())
            let time = RetentionTests.Time()
            var options = time.options
            options.retention = Retention(age: .seconds(6 * 3600), commits: 4)
            func rounds(_ count: Int, _ replicator: Replicator) throws {
                for _ in 0..<count {
                    try ledger.commit(.small)
                    try replicator.ship()
                    time.advance()
                }
            }
            try rounds(30, try Replicator(ledger.store, to: ledger.place, options: options))
            let first = try ledger.place.list("", after: nil, limit: 1000)
            #expect(!first.contains { $0.hasSuffix("/seq/000000000001") })
            #expect(try #require(ledger.replica.restorePoints().first?.keptFrom) > 2)
            // Another replicator of the branch goes on from there.
            try rounds(3, try Replicator(ledger.store, to: ledger.place, options: options))
            let points = try ledger.replica.restorePoints()[0]
            let (newest, oldest) = (try ledger.commitNumber(), try #require(points.keptFrom))
            #expect(points.newest == newest)
            #expect(points.gaps == [])
            #expect(oldest <= newest - 3)
            let moment = time.milliseconds - 6 * 3_600_000
            #expect(try #require(points.runs.first?.dates.lowerBound) <= moment)
            #expect(try ledger.replica.newestCommit(shippedBy: moment) != nil)
            #expect(try ledger.checkAll().first == oldest)
            #expect(throws: ReplicationError.notKept(commit: oldest - 1, oldest: oldest)) {
                try ledger.restored(oldest - 1)
            }
        }
    }
#endif
