import Foundation
import Testing

/// `mako export --sql postgres` and `mako mirror`, by the built program.
@Suite struct PostgresProgramTests {
    private let program: BuiltProgram

    init() throws {
        program = try BuiltProgram()
        try program.write("id,name\n1,Ada\n2,Bob\n", to: "people.csv")
        _ = try program.run(["import", "people.csv", "people.mako"])
    }

    private func mako(_ arguments: String...) throws -> BuiltProgram.Outcome { try program.run(arguments) }

    @Test func tablesAreExportedAsAScript() throws {
        let script = try mako("export", "people.mako", "--sql", "postgres")
        #expect(script.status == 0 && script.output.contains("CREATE TABLE \"people\" ("), "\(script)")
        #expect(script.output.contains("FROM STDIN;\n1\tAda\n2\tBob\n\\.\n"), "\(script)")
        let file = try mako("export", "people.mako", "people", "--sql", "postgres", "--output", "people.sql")
        #expect(file.status == 0 && file.errors.contains("2 rows written to people.sql"), "\(file)")
        #expect(try String(contentsOfFile: program.folder + "/people.sql", encoding: .utf8) == script.output)
        #expect(try mako("export", "people.mako", "cities", "--sql", "postgres").status == 65)
        #expect(try mako("export", "people.mako").status == 64)
        #expect(try mako("export", "people.mako", "--sql", "postgres", "--format", "csv").status == 64)
    }

    #if Postgres
        private static let server = ProcessInfo.processInfo.environment["MAKO_POSTGRES"] ?? ""

        @Test(.enabled(if: !server.isEmpty, "needs a server: make test-services")) func aMirrorFollows() throws {
            let schema = "p\(UInt64.random(in: 0 ... .max))"
            func mirror(_ more: String...) throws -> BuiltProgram.Outcome {
                try program.run(["mirror", "people.mako", Self.server, "--schema", schema, "--once"] + more)
            }
            let early = try mirror()
            #expect(early.status == 65 && early.errors.contains("keeps no history"), "\(early)")
            #expect(try mako("history", "people.mako", "--keep", "100").status == 0)
            let first = try mirror()
            #expect(first.status == 0 && first.output.contains("all tables were loaded, 2 rows"), "\(first)")
            #expect(try mako("query", "people.mako", "UPDATE people SET name = 'Cleo' WHERE id = 2").status == 0)
            let second = try mirror()
            #expect(second.status == 0 && second.output.contains("1 row changed"), "\(second)")
            #expect(try mirror().output.contains("nothing is new"))
            #expect(try mirror("--reload").output.contains("all tables were loaded again, 2 rows"))
        }

        @Test func aServerThatIsNotThereIsAnErrorOfItsOwn() throws {
            _ = try mako("history", "people.mako", "--keep", "100")
            let refused = try mako("mirror", "people.mako", "postgres://mirror@127.0.0.1:1/nothing", "--once")
            #expect(refused.status == 74 && refused.errors.contains("PostgreSQL cannot be reached"), "\(refused)")
        }
    #endif
}
