#if Postgres
    import Foundation
    import MakoRecords
    import MakoStorage
    import MakoTestSupport
    import Testing

    import MakoPostgres

    /// The mirror and the export on a real server.
    @Suite(.enabled(if: PostgresServer.isThere, "needs a server: make test-services"), .serialized)
    struct MirrorTests {
        private func expectEqual(
            _ fixture: MirrorFixture, _ schema: ServerSchema, _ comment: Comment = "",
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let (mine, theirs) = (try fixture.contents(), try schema.contents())
            #expect(mine == theirs, comment, sourceLocation: sourceLocation)
            #expect(
                try schema.commit() == fixture.store.read { $0.commitNumber }, comment, sourceLocation: sourceLocation)
        }

        @Test(arguments: 1...4) func aScriptReplaysToEqualRows(_ seed: UInt64) throws {
            var random = SplitMix(seed: seed)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed, MirrorFixture.dated)
            for _ in 0..<60 { try fixture.work(&random) }
            let schema = try ServerSchema()
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(schema.name).sql")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data("SET search_path = \(schema.name);\n\(try fixture.script())".utf8).write(to: file)
            let (status, output) = try PostgresServer.run(
                "/usr/bin/env", ["psql", PostgresServer.url, "-qX", "-v", "ON_ERROR_STOP=1", "-f", file.path])
            #expect(status == 0, "\(output)")
            #expect(try fixture.contents() == schema.contents())
        }

        @Test(arguments: 1...6) func everyStepShowsTheNewestCommit(_ seed: UInt64) throws {
            var random = SplitMix(seed: seed)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed, MirrorFixture.dated)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            #expect(try mirror.step().load == .first)
            for step in 0..<25 {
                for _ in 0..<random.below(4) { try fixture.work(&random) }
                let report = try mirror.step()
                #expect(report.load == nil && report.loadedRows == 0)
                try expectEqual(fixture, schema, "seed \(seed), step \(step)")
            }
        }

        @Test func nothingIsSentWithoutNewCommits() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            #expect(try mirror.step().hasChanged)
            let report = try mirror.step()
            #expect(!report.hasChanged && report.changedRows == 0 && report.changedTables == 0)
        }

        @Test func changesOfTheSchemaFollow() throws {
            var random = SplitMix(seed: 7)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            for _ in 0..<30 { try fixture.work(&random) }
            try mirror.step()
            func follows(_ what: Comment, loaded: Bool) throws {
                try fixture.work(&random)
                let report = try mirror.step()
                #expect((report.loadedRows > 0) == loaded && report.load == nil, what)
                try expectEqual(fixture, schema, what)
            }
            var keyed = MirrorFixture.keyed
            keyed.columns.insert(ColumnSchema("added", .date, default: .date(1.5)), at: 1)
            keyed.columns.append(ColumnSchema("empty", .integer, isOptional: true))
            try fixture.migrate(keyed)
            try follows("added columns", loaded: false)
            let full = keyed
            // The last one, whose number is larger than those that are shown then.
            keyed.columns.removeAll { $0.name == "empty" }
            try fixture.migrate(keyed)
            try follows("a retired column", loaded: true)
            try fixture.migrate(full)
            try follows("a column that comes back with its values", loaded: true)
            keyed = full
            keyed.columns[0].isNoCase = true
            try fixture.migrate(keyed)
            try follows("a collation, which changes nothing here", loaded: false)
            var wide = MirrorFixture.wide
            (wide.name, wide.originalName) = ("Renamed", wide.name)
            try fixture.migrate(wide)
            try follows("a renamed table", loaded: false)
            wide.originalName = nil
            wide.columns[1].type = .text
            try fixture.migrate(wide)
            try follows("another type", loaded: true)
            try fixture.commit([("DROP TABLE Renamed", [])], rewritten: ["Renamed"])
            try fixture.migrate(MirrorFixture.wide)
            try fixture.insert("Wide \"table\"", fixture.row(MirrorFixture.wide, &random))
            try follows("a dropped table, and a new one", loaded: true)
        }

        @Test func tablesThatTakeEachOthersNamesAreRenamed() throws {
            let (a, b) = (
                EntitySchema(name: "A", columns: [ColumnSchema("x", .integer)]),
                EntitySchema(name: "B", columns: [ColumnSchema("y", .text)])
            )
            let fixture = try MirrorFixture(a, b)
            try fixture.insert("A", [.integer(1), .integer(10)])
            try fixture.insert("B", [.integer(1), .text("ten")])
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try mirror.step()
            for (old, new) in [("A", "C"), ("B", "A"), ("C", "B")] {
                var wanted = try fixture.table(old).schema
                (wanted.name, wanted.originalName) = (new, old)
                try fixture.migrate(wanted)
            }
            let report = try mirror.step()
            #expect(report.loadedRows == 0 && report.changedTables == 2)
            try expectEqual(fixture, schema)
        }

        /// PostgreSQL calls the index of a primary key so by itself.
        @Test func aTableMayHaveTheNameOfAPrimaryKey() throws {
            var random = SplitMix(seed: 9)
            var other = EntitySchema(name: "K_pkey", columns: [ColumnSchema("x", .integer)])
            let fixture = try MirrorFixture(MirrorFixture.keyed, other)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            func follows(_ what: Comment) throws {
                for _ in 0..<5 { try fixture.work(&random) }
                try mirror.step()
                try expectEqual(fixture, schema, what)
            }
            try follows("the first step")
            var keyed = MirrorFixture.keyed
            keyed.columns.removeAll { $0.name == "note" }
            try fixture.migrate(keyed)
            try follows("a new table takes the name of the old one")
            try fixture.migrate(MirrorFixture.keyed)
            try follows("and again")
            (other.name, other.originalName) = ("L", "K_pkey")
            try fixture.migrate(other)
            try fixture.migrate(EntitySchema(name: "K_pkey", columns: [ColumnSchema("y", .text)]))
            try follows("the name of a renamed table")
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(schema.name).sql")
            defer { try? FileManager.default.removeItem(at: file) }
            let copy = try ServerSchema()
            try Data("SET search_path = \(copy.name);\n\(try fixture.script())".utf8).write(to: file)
            let (status, output) = try PostgresServer.run(
                "/usr/bin/env", ["psql", PostgresServer.url, "-qX", "-v", "ON_ERROR_STOP=1", "-f", file.path])
            #expect(status == 0, "\(output)")
            #expect(try fixture.contents() == copy.contents())
        }

        @Test func tablesThatTheHistoryNamesWholeAreLoaded() throws {
            var random = SplitMix(seed: 3)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed)
            for _ in 0..<20 { try fixture.work(&random) }
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture) { $0.keyLimit = 3 }
            try mirror.step()
            try fixture.commit([("UPDATE K SET note = 'new'", [])], rewritten: ["K"])
            let report = try mirror.step()
            #expect(report.loadedRows > 0 && report.changedRows == 0)
            try expectEqual(fixture, schema, "a table that the history names")
            for _ in 0..<5 { try fixture.work(&random) }
            #expect(try mirror.step().loadedRows > 0)
            try expectEqual(fixture, schema, "more rows than a step holds")
        }

        @Test func readersOfAnOlderSnapshotSeeTheOlderRowsOfALoadedTable() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            try fixture.insert("K", [.text("a"), .integer(1), .text("old"), .null])
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try mirror.step()
            let reader = try PostgresConnection(PostgresServer.url)
            try reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            let before = try reader.rows("SELECT commit FROM \(schema.name).mako_mirror")
            try fixture.commit([("UPDATE K SET note = 'new'", [])], rewritten: ["K"])
            try mirror.step()
            #expect(try reader.rows("SELECT note FROM \(schema.name).\"K\"") == [["old"]])
            #expect(try reader.rows("SELECT commit FROM \(schema.name).mako_mirror") == before)
            try reader.execute("COMMIT")
            #expect(try reader.rows("SELECT note FROM \(schema.name).\"K\"") == [["new"]])
        }

        // MARK: - Tokens

        @Test func aDatabaseWithoutAHistoryIsRefused() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed, keepsHistory: false)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            #expect(throws: PostgresError.historyNotKept) { try mirror.step() }
        }

        @Test func anotherDatabaseIsRefusedUntilItIsToReplaceTheMirror() throws {
            let (first, second) = (
                try MirrorFixture(MirrorFixture.keyed, MirrorFixture.dated), try MirrorFixture(MirrorFixture.keyed)
            )
            try first.insert("K", [.text("first"), .integer(1), .null, .null])
            try second.insert("K", [.text("second"), .integer(1), .null, .null])
            let schema = try ServerSchema()
            try schema.mirror(first).step()
            let wrong = try schema.mirror(second)
            #expect(throws: PostgresError.foreign(schema: schema.name)) { try wrong.step() }
            try expectEqual(first, schema)
            let replacing = try schema.mirror(second) { $0.reloads = true }
            #expect(try replacing.step().load == .requested)
            try expectEqual(second, schema)
            #expect(try replacing.step().hasChanged == false)
        }

        @Test func aMirrorBehindTheHistoryIsLoadedAnew() throws {
            var random = SplitMix(seed: 5)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed)
            for _ in 0..<20 { try fixture.work(&random) }
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try mirror.step()
            for _ in 0..<10 { try fixture.work(&random) }
            try fixture.forgetHistory()
            #expect(try mirror.step().load == .missed)
            try expectEqual(fixture, schema)
        }

        @Test func tablesOfOthersStay() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            let schema = try ServerSchema()
            try schema.connection.execute("CREATE TABLE \(schema.name).\"K\" (mine text)")
            let mirror = try schema.mirror(fixture)
            #expect {
                try mirror.step()
            } throws: { error in
                guard case PostgresError.refused(let state, _, _) = error else { return false }
                return state.code == "42P07" && "\(error)".contains("not of this mirror")
            }
            #expect(try schema.connection.rows("SELECT mine FROM \(schema.name).\"K\"").isEmpty)
            #expect(try schema.commit() == nil)
        }

        /// A query, and a step, in the transaction of the step would end it.
        @Test func theConnectionOfAStepIsNotUsedFromItsProgress() throws {
            var random = SplitMix(seed: 8)
            let fixture = try MirrorFixture(MirrorFixture.wide, MirrorFixture.keyed)
            for _ in 0..<20 { try fixture.work(&random) }
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            for round in 0..<2 {
                try fixture.work(&random)
                try fixture.insert("K", [.text("a"), .integer(Int64(round)), .text("new"), .null])
                var errors: [PostgresError?] = []
                try mirror.step { _, _ in
                    do throws(PostgresError) { _ = try mirror.query("SELECT count(*) FROM K") } catch {
                        errors.append(error)
                    }
                    do throws(PostgresError) { _ = try mirror.step() } catch { errors.append(error) }
                    return true
                }
                #expect(!errors.isEmpty && errors.allSatisfy { $0 == .inUse })
                try expectEqual(fixture, schema, "round \(round)")
            }
            #expect(try !mirror.query("SELECT count(*) FROM K").rows.isEmpty)
        }

        /// A transaction that another user of the connection has ended: nothing is committed by itself, and no token stored.
        @Test(arguments: ["ROLLBACK", "COMMIT"]) func aStepWhoseTransactionHasEndedStoresNoToken(_ end: String) throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try mirror.step()
            let commit = try schema.commit()
            try fixture.insert("K", [.text("a"), .integer(1), .text("new"), .null])
            #expect {
                try mirror.step { _, _ in
                    do throws(PostgresError) { try mirror.connection.execute(end) } catch { Issue.record("\(error)") }
                    return true
                }
            } throws: { error in
                guard case PostgresError.refused(let state, _, _) = error else { return false }
                return state.code == "25P01"
            }
            #expect(try schema.commit() == commit)
            try mirror.step()
            try expectEqual(fixture, schema)
        }

        @Test func aLostRowAndDroppedTablesOfTheMirrorAreMadeAgain() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            try fixture.insert("K", [.text("a"), .integer(1), .text("old"), .null])
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try mirror.step()
            for loss in ["DELETE FROM \(schema.name).mako_mirror", "DROP SCHEMA \(schema.name) CASCADE"] {
                try schema.connection.execute(loss)
                #expect(try mirror.step().load == .first, "\(loss)")
                try expectEqual(fixture, schema, "\(loss)")
                #expect(try !mirror.step().hasChanged, "\(loss)")
                try fixture.insert("K", [.text("a"), .integer(1), .text("new"), .null])
                #expect(try mirror.step().load == nil, "\(loss)")
                try expectEqual(fixture, schema, "\(loss)")
            }
        }

        @Test func aValueThatIsRefusedLeavesTheStateBefore() throws {
            let fixture = try MirrorFixture(MirrorFixture.keyed)
            let schema = try ServerSchema()
            let mirror = try schema.mirror(fixture)
            try fixture.insert("K", [.text("a"), .integer(1), .text("good"), .null])
            try mirror.step()
            let (rows, commit) = (try schema.contents(), try schema.commit())
            try fixture.insert("K", [.text("b"), .integer(1), .text("\0"), .null])
            #expect(throws: PostgresError.self) { try mirror.step() }
            #expect(try schema.contents() == rows && schema.commit() == commit)
            try fixture.run("UPDATE K SET note = 'better' WHERE code = 'b'")
            try mirror.step()
            try expectEqual(fixture, schema)
        }

        @Test func aDatabaseOfAnotherEncodingIsRefused() throws {
            let connection = try PostgresConnection(PostgresServer.url)
            let name = "t\(UInt64.random(in: 0 ... .max))"
            try connection.execute(
                "CREATE DATABASE \(name) ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
            defer { try? connection.execute("DROP DATABASE \(name)") }
            var url = try #require(URLComponents(string: PostgresServer.url))
            url.path = "/\(name)"
            let place = try #require(url.string)
            #expect(throws: PostgresError.encoding("SQL_ASCII")) { _ = try PostgresConnection(place) }
            #expect("\(PostgresError.encoding("SQL_ASCII"))".contains("ENCODING 'UTF8'"))
        }

        @Test func aServerThatIsNotThereIsUnreachable() {
            #expect {
                _ = try PostgresConnection("postgres://mirror@127.0.0.1:1/nothing")
            } throws: { error in
                if case PostgresError.unreachable = error {
                    (error as? PostgresError)?.isTransient == true
                } else {
                    false
                }
            }
        }
    }
#endif
