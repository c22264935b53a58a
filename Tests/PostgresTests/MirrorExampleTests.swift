#if Postgres
    import Mako
    import MakoPostgres
    import MakoStorage
    import Testing

    extension MirrorTests {
        /// The examples of `docs/mirror.md` that need no typed query.
        @Suite struct MirrorExampleTests {
            @Entity final class Person {
                var city = ""
                var age = 0
            }

            private static func begun(_ store: Store, _ url: String, _ print: (Any) -> Void) throws -> Mirror {
                // EXAMPLE mirror.md
                var options = Mirror.Options()
                options.schema = "live"
                let mirror = Mirror(store, to: try PostgresConnection(url), options: options)
                print(try mirror.step())
                // EXAMPLE ends
                return mirror
            }

            @Test func aProgramMirrorsAndQueries() throws {
                var options = DatabaseOptions()
                options.history = .kept()
                let db = try Database.inMemory(entities: [Person.self], options: options)
                try db.save([Person(city: "Bern", age: 20), Person(city: "Uri", age: 10), Person(city: "Uri", age: 30)])
                let server = try PostgresConnection(PostgresServer.url)
                try server.execute("DROP SCHEMA IF EXISTS live CASCADE")
                try server.execute("CREATE SCHEMA live")
                defer { try? server.execute("DROP SCHEMA IF EXISTS live CASCADE") }
                var printed: [String] = []
                func print(_ text: Any) { printed.append("\(text)") }
                let mirror = try Self.begun(db.store, PostgresServer.url, print)
                // EXAMPLE mirror.md
                let text = "SELECT city, count(*) FROM Person WHERE age > ? GROUP BY city"
                let rows = try mirror.query(text, [.integer(18)])
                print(try mirror.statement("SELECT city FROM Person ORDER BY city"))  // what PostgreSQL is sent
                // EXAMPLE ends
                #expect(rows.rows.count == 2 && printed.count == 2)
            }
        }
    }
#endif
