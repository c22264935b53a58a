#if Postgres
    import Foundation
    import Mako
    import MakoObjectMirror
    import MakoTestSupport
    import Testing

    extension MirrorTests {
        /// Typed queries that run on a real server, and in the database: the results must be the same.
        @Suite struct MirrorObjectTests {
            typealias Ship = Fleet.Ship
            typealias Harbour = Fleet.Harbour
            typealias Port = Fleet.Port

            private let schema: ServerSchema
            private let db: Database
            private let mirror: Mirror

            init() throws {
                var options = DatabaseOptions()
                options.history = .kept()
                db = try Database.inMemory(entities: [Ship.self, Harbour.self], options: options)
                schema = try ServerSchema()
                mirror = try Self.mirror(db, schema)
            }

            private static func mirror(_ db: Database, _ schema: ServerSchema) throws -> Mirror {
                var options = Mirror.Options()
                options.schema = schema.name
                return Mirror(db, to: try PostgresConnection(PostgresServer.url), options: options)
            }

            @discardableResult
            private func saveFleet(_ random: inout SplitMix, _ count: Int = 60) throws -> [Ship] {
                let harbours = ["Alba", "Kiel", "it's"].enumerated().map { Harbour(name: $1, depth: $0 * 4) }
                try db.save(harbours)
                return try db.save((0..<count).map { _ in Fleet.ship(harbours, &random) })
            }

            // MARK: - Results

            /// What of a run was compared, and what was refused.
            private struct Totals {
                var answered = 0
                var refusals: [String: Int] = [:]

                mutating func same<V>(_ wanted: V, _ query: String, _ found: () throws -> V) throws {
                    do {
                        let found = try found()
                        answered += 1
                        #expect("\(found)" == "\(wanted)", "\(query)")
                    } catch MirrorQueryError.mirror(.query(let reason)) { refusals[reason, default: 0] += 1 }
                }
            }

            @Test(arguments: 1...8 as ClosedRange<UInt64>) func typedQueriesHaveTheResultsOfTheDatabase(
                _ seed: UInt64
            ) throws {
                var random = SplitMix(seed: seed)
                try saveFleet(&random)
                try mirror.step()
                var totals = Totals()
                for _ in 0..<40 {
                    let (query, isOrdered) = Fleet.query(db, &random)
                    let text = try query.explain()
                    let there = mirror.query(query)
                    func texts(_ ships: [Ship]) -> [String] {
                        let texts = ships.map(Fleet.text)
                        return isOrdered ? texts : texts.sorted()
                    }
                    try totals.same(texts(query.fetch().array), text) { texts(try there.fetch()) }
                    try totals.same(query.count(), text) { try there.count() }
                    try totals.same(query.exists(), text) { try there.exists() }
                    if isOrdered {
                        try totals.same(query.ids(), text) { try there.ids() }
                        try totals.same(query.first().map(Fleet.text), text) { try there.first().map(Fleet.text) }
                    }
                    try aggregates(query, text, &totals)
                }
                #expect(totals.answered > 10 * totals.refusals.values.reduce(0, +), "\(totals.refusals)")
            }

            private func aggregates(_ query: Query<Ship>, _ text: String, _ totals: inout Totals) throws {
                let there = mirror.query(query)
                try totals.same(query.sum(\.crew), text) { try there.sum(\.crew) }
                try totals.same(query.sum(\.length), text) { try there.sum(\.length) }
                try totals.same(query.avg(\.crew), text) { try there.avg(\.crew) }
                try totals.same(query.avg(\.length), text) { try there.avg(\.length) }
                let (name, latest): (String?, Date?) = (try query.min(\.name), try query.max(\.built))
                try totals.same(name, text) { try there.min(\.name) }
                try totals.same(latest.map(Fleet.micros), text) { try there.max(\.built).map(Fleet.micros) }
                let (least, most): (Double?, Double?) = (try query.min(\.draught), try query.max(\.draught))
                try totals.same(least, text) { try there.min(\.draught) }
                try totals.same(most, text) { try there.max(\.draught) }
                let (number, nickname): (UUID?, String?) = (try query.min(\.number), try query.max(\.nickname))
                try totals.same(number, text) { try there.min(\.number) }
                try totals.same(nickname, text) { try there.max(\.nickname) }
            }

            @Test func predicatesAndClosuresRunThere() throws {
                var random = SplitMix(seed: 3)
                try saveFleet(&random)
                try mirror.step()
                let queries = [
                    db.query(Ship.self).where(#Predicate<Ship> { $0.crew > 2 && $0.isFast }),
                    db.query(Ship.self).where { $0.crew > 2 && $0.home.depth > 3 },
                    db.query(Ship.self).where("crew > ? AND home.name = ?", 1, "Kiel"),
                ]
                for query in queries {
                    let wanted = try query.orderBy("id").fetch().map(Fleet.text)
                    #expect(try mirror.query(query.orderBy("id")).fetch().map(Fleet.text) == wanted)
                    #expect(!wanted.isEmpty)
                }
            }

            @Test func resultsAreThoseOfTheMirroredCommit() throws {
                var random = SplitMix(seed: 5)
                try saveFleet(&random, 3)
                try mirror.step()
                let all = mirror.query(db.query(Ship.self))
                try db.save(Fleet.ship([], &random))
                #expect(try all.count() == 3 && db.query(Ship.self).count() == 4)
                try mirror.step()
                #expect(try all.count() == 4)
            }

            @Test func structsWithATextKeyAreRead() throws {
                try db.save([Port(code: "HAM", piers: 9), Port(code: "KEL", piers: 2)])
                try mirror.step()
                let ports = mirror.query(db.query(Port.self).orderBy(\.code))
                #expect(try ports.fetch().map { "\($0.code) \($0.piers)" } == ["HAM 9", "KEL 2"])
                #expect(try ports.sum(\.piers) == 11 && ports.ids() == [])
            }

            /// An aggregate over the rows within the limit, as in the database.
            @Test func aggregatesCountTheRowsWithinTheLimit() throws {
                try db.save((1...5).map { Port(code: "\($0)", piers: $0) })
                try mirror.step()
                let some = db.query(Port.self).orderBy(\.piers, .descending).limit(3).offset(1)
                let there = mirror.query(some)
                #expect(try there.count() == 3 && some.count() == 3)
                #expect(try there.sum(\.piers) == 9 && some.sum(\.piers) == 9)
                #expect(try there.max(\.piers) == 4 && some.max(\.piers) == 4)
                #expect(try !mirror.query(some.limit(0)).exists() && mirror.query(some.limit(0)).count() == 0)
            }

            @Test func objectsAreFoundByTheirIDs() throws {
                var random = SplitMix(seed: 6)
                try saveFleet(&random)
                try mirror.step()
                let deep = db.query(Harbour.self).where(\.depth > 3).orderBy(\.depth)
                let ids = try mirror.query(deep).ids()
                #expect(try ids.compactMap { try db.find(Harbour.self, $0)?.name } == ["Kiel", "it's"])
                #expect(try mirror.query(deep).sum(\.depth) == 12)
                // A struct of the same table.
                let names = db.query(Fleet.HarbourName.self).orderBy(\.name)
                #expect(try mirror.query(names).fetch().map(\.name) == names.fetch().map(\.name))
            }

            @Test func theExampleOfTheDocumentationRuns() throws {
                var random = SplitMix(seed: 7)
                try saveFleet(&random)
                try mirror.step()
                var printed: [String] = []
                func print(_ texts: Any...) { printed.append(texts.map { "\($0)" }.joined(separator: " ")) }
                // EXAMPLE mirror.md
                let fast = db.query(Ship.self).where(\.isFast && \.crew > 2).orderBy(\.name)
                for ship in try mirror.query(fast.limit(10)).fetch() { print(ship.name, ship.crew) }
                print(try mirror.query(fast).count(), try mirror.query(fast).avg(\.length) ?? 0)
                // EXAMPLE ends
                #expect(try printed.count == min(10, fast.count()) + 1)
            }

            // MARK: - Values

            @Test func structsBelongToNoDatabase() throws {
                var random = SplitMix(seed: 8)
                let ships = try saveFleet(&random)
                try mirror.step()
                let anchored = db.query(Ship.self).where("home IS NOT NULL").orderBy("id")
                var ship = try #require(try mirror.query(anchored).first())
                #expect(ship.id == ships.first { !$0.home.isEmpty }?.id)
                #expect(throws: MakoError.foreignObject(entity: "Ship")) { try ship.commit() }
                #expect(throws: MakoError.foreignObject(entity: "Ship")) { try db.save(&ship) }
                #expect(throws: MakoError.foreignObject(entity: "Ship")) { try ship.remove() }
                #expect(throws: MakoError.foreignObject(entity: "Harbour")) { try ship.home.load() }
            }

            @Test func datesAreThoseOfTheMirror() throws {
                var random = SplitMix(seed: 9)
                var ship = Fleet.ship([], &random)
                ship.built = Date(timeIntervalSinceReferenceDate: 1.000_000_4)
                ship.scrapped = Date(timeIntervalSinceReferenceDate: .infinity)
                try db.save(ship)
                try mirror.step()
                let found = try #require(try mirror.query(db.query(Ship.self)).first())
                #expect(found.built.timeIntervalSinceReferenceDate == 1)
                #expect(found.scrapped?.timeIntervalSinceReferenceDate == .infinity)
            }

            // MARK: - Refusals

            private func refuses(
                _ part: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
            ) {
                #expect("\(part)", sourceLocation: sourceLocation) {
                    try body()
                } throws: { error in
                    if case MirrorQueryError.mirror(.query(let reason)) = error { reason.contains(part) } else { false }
                }
            }

            @Test func whatNeedsTheDatabaseIsRefused() throws {
                try db.save(Fleet.Voyage(name: "a", start: Port(code: "HAM", piers: 1)))
                try mirror.step()
                let ships = db.query(Ship.self)
                refuses("refer to others") { _ = try mirror.query(ships.referencing(.null)).count() }
                refuses("Voyage.start") { _ = try mirror.query(db.query(Fleet.Voyage.self)).fetch() }
                refuses("GLOB") { _ = try mirror.query(ships.where("name GLOB 'a*'")).count() }
                // A path over the same reference, and a query of objects that makes none, have a form.
                #expect(try mirror.query(db.query(Fleet.Voyage.self).where(\.start.piers == 1)).count() == 1)
                #expect(try mirror.query(db.query(Harbour.self).where(\.depth > 3)).exists() == false)
            }

            @Test func mistakesAreThoseOfTheDatabase() throws {
                try mirror.step()
                for query in [
                    db.query(Ship.self).where("nothing = 1"), db.query(Ship.self).limit(-1),
                    db.query(Ship.self).orderBy("nothing"),
                ] {
                    var wanted: MakoError?
                    do throws(MakoError) { _ = try query.count() } catch { wanted = error }
                    let error = try #require(wanted)
                    #expect(throws: MirrorQueryError.database(error)) { try mirror.query(query).count() }
                }
            }

            @Test func tablesThatChangedSinceTheStepAreRefused() throws {
                try mirror.step()
                let ports = db.query(Port.self)
                // The table is made with the first use of its type.
                #expect(throws: MirrorQueryError.mirror(.outdated(table: "Port"))) { try mirror.query(ports).count() }
                try mirror.step()
                #expect(try mirror.query(ports).count() == 0)
            }

            @Test func queriesOfAnotherDatabaseAreRefused() throws {
                try mirror.step()
                let other = try Database.inMemory(entities: [Ship.self])
                #expect(throws: MirrorQueryError.otherDatabase(entity: "Ship")) {
                    try mirror.query(other.query(Ship.self)).count()
                }
                // Of no database: the default one.
                #expect(try Database.withDefault(db) { try mirror.query(Ship.query()).count() } == 0)
            }
        }
    }
#endif
