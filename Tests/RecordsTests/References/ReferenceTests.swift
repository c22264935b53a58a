import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// References in statements: no key is stored that leads to no row, and rows are deleted by the delete rules of the file.
@Suite struct ReferenceTests {
    private let session: StatementSession

    init() throws {
        session = try StatementSession(
            "CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE Dog (id INTEGER PRIMARY KEY, name TEXT, owner INTEGER REFERENCES Owner, mother INTEGER REFERENCES Dog)",
            "INSERT INTO Owner VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Cy')",
            "INSERT INTO Dog VALUES (1, 'Rex', 2, NULL), (2, 'Fly', 2, 1), (3, 'Joe', 3, 2)")
    }

    private func setRule(
        _ rule: ReferenceRule?, isOwned: Bool = false, on table: String = "Dog", _ column: String, _ target: String
    )
        throws
    {
        try session.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = catalogue.rules
            if let rule {
                rules.set(.init(rule, isOwned: isOwned), table: table, column: column, target: target)
            } else {
                rules.remove(table: table, column: column, target: target)
            }
            _ = try catalogue.adopting(rules, in: tx)
        }
    }

    private func ids(_ table: String) throws -> [Int64] {
        try session.rows("SELECT id FROM \(table) ORDER BY id").compactMap {
            if case .integer(let id) = $0[0] { id } else { nil }
        }
    }

    private func owners() throws -> [Value] { try session.rows("SELECT owner FROM Dog ORDER BY id").map { $0[0] } }

    private var dangling: [DanglingReferences] {
        get throws { try Catalogue.verify(session.store).danglingReferences }
    }

    /// Runs a statement without regard to references.
    private func force(_ text: String) throws {
        var changes = ChangeSet()
        let statement = try Statement.parse(text)
        _ = try session.store.write { tx in
            try statement.run(
                try Catalogue.load(view: tx.view), in: tx, changes: &changes, ignoringReferences: true)
        }
    }

    // MARK: Without rules

    @Test func aReferencedRowIsNotDeletedWithoutARule() throws {
        let refusal = session.refusal("DELETE FROM Owner WHERE id = 2")
        #expect(
            refusal.contains("Owner") && refusal.contains("Dog.owner of 2 rows") && refusal.contains("no delete rule"))
        #expect(!session.refusal("DELETE FROM Owner").isEmpty)
        #expect(try ids("Owner") == [1, 2, 3])
        #expect(try session.run("DELETE FROM Owner WHERE id = 1").changed == 1)
        try session.run("UPDATE Dog SET owner = NULL WHERE owner = 2")
        #expect(try session.run("DELETE FROM Owner WHERE id = 2").changed == 1)
        #expect(try dangling.isEmpty)
    }

    @Test func rowsMayGoTogetherWithThoseThatReferToThem() throws {
        #expect(!session.refusal("DELETE FROM Dog WHERE id = 1").isEmpty)
        #expect(try session.run("DELETE FROM Dog WHERE id < 4").changed == 3)
        #expect(try session.run("DELETE FROM Owner").changed == 3)
    }

    @Test func keysThatLeadNowhereAreRefused() throws {
        #expect(
            session.refusal("INSERT INTO Dog (name, owner) VALUES ('x', 9)").contains("Owner has no row with that key"))
        #expect(
            session.refusal("INSERT INTO Dog (name, owner) VALUES ('x', 1), ('y', 9)").contains("Dog.owner cannot be 9")
        )
        #expect(session.refusal("INSERT INTO Dog (name, owner) SELECT name, 9 FROM Owner").contains("cannot be 9"))
        #expect(session.refusal("INSERT OR IGNORE INTO Dog (name, owner) VALUES ('x', 9)").contains("cannot be 9"))
        #expect(session.refusal("UPDATE Dog SET owner = 9 WHERE id = 1").contains("cannot be 9"))
        #expect(session.refusal("UPDATE Dog SET owner = id * 4").contains("cannot be 4"))
        #expect(try ids("Dog") == [1, 2, 3])
        #expect(try owners() == [.integer(2), .integer(2), .integer(3)])
        try session.run("INSERT INTO Dog (name, owner) VALUES ('x', NULL)")
    }

    @Test func aRowMayReferToItselfAndToLaterRowsOfTheStatement() throws {
        try session.run("INSERT INTO Dog (id, name, mother) VALUES (7, 'self', 7)")
        try session.run("INSERT INTO Dog (id, name, mother) VALUES (8, 'a', 9), (9, 'b', 8)")
        #expect(!session.refusal("INSERT INTO Dog (id, name, mother) VALUES (10, 'c', 11)").isEmpty)
        // A row that is left out needs nothing.
        try session.run("INSERT OR IGNORE INTO Dog (id, name, mother) VALUES (9, 'b', 99)")
        #expect(try dangling.isEmpty)
        #expect(try session.faults().isEmpty)
    }

    /// A row that is left out takes only its own references with it.
    @Test func rowsThatAreLeftOutLeaveTheReferencesOfOthers() throws {
        try session.run(
            """
            CREATE TABLE Node (
                id INTEGER PRIMARY KEY, parent INTEGER REFERENCES Node, o INTEGER REFERENCES Owner, u TEXT UNIQUE)
            """)
        for clause in ["INSERT OR IGNORE INTO Node (id, parent, u)", "INSERT INTO Node (id, parent, u)"] {
            let end = clause.contains("IGNORE") ? "" : " ON CONFLICT (u) DO NOTHING"
            #expect(session.refusal("\(clause) VALUES (1, 2, 'a'), (2, 2, 'a')\(end)").contains("parent cannot be 2"))
        }
        #expect(try ids("Node").isEmpty)
        // Neither do they need anything.
        try session.run("INSERT INTO Node (id, u) VALUES (5, 'a')")
        try session.run("INSERT OR IGNORE INTO Node (id, parent, o, u) VALUES (1, 1, 1, 'b'), (2, 2, 99, 'a')")
        #expect(try ids("Node") == [1, 5])
        #expect(try dangling.isEmpty)
    }

    @Test func defaultsAreReferencesToo() throws {
        try session.run(
            "CREATE TABLE Pet (id INTEGER PRIMARY KEY, name TEXT UNIQUE, owner INTEGER DEFAULT 7 REFERENCES Owner)")
        for text in [
            "INSERT INTO Pet (name) VALUES ('x')", "INSERT INTO Pet DEFAULT VALUES",
            "INSERT INTO Pet (name) SELECT name FROM Owner", "INSERT INTO Pet (name) VALUES (?1)",
        ] {
            let refusal = session.refusal(text, text.contains("?1") ? [.text("x")] : [])
            #expect(refusal.contains("owner cannot be 7"), "\(text)")
        }
        try session.run("INSERT INTO Pet (name, owner) VALUES ('x', 1)")
        try session.run("INSERT OR IGNORE INTO Pet (name) VALUES ('x')")
        try session.run("UPDATE Pet SET name = 'y'")
        try session.run("INSERT INTO Owner VALUES (7, 'Di')")
        try session.run("INSERT INTO Pet (name) VALUES ('z')")
        #expect(try session.rows("SELECT owner FROM Pet ORDER BY id") == [[.integer(1)], [.integer(7)]])
        #expect(try dangling.isEmpty)
    }

    @Test func aReferenceToATableThatIsNotThereIsNamed() throws {
        try session.run("CREATE TABLE Toy (dog INTEGER REFERENCES Dogg)")
        #expect(
            session.refusal("INSERT INTO Toy (dog) VALUES (1)").contains("there is no table Dogg; did you mean Dog?"))
        try session.run("INSERT INTO Toy (dog) VALUES (NULL)")
    }

    @Test func tablesThatOthersReferToAreNotDropped() throws {
        #expect(session.refusal("DROP TABLE Owner").contains("Dog.owner"))
        try session.run("UPDATE Dog SET owner = NULL")
        try session.run("DROP TABLE Owner")
        // Its own references hold no table back.
        try session.run("DROP TABLE Dog")
    }

    @Test func referencesCanBeIgnoredAndAreCounted() throws {
        try force("DELETE FROM Owner WHERE id = 2")
        try force("INSERT INTO Dog (id, name, owner, mother) VALUES (4, 'x', 1, 77)")
        #expect(
            try dangling == [
                DanglingReferences(table: "Dog", column: "owner", count: 2, row: .rowID(1)),
                DanglingReferences(table: "Dog", column: "mother", count: 1, row: .rowID(4)),
            ])
        #expect(try Catalogue.verify(session.store).isClean)
    }

    // MARK: With rules

    @Test func nullifyCascadeAndDenyHoldForStatements() throws {
        try setRule(.nullify, "owner", "Owner")
        #expect(try session.run("DELETE FROM Owner WHERE id = 3").changed == 1)
        #expect(try owners() == [.integer(2), .integer(2), .null])
        try setRule(.deny, "owner", "Owner")
        #expect(session.refusal("DELETE FROM Owner WHERE id = 2").contains("its delete rule is deny"))
        try setRule(.cascade, "owner", "Owner")
        try setRule(.nullify, "mother", "Dog")
        #expect(try session.run("DELETE FROM Owner").changed == 2)
        #expect(try ids("Dog") == [3])
        #expect(try session.rows("SELECT mother FROM Dog") == [[.null]])
        #expect(try dangling.isEmpty)
        #expect(try session.faults().isEmpty)
    }

    @Test func aCascadeFollowsCirclesAndLongChains() async throws {
        try setRule(.cascade, "mother", "Dog")
        try session.run("UPDATE Dog SET mother = 3 WHERE id = 1")
        #expect(try session.run("DELETE FROM Dog WHERE id = 2").changed == 1)
        #expect(try ids("Dog").isEmpty)
        try session.run("CREATE INDEX mothers ON Dog (mother)")
        let rows = (1...20_000).map { "(\($0), 'd', \($0 == 1 ? "NULL" : "\($0 - 1)"))" }
        try session.run("INSERT INTO Dog (id, name, mother) VALUES \(rows.joined(separator: ", "))")
        // Depth costs no stack.
        let store = session.store
        try await onSmallStack {
            var changes = ChangeSet()
            _ = try store.write { tx in
                try Statement.parse("DELETE FROM Dog WHERE id = 1").run(
                    try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
        }
        #expect(try ids("Dog").isEmpty)
    }

    @Test func ownedRowsGoWithTheirLastOwner() throws {
        try session.run("CREATE TABLE Tag (id INTEGER PRIMARY KEY, dog INTEGER REFERENCES Dog)")
        try setRule(.nullify, isOwned: true, on: "Tag", "dog", "Dog")
        try setRule(.nullify, "mother", "Dog")
        try session.run("INSERT INTO Tag VALUES (1, 1), (2, 1), (3, 2), (4, 3)")
        try session.run("DELETE FROM Tag WHERE id = 1")
        #expect(try ids("Dog") == [1, 2, 3])
        try session.run("DELETE FROM Tag WHERE id = 2")
        #expect(try ids("Dog") == [2, 3])
        try session.run("UPDATE Tag SET dog = NULL WHERE id = 3")
        #expect(try ids("Dog") == [3])
        try session.run("INSERT OR REPLACE INTO Tag VALUES (4, NULL)")
        #expect(try ids("Dog").isEmpty)
    }

    @Test func aReplacedRowStaysReferredToAndOthersGoByTheRules() throws {
        try session.run("CREATE UNIQUE INDEX names ON Owner (name)")
        try session.run("INSERT OR REPLACE INTO Owner VALUES (2, 'Bea')")
        #expect(try owners() == [.integer(2), .integer(2), .integer(3)])
        #expect(session.refusal("INSERT OR REPLACE INTO Owner VALUES (4, 'Bea')").contains("Dog.owner"))
        try setRule(.nullify, "owner", "Owner")
        try session.run("INSERT OR REPLACE INTO Owner VALUES (4, 'Bea')")
        #expect(try owners() == [.null, .null, .integer(3)])
        #expect(try ids("Owner") == [1, 3, 4])
    }

    @Test func aReplacingRowDoesNotReferToARowThatItReplaces() throws {
        try session.run("CREATE TABLE Node (id INTEGER PRIMARY KEY, name TEXT UNIQUE, parent INTEGER REFERENCES Node)")
        try session.run("INSERT INTO Node VALUES (1, 'a', NULL), (2, 'b', 1), (3, 'c', 3)")
        let refusal = session.refusal("INSERT OR REPLACE INTO Node VALUES (4, 'a', 1)")
        #expect(refusal.contains("Node.parent"), "\(refusal)")
        try setRule(.nullify, on: "Node", "parent", "Node")
        #expect(!session.refusal("INSERT OR REPLACE INTO Node VALUES (4, 'a', 1)").isEmpty)
        #expect(!session.refusal("INSERT OR REPLACE INTO Node VALUES (5, 'd', 2), (6, 'b', 2)").isEmpty)
        #expect(try ids("Node") == [1, 2, 3])
        // A row that takes the key of the one replaced may refer to itself, and to a row further on.
        try session.run("INSERT OR REPLACE INTO Node VALUES (3, 'c', 3), (7, 'a', 8), (8, 'e', 7)")
        #expect(try ids("Node") == [2, 3, 7, 8])
        #expect(
            try session.rows("SELECT parent FROM Node ORDER BY id").map { $0[0] } == [
                .null, .integer(3), .integer(8), .integer(7),
            ])
        #expect(try dangling.isEmpty)
    }

    @Test func aFailedStatementTakesItsDeletionsBack() throws {
        try setRule(.cascade, "owner", "Owner")
        try setRule(.deny, "mother", "Dog")
        #expect(!session.refusal("DELETE FROM Owner").isEmpty)
        #expect(try ids("Owner") == [1, 2, 3] && ids("Dog") == [1, 2, 3])
        #expect(try session.faults().isEmpty)
    }

    // MARK: Stored values

    @Test func rulesOfOtherTablesStayWhenOneIsDropped() throws {
        try setRule(.deny, "mother", "Dog")
        try session.run("CREATE TABLE Tag (id INTEGER PRIMARY KEY, dog INTEGER REFERENCES Dog)")
        try setRule(.cascade, on: "Tag", "dog", "Dog")
        try session.run("DROP TABLE Tag")
        try session.run("CREATE TABLE Tag (id INTEGER PRIMARY KEY, dog INTEGER REFERENCES Dog)")
        try session.store.read { view in
            let catalogue = try Catalogue.load(view: view)
            #expect(catalogue.deleteRules(of: "dog", in: try catalogue.requireTable("Tag").schema) == "")
            #expect(catalogue.deleteRules(of: "mother", in: try catalogue.requireTable("Dog").schema) == "deny")
        }
    }

    // MARK: Targets in another case

    private static let later = (
        referring: "CREATE TABLE Lot (id INTEGER PRIMARY KEY, holder INTEGER REFERENCES HOLDER)",
        referred: "CREATE TABLE Holder (id INTEGER PRIMARY KEY, name TEXT)"
    )

    private static func later(
        _ disk: SimulatedDisk, isForward: Bool = true
    ) throws -> StatementSession {
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = disk
        let session = StatementSession(store: try Store(at: "later", options: options))
        try session.run(isForward ? later.referring : later.referred)
        try session.store.close()
        let again = StatementSession(store: try Store(at: "later", options: options))
        try again.run(isForward ? later.referred : later.referring)
        return again
    }

    @Test(arguments: [false, true]) func aReferenceInAnotherCaseLeadsToTheTable(isForward: Bool) throws {
        let session = try Self.later(SimulatedDisk(seed: 32), isForward: isForward)
        for _ in 0..<2 {
            try session.run("INSERT INTO Holder VALUES (1, 'Ada')")
            try session.run("INSERT INTO Lot VALUES (1, 1)")
            #expect(session.refusal("INSERT INTO Lot VALUES (2, 9)").contains("Holder has no row with that key"))
            #expect(session.refusal("DELETE FROM Holder").contains("Lot.holder of 1 row refers to it"))
            #expect(session.refusal("DROP TABLE Holder").contains("Lot.holder of 1 row refers to it"))
            #expect(try Catalogue.verify(session.store).danglingReferences.isEmpty)
            #expect(try session.rows("SELECT holder.name FROM Lot") == [[.text("Ada")]])
            try session.run("DELETE FROM Lot")
            try session.run("DELETE FROM Holder")
        }
        // A table that goes and comes back in a third case has its references, too.
        try session.run("DROP TABLE Holder")
        try session.run("CREATE TABLE hOLDER (id INTEGER PRIMARY KEY)")
        #expect(session.refusal("INSERT INTO Lot VALUES (2, 9)").contains("hOLDER has no row with that key"))
        try session.store.close()
    }

    @Test func danglingReferencesInAnotherCaseAreCountedAndNothingIsStored() throws {
        let session = try Self.later(SimulatedDisk(seed: 33))
        try session.run("INSERT INTO Holder VALUES (1, 'Ada')")
        var changes = ChangeSet()
        try session.store.write { tx in
            _ = try Statement.parse("INSERT INTO Lot VALUES (1, 1), (2, 8), (3, 9)").run(
                try Catalogue.load(view: tx.view), in: tx, changes: &changes, ignoringReferences: true)
        }
        let dangling = try Catalogue.verify(session.store).danglingReferences
        #expect(dangling.map(\.count) == [2] && dangling.map(\.column) == ["holder"])
        try session.store.read { view in
            let stored = try StoredCatalogue.entries(in: view).filter { $0.name == "Lot" }
            let record = try TableRecord(name: "Lot", bytes: try #require(stored.first).bytes)
            #expect(record.columns.map(\.target) == ["HOLDER"])
        }
        try session.store.close()
    }

    /// An exact name comes first; between two tables that differ in case alone nothing is guessed.
    @Test func aTargetInAnotherCaseIsThatOfOneTable() throws {
        func targets(_ names: String...) throws -> [String?] {
            let session = try StatementSession(Self.later.referring)
            try session.store.write { tx in
                for name in names { _ = try Catalogue.migrate(to: EntitySchema(name: name, columns: []), in: tx) }
            }
            return try session.store.read { view in
                let table = try Catalogue.load(view: view).requireTable("Lot")
                #expect(table.schema.liveColumns.map(\.target) == table.columns.map(\.target))
                return table.columns.map(\.target)
            }
        }
        #expect(try targets("Holder") == ["Holder"])
        #expect(try targets("Holder", "holder") == ["HOLDER"])
        #expect(try targets("Holder", "HOLDER") == ["HOLDER"])
        #expect(try targets("Holders") == ["HOLDER"])
    }

    @Test func rulesFollowATargetInAnotherCase() throws {
        let session = try StatementSession("CREATE TABLE HOLDER (id INTEGER PRIMARY KEY)", Self.later.referring)
        try session.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = catalogue.rules
            rules.set(.init(.cascade, isOwned: false), table: "Lot", column: "holder", target: "HOLDER")
            _ = try catalogue.adopting(rules, in: tx)
        }
        try session.run("DROP TABLE HOLDER")
        try session.run("CREATE TABLE Holder (id INTEGER PRIMARY KEY)")
        try session.run("INSERT INTO Holder VALUES (1)")
        try session.run("INSERT INTO Lot VALUES (1, 1)")
        try session.run("DELETE FROM Holder")
        #expect(try session.rows("SELECT id FROM Lot").isEmpty)
    }

    @Test func damagedRulesAreAnErrorAndNoTrap() throws {
        try setRule(.deny, isOwned: true, "mother", "Dog")
        let stored = try session.store.read { view in
            try view.get([0, 3], in: try #require(view.tree(named: "mako.catalogue")))
        }
        let bytes = try #require(stored)
        for place in bytes.indices {
            for bit in 0..<8 {
                var broken = bytes
                broken[place] ^= 1 << UInt8(bit)
                try? session.store.write { tx in
                    try tx.put(broken, for: [0, 3], in: try #require(tx.view.tree(named: "mako.catalogue")))
                    _ = try? Catalogue.load(view: tx.view)
                    throw RecordError.cancelled
                }
            }
        }
        #expect(!session.refusal("DELETE FROM Dog WHERE id = 1").isEmpty)
    }
}
