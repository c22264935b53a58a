import Foundation
import MakoCommand
import MakoStorage
import Testing

/// Runs the built program, as a user does.
@Suite struct ProgramTests {
    private let program: BuiltProgram
    private var folder: String { program.folder }

    init() throws {
        program = try BuiltProgram()
        try program.write("id,name,age\n1,Ada,36\n2,Bob,\n3,Cleo,51\n", to: "people.csv")
    }

    private func mako(
        _ arguments: String..., input: String = "", passphrase: String? = nil
    ) throws -> BuiltProgram.Outcome {
        try program.run(
            arguments, input: input, environment: passphrase.map { ["MAKO_PASSPHRASE": $0] } ?? [:])
    }

    @Test func referencesHoldUnlessTheyAreIgnored() throws {
        let script = """
            CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE Dog (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES Owner);
            INSERT INTO Owner VALUES (1, 'Ada'), (2, 'Bob');
            INSERT INTO Dog VALUES (1, 2), (2, 2);
            """
        #expect(try mako("shell", "dogs.mako", input: script).status == 0)
        let refused = try mako("query", "dogs.mako", "DELETE FROM Owner")
        #expect(refused.status == 65 && refused.errors.contains("Dog.owner of 2 rows"))
        #expect(refused.errors.contains("or pass --ignore-references"))
        let dangling = try mako("query", "dogs.mako", "INSERT INTO Dog (owner) VALUES (7)")
        #expect(dangling.status == 65 && dangling.errors.contains("Owner has no row with that key"))
        #expect(try mako("check", "dogs.mako").status == 0)
        // A dump brings in tables before those that they refer to.
        let dump = try mako("dump", "dogs.mako").output
        #expect(dump.contains("PRAGMA foreign_keys = OFF;\n"))
        #expect(try mako("shell", "copy.mako", input: dump).status == 0)
        #expect(try mako("query", "copy.mako", "SELECT count(*) FROM Dog", "-f", "csv").output == "count(*)\n2\n")
        #expect(
            try mako("query", "dogs.mako", "DELETE FROM Owner", "--ignore-references").output == "2 rows changed\n")
        let checked = try mako("check", "dogs.mako")
        #expect(checked.status == 1 && checked.errors.contains("2 references lead to rows that are not there"))
        #expect(checked.output.contains("Dog.owner refers to rows that are not there, 2 times"))
        #expect(try mako("info", "dogs.mako", "Dog", "-f", "csv").output.contains("refers to,delete rule,indexes"))
    }

    @Test func aViewOfADroppedTableIsACommentInTheDump() throws {
        let script = """
            CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE Dog (id INTEGER PRIMARY KEY, owner INTEGER);
            CREATE VIEW owners AS SELECT name\r
            FROM Owner\r
            WHERE id > 0;
            CREATE VIEW dogs AS SELECT owner FROM Dog;
            DROP TABLE Owner;
            """
        #expect(try mako("shell", "dogs.mako", input: script).status == 0)
        let dump = try mako("dump", "dogs.mako")
        #expect(dump.status == 0 && dump.errors.contains("The view owners cannot be read"))
        #expect(dump.output.contains("\n-- CREATE VIEW owners AS SELECT name"))
        #expect(try mako("shell", "copy.mako", input: dump.output).status == 0)
        #expect(try mako("query", "copy.mako", "SELECT count(*) FROM dogs", "-f", "csv").output == "count(*)\n0\n")
    }

    @Test func anImportStoresNoKeyThatLeadsNowhere() throws {
        let script = """
            CREATE TABLE Town (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE Visit (id INTEGER PRIMARY KEY, town INTEGER REFERENCES Town);
            INSERT INTO Town VALUES (1, 'Bergen');
            """
        #expect(try mako("shell", "towns.mako", input: script).status == 0)
        try "id,town\n1,1\n2,5\n".write(toFile: folder + "visits.csv", atomically: true, encoding: .utf8)
        let refused = try mako("import", "visits.csv", "towns.mako", "--table", "Visit")
        #expect(refused.status == 65 && refused.errors.contains("Visit.town cannot be 5"))
        #expect(try mako("import", "visits.csv", "towns.mako", "--table", "Visit", "--ignore-references").status == 0)
        #expect(try mako("check", "towns.mako").status == 1)
    }

    /// No delete rule is declared: rows that others refer to must be among the new ones.
    @Test func aReplacedTableKeepsTheRowsThatOthersReferTo() throws {
        let script = """
            CREATE TABLE Town (id INTEGER PRIMARY KEY, name TEXT, twin INTEGER REFERENCES Town);
            CREATE TABLE Visit (id INTEGER PRIMARY KEY, town INTEGER REFERENCES Town);
            INSERT INTO Town VALUES (1, 'Bergen', 3), (2, 'Oslo', NULL), (3, 'Moss', 2);
            INSERT INTO Visit VALUES (1, 1), (2, 1);
            """
        #expect(try mako("shell", "towns.mako", input: script).status == 0)
        func replace(_ table: String, _ content: String, _ options: [String] = []) throws -> BuiltProgram.Outcome {
            try content.write(toFile: folder + "new.csv", atomically: true, encoding: .utf8)
            return try program.run(
                ["import", "new.csv", "towns.mako", "--table", table, "--replace"] + options, input: "")
        }
        func towns() throws -> String {
            try mako("query", "towns.mako", "SELECT id FROM Town ORDER BY id", "-f", "csv").output
        }
        // The row that is referred to is not there any more, or its key is not known.
        for content in ["id,name,twin\n2,Oslo,\n", "name\nOslo\nMoss\n", "code,name\nb,Bergen\n"] {
            let refused = try replace("Town", content)
            #expect(refused.status == 65 && refused.errors.contains("Visit.town of 2 rows"), "\(refused)")
            #expect(refused.errors.contains("or pass --ignore-references"))
            #expect(try towns() == "id\n1\n2\n3\n")
        }
        // Rows that nothing refers to may go; what the new ones refer to is looked up.
        let dangling = try replace("Town", "id,name,twin\n1,Bergen,3\n")
        #expect(dangling.status == 65 && dangling.errors.contains("Town.twin cannot be 3"), "\(dangling)")
        #expect(try replace("Town", "id,name,twin\n1,Bergen,5\n5,Voss,\n").status == 0)
        #expect(try towns() == "id\n1\n5\n")
        #expect(try mako("check", "towns.mako").status == 0)
        // The reference of the replaced table is still one.
        let visits = try replace("Visit", "id,town\n1,7\n")
        #expect(visits.status == 65 && visits.errors.contains("Visit.town cannot be 7"), "\(visits)")
        #expect(try replace("Visit", "id,town\n1,5\n").status == 0)
        #expect(try mako("query", "towns.mako", "DELETE FROM Town WHERE id = 5").status == 65)
        #expect(try replace("Town", "id,name\n9,Oslo\n", ["--ignore-references"]).status == 0)
        #expect(try mako("check", "towns.mako").errors.contains("1 reference"))
    }

    @Test func fromACSVFileToAnswersAndBack() throws {
        let imported = try mako("import", "people.csv", "people.mako", "--index", "age")
        #expect(imported.status == 0 && imported.errors.isEmpty)
        #expect(imported.output.hasPrefix("3 rows imported into the new table people of people.mako"))
        #expect(imported.output.contains("Columns: id integer, name text, age integer?"))

        let queried = try mako(
            "query", "people.mako", "SELECT name FROM people WHERE age > ? ORDER BY name DESC", "--param", "30", "-f",
            "csv")
        #expect(queried.output == "name\nCleo\nAda\n")
        let named = try mako(
            "query", "people.mako", "SELECT name FROM people WHERE age > :least ORDER BY name LIMIT :n", "--param",
            "least=30",
            "--param", "n=1", "-f", "csv")
        #expect(named.output == "name\nAda\n")
        // No name of the statement's: a text like any other.
        let text = try mako(
            "query", "people.mako", "SELECT count(*) AS n FROM people WHERE name <> ?", "--param", "name=Ada", "-f",
            "csv")
        #expect(text.output == "n\n3\n")
        #expect(
            try mako("explain", "people.mako", "SELECT name FROM people WHERE age = 36").output.contains("people_age"))
        let measured = try mako(
            "explain", "people.mako", "SELECT name FROM people WHERE age > ?", "-p", "1", "--analyze")
        #expect(measured.output.contains(" 2 passed, ") && measured.output.contains("2 rows in "))
        let asJSON = try mako("explain", "people.mako", "SELECT name FROM people WHERE age = 36", "--json", "--analyze")
        let read = try JSONSerialization.jsonObject(with: Data(asJSON.output.utf8)) as? [String: Any]
        let plan = try #require(read?["plan"] as? [String: Any])
        #expect(plan["operator"] as? String == "indexScan" && plan["index"] as? String == "people_age")
        #expect(read?["rows"] as? Int == 1)
        #expect(try mako("check", "people.mako").output.hasPrefix("people.mako is whole: 1 table, 3 rows"))
        #expect(
            try mako("info", "people.mako", "-f", "csv").output == "table,rows,key,columns,indexes\npeople,3,id,2,1\n")

        let exported = try mako("export", "people.mako", "people", "--output", "out.csv", "--where", "age IS NOT NULL")
        #expect(exported.errors == "2 rows written to out.csv\n")
        #expect(try String(contentsOfFile: folder + "out.csv", encoding: .utf8) == "id,name,age\n1,Ada,36\n3,Cleo,51\n")
        #expect(try mako("dump", "people.mako").output.contains("INSERT INTO people VALUES (2, 'Bob', NULL);\n"))
    }

    /// Another process, this one, has the database open for writing.
    @Test func whatOnlyReadsWorksBesideAWriter() throws {
        #expect(try mako("import", "people.csv", "people.mako").status == 0)
        let store = try Store(at: folder + "people.mako")
        defer { try? store.close() }
        try store.write { _ = try $0.createTree(named: "more", keys: .integer) }
        #expect(try mako("check", "people.mako").output.hasPrefix("people.mako is whole: 1 table, 3 rows"))
        #expect(try mako("info", "people.mako").status == 0)
        #expect(try mako("query", "people.mako", "SELECT count(*) FROM people", "-f", "csv").output.hasSuffix("3\n"))
        #expect(try mako("export", "people.mako", "people").output.contains("Ada"))
        #expect(try mako("backup", "people.mako", "copy.mako").status == 0)
        let refused = try mako("import", "people.csv", "people.mako", "--table", "again")
        #expect(refused.status == 75 && refused.errors.contains("in use elsewhere"), "\(refused)")
        try store.write { _ = try $0.createTree(named: "still more", keys: .integer) }
        #expect(try store.verify().isClean)
    }

    @Test func pagesAndTheLogCanBeLookedAt() throws {
        #expect(try mako("import", "people.csv", "people.mako").status == 0)
        let header = try mako("page", "people.mako", "0")
        #expect(header.status == 0 && header.output.contains("  use       header block, copy 0\n"))
        #expect(header.output.contains("generation: "))
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "people.mako")))
        let leaf = try #require((9..<bytes.count / 4096).last { bytes[$0 * 4096 + 13] == 1 })
        let page = try mako("page", "people.mako", "\(leaf)", "--hex")
        #expect(page.status == 0 && page.output.contains("integerLeaf, level 0"))
        let labels = page.output.matches(of: /\n  (?:type|write id|use|tree|path) +/)
        #expect(labels.count == 5 && Set(labels.map(\.output.count)) == [13], "\(page.output)")
        #expect(page.output.contains("0ff0  "))
        #expect(try mako("page", "people.mako", "99999").errors.contains("beyond the end"))
        #expect(try mako("page", "nothing.mako", "0").status == 66)
        #expect(try mako("log", "nothing.mako").status == 66)
        #expect(try mako("log", ".").status == 66)
        #expect(try mako("log", "people.mako").output == "0 segments, 0 frames\n")
        try damage([leaf])
        let damaged = try mako("page", "people.mako", "\(leaf)")
        #expect(damaged.status == 1 && damaged.output.contains("  damage    its checksum does not match its bytes"))

        let store = try Store(at: folder + "open.mako")
        defer { try? store.close() }
        let tree = try store.write { try $0.createTree(named: "words", keys: .bytes) }
        try store.write { try $0.put(Array("green".utf8), for: Array("leaf".utf8), in: tree) }
        let log = try mako("log", "open.mako", "--operations")
        #expect(log.status == 0 && log.output.contains("create tree 1, 'words'\n"))
        #expect(log.output.contains("put 'leaf' in tree 1, 5 bytes\n"))
        #expect(log.output.hasSuffix("1 segment, 2 frames\n"))
    }

    @Test func numbersForOperatorsAreJSON() throws {
        #expect(try mako("import", "people.csv", "people.mako").status == 0)
        let outcome = try mako("info", "people.mako", "--stats", "--json")
        #expect(outcome.status == 0)
        let stats = try JSONDecoder().decode(StoreStats.self, from: Data(outcome.output.utf8))
        #expect(stats.pageBytes == 4096 && stats.livePages > 9 && stats.recovery.findings.isEmpty)
        #expect(try mako("info", "people.mako", "--stats").output.contains("livePages  "))
        #expect(try mako("info", "people.mako", "--json").status == 64)
    }

    @Test func standardInputAndTheShellInAPipe() throws {
        let imported = try mako(
            "import", "-", "a.mako", "--table", "T", "-f", "jsonl", input: "{\"a\": 1}\n{\"a\": 2}\n")
        #expect(imported.status == 0)
        let shell = try mako(
            "shell", "a.mako", "--format", "csv", input: ".tables\nselect count(*) from T;\n.quit\nignored\n")
        #expect(shell.output.hasPrefix("table,rows\nT,2\n") && shell.output.hasSuffix("\n2\n"))
        let failing = try mako("shell", "a.mako", input: "select b from T;\n")
        #expect(failing.status == 65 && failing.errors.contains("b"))
    }

    @Test func statementsWrite() throws {
        let made = try mako("import", "-", "a.mako", "--table", "T", "-f", "jsonl", input: "{\"a\": 1}\n{\"a\": 2}\n")
        #expect(made.status == 0)
        let shell = try mako(
            "shell", "a.mako", "--format", "csv",
            input:
                "update T set a = a + 1;\ncreate table U (b text);\ninsert into U (b) values ('x');\nselect a from T order by a;\n"
        )
        #expect(shell.output == "2 rows changed\ndone\n1 row changed\na\n2\n3\n", "\(shell.output) \(shell.errors)")
        #expect(try mako("query", "a.mako", "DELETE FROM T WHERE a = ?", "-p", "3").output == "1 row changed\n")
        #expect(try mako("query", "a.mako", "SELECT count(*) FROM T", "-f", "csv").output == "count(*)\n1\n")
        #expect(try mako("query", "a.mako", "CREATE INDEX i ON T (a) WHERE a > 1").output == "done\n")
        #expect(try mako("query", "a.mako", "PRAGMA table_info(U)", "-f", "csv").output.contains("\n0,b,TEXT,0"))
        #expect(try mako("query", "none.mako", "CREATE TABLE T (a TEXT)").status == 66)
        let reading = try mako("shell", "a.mako", "--read-only", input: "delete from T;\n")
        #expect(reading.status != 0 && reading.errors.contains("read-only"))
        #expect(try mako("query", "a.mako", "UPDATE T SET b = 1").status == 65)
        #expect(try mako("check", "a.mako").status == 0)
    }

    @Test func aBadLineIsNamedAndLeavesNoFileBehind() throws {
        try "a,b\n1,2\n3\n".write(toFile: folder + "bad.csv", atomically: true, encoding: .utf8)
        let outcome = try mako("import", "bad.csv", "bad.mako")
        #expect(outcome.status == 65)
        #expect(outcome.errors == "mako: bad.csv, line 3: expected 2 fields, as in the first line, and found 1\n")
        try "id,b\n1,2\n1,3\n".write(toFile: folder + "bad.csv", atomically: true, encoding: .utf8)
        #expect(try mako("import", "bad.csv", "bad.mako").errors.contains("bad.csv, line 3: "))
        #expect(try !FileManager.default.contentsOfDirectory(atPath: folder).contains { $0.hasPrefix("bad.mako") })
        #expect(
            try mako("import", "-", "b.mako", "-t", "x", "-f", "csv", input: "a\n\"\n").errors.hasPrefix(
                "mako: standard input, line 2"))
    }

    @Test func everyFailureHasItsStatusAndSaysWhatToDo() throws {
        _ = try mako("import", "people.csv", "people.mako")
        let missing = try mako("info", "nothing.mako")
        #expect(missing.status == 66 && missing.errors.contains("there is no file nothing.mako"))
        let noSource = try mako("import", "nothing.csv", "people.mako")
        #expect(noSource.status == 66 && noSource.errors.hasPrefix("mako: nothing.csv: cannot be opened"))
        #expect(try mako("query", "people.mako", "SELECT nme FROM people").status == 65)
        let leftOver = try mako("query", "people.mako", "SELECT name FROM people", "--param", "3")
        #expect(leftOver.status == 65 && leftOver.errors.contains("1 value was given"))
        let unnamed = try mako("query", "people.mako", "SELECT name FROM people WHERE age > :least", "--param", "3")
        #expect(unnamed.status == 65)
        #expect(try mako("query", "people.mako", "SELECT nme FROM people").errors.contains("name"))
        #expect(try mako("query", "people.mako", "SELECT name FROM peple").errors.contains("did you mean people"))
        #expect(try mako("export", "people.mako", "people", "--where", "age >").status == 65)
        #expect(try mako("import", "people.csv", "people.mako", "--format", "xml").status == 64)
        #expect(try mako("import", "people", "people.mako").status == 64)
        #expect(try mako("check", "people.csv").status != 0)
        #expect(try mako("--help").output.contains("import"))
        #expect(try mako("--version").output == MakoVersion.current + "\n")
        let unknown = try mako("inof", "people.mako")
        #expect(
            unknown.status == 64
                && unknown.errors.hasPrefix("mako: inof is neither a command nor a file; the commands are backup, "))
    }

    @Test func exportingNeverHarmsAFileBeforeItIsSureOfItsRows() throws {
        _ = try mako("import", "people.csv", "people.mako")
        try "precious".write(toFile: folder + "kept.csv", atomically: true, encoding: .utf8)
        #expect(try mako("export", "people.mako", "peple", "-o", "kept.csv").status == 65)
        #expect(try mako("export", "people.mako", "people", "-o", "kept.csv", "--where", "agee = 3").status == 65)
        #expect(try String(contentsOfFile: folder + "kept.csv", encoding: .utf8) == "precious")
        let itself = try mako("export", "people.mako", "people", "-o", "./people.mako")
        #expect(itself.status == 64 && itself.errors.contains("is the database itself"))
        #expect(try mako("check", "people.mako").status == 0)
        let existing = try mako("export", "people.mako", "people", "-o", "kept.csv")
        #expect(existing.status == 64 && existing.errors.contains("kept.csv exists already"))
        #expect(try String(contentsOfFile: folder + "kept.csv", encoding: .utf8) == "precious")
        #expect(try mako("export", "people.mako", "people", "-o", "kept.csv", "--overwrite").status == 0)
        #expect(try String(contentsOfFile: folder + "kept.csv", encoding: .utf8).hasPrefix("id,name,age\n"))
    }

    /// The file with bits of some pages turned round.
    private func damage(_ pages: [Int], at offset: Int = 60) throws {
        let url = URL(fileURLWithPath: folder + "people.mako")
        var bytes = [UInt8](try Data(contentsOf: url))
        for page in pages { bytes[page * 4096 + offset] ^= 1 }
        try Data(bytes).write(to: url)
    }

    @Test(arguments: [[0], [1], [2], [3], [4], [5], [2, 3], [4, 5]])
    func aDamagedCopyIsReportedAndRepairedWithoutLoss(pages: [Int]) throws {
        _ = try mako("import", "people.csv", "people.mako")
        try damage(pages)
        let outcome = try mako("check", "people.mako")
        #expect(outcome.status == 1)
        #expect(outcome.output.split(separator: "\n").count == pages.count && outcome.output.contains("copy"))
        #expect(outcome.errors.hasPrefix("mako: people.mako has lost nothing (1 table, 3 rows)"))
        #expect(try mako("query", "people.mako", "SELECT count(*) FROM people", "-f", "csv").output == "count(*)\n3\n")
        // Reading changed nothing; the next change repairs it, as announced.
        #expect(try mako("check", "people.mako").status == 1)
        #expect(try mako("import", "people.csv", "people.mako", "--table", "more").status == 0)
        #expect(try mako("check", "people.mako").output.hasPrefix("people.mako is whole: 2 tables, 6 rows"))
    }

    @Test func irreparableDamageNamesTheFileAndThePage() throws {
        for (pages, page) in [([0, 1], 0), ([2, 3, 4, 5], 2)] {
            try? FileManager.default.removeItem(atPath: folder + "people.mako")
            _ = try mako("import", "people.csv", "people.mako")
            try damage(pages)
            for verb in [["check", "people.mako"], ["query", "people.mako", "SELECT * FROM people"]] {
                let outcome = try verb.count == 2 ? mako(verb[0], verb[1]) : mako(verb[0], verb[1], verb[2])
                #expect(outcome.status == 1)
                #expect(outcome.errors.hasPrefix("mako: people.mako is damaged: page \(page): "))
            }
        }
    }

    @Test func whatIsNoDatabaseIsNamedForWhatItIs() throws {
        try FileManager.default.createDirectory(atPath: folder + "folder", withIntermediateDirectories: true)
        try "".write(toFile: folder + "empty.mako", atomically: true, encoding: .utf8)
        #expect(try mako("check", "people.csv").errors.contains("people.csv is not a Mako database"))
        #expect(try mako("check", "folder").errors.contains("folder is not a Mako database: it is a directory"))
        #expect(try mako("check", "empty.mako").errors.contains("it is empty"))
        for name in ["people.csv", "folder", "empty.mako"] { #expect(try mako("check", name).status == 65) }
        // An empty file is a new database for a command that writes.
        #expect(try mako("import", "people.csv", "empty.mako").status == 0)
        #expect(try mako("import", "people.csv", "no/such/x.mako").errors.contains("its directory does not exist"))
        #expect(try mako("import", "people.csv", "no/such/x.mako").status == 74)
    }

    @Test func aBackupIsADatabaseAndIsNeverWrittenOver() throws {
        _ = try mako("import", "people.csv", "people.mako")
        for extra in [[], ["--compact"]] {
            let outcome =
                try extra.isEmpty
                ? mako("backup", "people.mako", "copy.mako") : mako("backup", "people.mako", "small.mako", extra[0])
            #expect(outcome.status == 0)
            #expect(outcome.output.contains(" of people.mako, "))
        }
        for copy in ["copy.mako", "small.mako"] {
            #expect(try mako("check", copy).output.hasPrefix("\(copy) is whole: 1 table, 3 rows"))
        }
        let again = try mako("backup", "people.mako", "copy.mako")
        #expect(again.status != 0 && again.errors.contains("copy.mako exists already"))
        #expect(try mako("backup", "nothing.mako", "new.mako").status == 66)
    }

    @Test func incrementalBackupsArePutTogether() throws {
        _ = try mako("import", "people.csv", "people.mako")
        #expect(try mako("backup", "people.mako", "sunday.mako").status == 0)
        _ = try mako("import", "people.csv", "people.mako", "--table", "more")
        #expect(try mako("backup", "people.mako", "monday.part", "--since", "sunday.mako").status == 0)
        let restored = try mako("restore", "sunday.mako", "monday.part", "--to", "new.mako")
        #expect(restored.status == 0 && restored.output.hasPrefix("new.mako holds commit "), "\(restored)")
        #expect(try mako("check", "new.mako").output.hasPrefix("new.mako is whole: 2 tables, 6 rows"))
        let wrong = try mako("restore", "people.mako", "monday.part", "--to", "other.mako")
        #expect(wrong.status == 65 && wrong.errors.contains("is no backup"))
        #expect(try mako("backup", "people.mako", "shared.mako", "--reflink").status == 0)
        #expect(try mako("check", "shared.mako").output.hasPrefix("shared.mako is whole: 2 tables, 6 rows"))
        #expect(try mako("backup", "people.mako", "x.mako", "--reflink", "--compact").status == 64)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"))
    func databasesAreEncryptedAndOpenedWithTheirKey() throws {
        func write(_ text: String, _ name: String) throws {
            try text.write(toFile: folder + name, atomically: true, encoding: .utf8)
        }
        try write(String(repeating: "0f", count: 32) + "\n", "first.key")
        try write(String(repeating: "a0", count: 32), "second.key")
        try write("open sesame\nand more", "words")
        try write("too short", "bad.key")
        _ = try mako("import", "people.csv", "people.mako")
        #expect(try mako("info", "people.mako", "--key-file", "first.key").errors.contains("is not encrypted"))
        #expect(try mako("key", "people.mako", "--new-key-file", "first.key").output == "people.mako is encrypted\n")
        let none = try mako("query", "people.mako", "SELECT name FROM people")
        #expect(none.status == 65 && none.errors.contains("people.mako is encrypted; open it with its key"))
        let wrong = try mako("query", "people.mako", "SELECT name FROM people", "--key-file", "second.key")
        #expect(wrong.status == 65 && wrong.errors.contains("it is another key"))
        let bad = try mako("query", "people.mako", "SELECT name FROM people", "--key-file", "bad.key")
        #expect(bad.status == 65 && bad.errors.contains("32 bytes, or 64 hexadecimal digits"))
        let right = try mako("query", "people.mako", "SELECT name FROM people", "--key-file", "first.key", "-f", "csv")
        #expect(right.output == "name\nAda\nBob\nCleo\n")
        #expect(try mako("page", "people.mako", "12", "--key-file", "first.key").output.hasPrefix("page 12"))
        #expect(try mako("page", "people.mako", "12").status == 65)
        #expect(try mako("log", "people.mako", "--key-file", "first.key").status == 0)

        #expect(try mako("backup", "people.mako", "sunday.mako", "--key-file", "first.key").status == 0)
        let changed = try mako(
            "key", "people.mako", "--key-file", "first.key", "--new-passphrase-file", "words")
        #expect(changed.output.contains("opens with its new key"))
        _ = try mako("import", "people.csv", "people.mako", "--table", "more", "--passphrase-file", "words")
        // The backup opens with the key of its day, the environment has the passphrase for the rest.
        let part = try mako("backup", "people.mako", "x.part", "--since", "sunday.mako", passphrase: "open sesame")
        #expect(part.status == 65)
        #expect(try mako("backup", "people.mako", "monday.mako", passphrase: "open sesame").status == 0)
        _ = try mako("import", "people.csv", "people.mako", "--table", "again", passphrase: "open sesame")
        #expect(
            try mako("backup", "people.mako", "x.part", "--since", "monday.mako", passphrase: "open sesame").status == 0
        )
        #expect(
            try mako("restore", "monday.mako", "x.part", "--to", "new.mako", passphrase: "open sesame").status == 0)
        #expect(
            try mako("check", "new.mako", passphrase: "open sesame").output.hasPrefix("new.mako is whole: 3 tables"))
        #expect(try mako("compact", "new.mako", passphrase: "open sesame").status == 0)
        #expect(try mako("salvage", "new.mako", "saved.mako", passphrase: "open sesame").status == 0)
        #expect(try mako("key", "new.mako", "--decrypt", "--passphrase-file", "words").status == 0)
        // A passphrase for all databases is no mistake where one is plain.
        #expect(try mako("check", "new.mako", passphrase: "open sesame").status == 0)
        #expect(try mako("key", "new.mako").status == 64)
        #expect(try mako("check", "new.mako", "--key-file", "first.key", "--passphrase-file", "words").status == 64)
    }

    @Test func compactingKeepsTheRows() throws {
        _ = try mako("import", "people.csv", "people.mako")
        let outcome = try mako("compact", "people.mako")
        #expect(outcome.status == 0 && outcome.output.hasPrefix("people.mako: "))
        #expect(try mako("check", "people.mako").output.hasPrefix("people.mako is whole: 1 table, 3 rows"))
        #expect(try mako("compact", "nothing.mako").status == 66)
    }

    @Test func damageIsFoundAndGivesStatusOne() throws {
        _ = try mako("import", "people.csv", "people.mako")
        let path = folder + "people.mako"
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // One bit in each page behind the header and meta pages: whichever of them is in use, a check must see it.
        for page in 6..<bytes.count / 4096 { bytes[page * 4096 + 100] ^= 1 }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let outcome = try mako("check", "people.mako")
        #expect(outcome.status == 1)
        #expect(!outcome.output.isEmpty || outcome.errors.contains("damaged"))
    }

    // MARK: Salvage

    /// A table over some pages, with an index.
    private func importManyPeople() throws {
        let lines = (1...2000).map { "\($0),person \($0) \(String(repeating: "x", count: 40)),\($0 % 90)" }
        try ("id,name,age\n" + lines.joined(separator: "\n") + "\n").write(
            toFile: folder + "many.csv", atomically: true, encoding: .utf8)
        _ = try mako("import", "many.csv", "people.mako", "--table", "people", "--index", "age")
    }

    /// Destroys one page of a type: the first, counted from the page's number.
    private func destroyFirstPage(ofType type: UInt8, from first: Int = 9) throws {
        let url = URL(fileURLWithPath: folder + "people.mako")
        var bytes = [UInt8](try Data(contentsOf: url))
        let page = try #require((first..<bytes.count / 4096).first { bytes[$0 * 4096 + 13] == type })
        for index in page * 4096..<(page + 1) * 4096 { bytes[index] = 0xA5 }
        try Data(bytes).write(to: url)
    }

    @Test func anUndamagedDatabaseIsSalvagedWhole() throws {
        _ = try mako("import", "people.csv", "people.mako", "--index", "age")
        let outcome = try mako("salvage", "people.mako", "saved.mako")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("saved.mako holds 1 table, 3 rows, saved in "))
        #expect(outcome.output.contains("Nothing is lost."))
        #expect(try mako("check", "saved.mako").output.hasPrefix("saved.mako is whole: 1 table, 3 rows"))
    }

    @Test func aCheckAdvisesSalvageWhichReportsTheLoss() throws {
        try importManyPeople()
        try destroyFirstPage(ofType: 1)
        let check = try mako("check", "people.mako")
        #expect(check.status == 1 && check.errors.contains("'mako salvage people.mako NEW'"))
        let outcome = try mako("salvage", "people.mako", "saved.mako", "--progress")
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("saved.mako holds 1 table, 1,9"))
        #expect(outcome.output.contains("people: ") && outcome.output.contains(" rows lost, with keys "))
        #expect(outcome.errors.contains("not everything of people.mako could be saved"))
        let saved = try mako("check", "saved.mako")
        #expect(saved.status == 0 && saved.output.hasPrefix("saved.mako is whole: 1 table, 1,9"))
    }

    @Test func aDatabaseThatCannotBeOpenedIsSalvaged() throws {
        try importManyPeople()
        try damage([2, 3, 4, 5])
        let opened = try mako("info", "people.mako")
        #expect(opened.status == 1 && opened.errors.contains("'mako salvage people.mako NEW'"))
        let outcome = try mako("salvage", "people.mako", "saved.mako")
        #expect(outcome.output.hasPrefix("saved.mako holds 1 table, 2,000 rows, saved in "))
        #expect(outcome.output.contains("rows may be older versions"))
        #expect(outcome.status == 1)
        #expect(
            try mako("query", "saved.mako", "SELECT count(*) FROM people WHERE age = 7", "-f", "csv").output
                == "count(*)\n23\n")
    }

    @Test func aSalvageThatCannotBeSaysWhy() throws {
        _ = try mako("import", "people.csv", "people.mako")
        #expect(try mako("salvage", "none.mako", "saved.mako").status == 66)
        let existing = try mako("salvage", "people.mako", "people.csv")
        #expect(existing.status == 64 && existing.errors.contains("people.csv is there already"))
        #expect(try mako("salvage", "people.csv", "saved.mako").status == 65)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "people.mako")))
        try Data([UInt8](repeating: 0, count: 8192) + bytes[8192...]).write(
            to: URL(fileURLWithPath: folder + "people.mako"))
        let lost = try mako("salvage", "people.mako", "saved.mako")
        #expect(lost.status == 1 && lost.errors.contains("people.mako are lost"))
        #expect(!FileManager.default.fileExists(atPath: folder + "saved.mako"))
    }
}
