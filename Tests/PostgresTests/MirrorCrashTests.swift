#if Postgres
    import MakoRecords
    import MakoStorage
    import MakoTestSupport
    import Testing

    import MakoPostgres

    // The end of the mirror or of the server in the middle of a step: PostgreSQL shows a commit of the database. In the suite of the other tests
    // with the server, which none of them may use while it restarts.

    extension MirrorTests {
        /// Databases of several commits, each with the rows that it has.
        private struct Known {
            let fixture: MirrorFixture
            private(set) var states: [UInt64: [String: [String]]] = [:]

            init() throws { fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed, MirrorFixture.dated) }

            mutating func work(_ random: inout SplitMix, commits: Int) throws {
                for _ in 0..<commits {
                    try fixture.work(&random)
                    let commit = try fixture.store.read { $0.commitNumber }
                    states[commit] = try fixture.contents()
                }
            }

            /// Checks that PostgreSQL shows a commit, and returns its number.
            func check(_ schema: ServerSchema, _ comment: Comment) throws -> UInt64? {
                guard
                    try !schema.connection.rows(
                        "SELECT 1 FROM pg_tables WHERE schemaname = '\(schema.name)' AND tablename = 'mako_mirror'"
                    ).isEmpty
                else { return nil }
                let commit = try schema.commit()
                #expect(try schema.contents() == (commit.flatMap { states[$0] } ?? [:]), comment)
                return commit
            }
        }

        /// Before each statement of a step the mirror ends: its connection is cut without a ROLLBACK.
        @Test(arguments: ["first", "rows", "schema", "whole"]) func aMirrorThatEndsBeforeAnyStatement(
            _ kind: String
        ) throws {
            var random = SplitMix(seed: 11)
            var known = try Known()
            try known.work(&random, commits: 12)
            let schema = try ServerSchema()
            if kind != "first" { try schema.mirror(known.fixture).step() }
            if kind == "schema" {
                var keyed = MirrorFixture.keyed
                keyed.columns.removeAll { $0.name == "note" }
                keyed.columns.append(ColumnSchema("added", .integer, default: .integer(3)))
                try known.fixture.migrate(keyed)
            }
            if kind == "whole" { try known.fixture.commit([("DELETE FROM K WHERE n > 6", [])], rewritten: ["K"]) }
            try known.work(&random, commits: 3)
            let newest = try known.fixture.store.read { $0.commitNumber }
            var statements = 0
            while true {
                try #require(statements < 200)
                let mirror = try schema.mirror(known.fixture)
                var rest = statements
                mirror.connection.beforeStatement = { _ throws(PostgresError) in
                    rest -= 1
                    if rest < 0 { throw .connectionLost(reason: "the mirror was killed") }
                }
                do throws(PostgresError) {
                    try mirror.step()
                    break
                } catch { #expect(error == .connectionLost(reason: "the mirror was killed")) }
                // Without the ROLLBACK of an error that the mirror survives.
                mirror.connection.cut()
                let commit = try known.check(schema, "\(kind), statement \(statements)")
                #expect(commit != newest)
                statements += 1
            }
            #expect(statements > 6)
            #expect(try known.check(schema, "\(kind), at the end") == newest)
        }

        /// The server is killed and recovers while a step is at one of its statements; the same mirror goes on.
        @Test(arguments: [2, 4, 6]) func aServerThatRestartsInTheMiddleOfAStep(_ place: Int) throws {
            var random = SplitMix(seed: UInt64(place))
            var known = try Known()
            try known.work(&random, commits: 10)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(known.fixture)
            try mirror.step()
            try known.work(&random, commits: 10)
            var rest = place
            mirror.connection.beforeStatement = { _ throws(PostgresError) in
                rest -= 1
                if rest == 0 {
                    do { try PostgresServer.restart() } catch { Issue.record("\(error)") }
                }
            }
            #expect {
                try mirror.step()
            } throws: { error in
                (error as? PostgresError)?.isTransient == true
            }
            mirror.connection.beforeStatement = nil
            try schema.connection.reconnect()
            _ = try known.check(schema, "after the restart")
            try mirror.step()
            #expect(try known.check(schema, "at the end") == known.fixture.store.read { $0.commitNumber })
        }

        @Test func twoMirrorsTakeTurns() throws {
            var random = SplitMix(seed: 2)
            var known = try Known()
            let schema = try ServerSchema()
            let mirrors = [try schema.mirror(known.fixture), try schema.mirror(known.fixture)]
            for step in 0..<12 {
                try known.work(&random, commits: 2)
                let report = try mirrors[step % 2].step()
                #expect(report.load == (step == 0 ? .first : nil))
                #expect(try known.check(schema, "step \(step)") == report.commit)
            }
        }
    }
#endif
