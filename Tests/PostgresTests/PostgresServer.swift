#if Postgres
    import Foundation
    import MakoRecords
    import MakoStorage
    import Testing

    import MakoPostgres

    /// The server of `scripts/services`.
    enum PostgresServer {
        static let url = ProcessInfo.processInfo.environment["MAKO_POSTGRES"] ?? ""
        static var isThere: Bool { !url.isEmpty }

        static func restart() throws {
            let command = try #require(ProcessInfo.processInfo.environment["MAKO_POSTGRES_RESTART"])
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "cd / && \(command)"]
            // Without a pipe, which the server would hold open.
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
        }

        static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
            let process = Process()
            let pipe = Pipe()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            (process.standardOutput, process.standardError) = (pipe, pipe)
            try process.run()
            let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, output)
        }
    }

    /// A schema of the server for one test, which goes with it.
    final class ServerSchema {
        let name: String
        let connection: PostgresConnection

        init() throws {
            name = "t\(UInt64.random(in: 0 ... .max))"
            connection = try PostgresConnection(PostgresServer.url)
            try connection.execute("CREATE SCHEMA \(name)")
        }

        deinit {
            if connection.isLost { try? connection.reconnect() }
            try? connection.execute("DROP SCHEMA \(name) CASCADE")
        }

        func mirror(_ fixture: MirrorFixture, _ change: (inout Mirror.Options) -> Void = { _ in }) throws -> Mirror {
            var options = Mirror.Options()
            options.schema = name
            change(&options)
            return Mirror(fixture.store, to: try PostgresConnection(PostgresServer.url), options: options)
        }

        /// The commit of the token; nil before the first step.
        func commit() throws -> UInt64? {
            try connection.rows("SELECT commit FROM \(name).mako_mirror").first?[0].flatMap { UInt64($0) }
        }

        /// All rows of the tables, as the server gives them: by table, sorted.
        func contents() throws -> [String: [String]] {
            var contents: [String: [String]] = [:]
            let tables = try connection.rows(
                "SELECT tablename FROM pg_tables WHERE schemaname = '\(name)' AND tablename NOT LIKE 'mako_mirror%'")
            for table in tables.compactMap(\.[0]) { contents[table] = try rows(table) }
            return contents
        }

        private func rows(_ table: String) throws -> [String] {
            let columns = try connection.rows(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = '\(name)' "
                    + "AND table_name = \(PostgresText.literal(table)) ORDER BY column_name")
            let list = columns.map { column in
                let name = PostgresText.name(column[0] ?? "")
                // Independent of the text of dates: microseconds as a number.
                return column[1] == "timestamp with time zone" ? "extract(epoch from \(name)) * 1000000" : name
            }
            let place = "\(name).\(PostgresText.name(table))"
            return try connection.rows("SELECT \(list.joined(separator: ", ")) FROM \(place)").map { row in
                zip(columns, row).map { "\($0[0] ?? "")=\(ServerSchema.canonical($0[1] ?? "", $1))" }
                    .joined(separator: "|")
            }.sorted()
        }

        private static func canonical(_ type: String, _ text: String?) -> String {
            guard let text else { return "NULL" }
            switch type {
            case "double precision": return Double(text).map { "\($0.isNaN ? .nan : $0)" } ?? text
            case "timestamp with time zone": return text.split(separator: ".").first.map(String.init) ?? text
            default: return text
            }
        }
    }

    extension MirrorFixture {
        /// All rows as ``ServerSchema/contents()`` has them, without the type map.
        func contents() throws -> [String: [String]] {
            try store.read { view in
                var contents: [String: [String]] = [:]
                for handle in try Catalogue.load(view: view).handles {
                    var rows: [String] = []
                    try handle.scan(in: view) { key, row in
                        rows.append(MirrorFixture.text(handle.schema, key, row))
                        return true
                    }
                    contents[handle.schema.name] = rows.sorted()
                }
                return contents
            }
        }

        private static func text(_ schema: EntitySchema, _ key: RowKey, _ row: RowReader) -> String {
            var fields: [(String, String)] = []
            if let id = key.rowID { fields.append((schema.keyNames[0], "\(id)")) }
            for (place, column) in schema.liveColumns.enumerated() {
                let isKey = schema.keyNames.contains(column.name)
                fields.append((column.name, text(row.value(place), isKey: isKey)))
            }
            return fields.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }.map { "\($0)=\($1)" }
                .joined(separator: "|")
        }

        private static func micros(_ seconds: Double) -> String {
            let whole = seconds.rounded(.down)
            let micros = Int64(((seconds - whole) * 1_000_000).rounded())
            return "\((Int64(whole) + 978_307_200) * 1_000_000 + micros)"
        }

        private static func text(_ value: Value, isKey: Bool) -> String {
            switch value {
            case .null: "NULL"
            case .bool(let flag): flag ? "t" : "f"
            case .text(let text): text
            case .double(let number): "\(number.isNaN ? .nan : number)"
            case .date(let seconds) where isKey: "\(seconds)"
            case .date(let seconds):
                seconds.isInfinite
                    ? (seconds < 0 ? "-Infinity" : "Infinity")
                    : micros(seconds)
            case .blob(let bytes):
                "\\x" + bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
            case .uuid: "\(value)".filter { $0 != "'" }.lowercased()
            default: "\(value)"
            }
        }
    }
#endif
