import MakoRecords
import MakoStorage

/// A Model Context Protocol session for one database: JSON-RPC, one message per line.
struct ToolSession {
    /// The supported protocol versions, newest first.
    private static let versions = ["2025-06-18", "2025-03-26", "2024-11-05"]
    private static let lineLimit = 1 << 20
    /// The maximum number of rows in a tool's result.
    static let rowLimit = 200

    private let database: StudioDatabase

    init(_ database: StudioDatabase) { self.database = database }

    /// Returns the response to a message; nil for a notification.
    func answer(_ line: String) -> String? {
        guard line.utf8.count <= Self.lineLimit else {
            return error(.null, -32600, "A message has at most \(Self.lineLimit) bytes.").text
        }
        var scanner = JSONScanner(ByteInput(line))
        guard let message = try? scanner.value(), case .object = message else {
            return error(.null, -32700, "The line is not a JSON object.").text
        }
        guard let id = message["id"] else { return nil }
        guard case .string(let method)? = message["method"] else {
            return error(id, -32600, "The message has no method.").text
        }
        return answer(method, message["params"] ?? .object([]), id).text
    }

    private func answer(_ method: String, _ parameters: JSONValue, _ id: JSONValue) -> JSONValue {
        switch method {
        case "initialize": result(id, greeting(parameters))
        case "ping": result(id, .object([]))
        case "tools/list": result(id, .object([("tools", .array(StudioTool.allCases.map(\.description)))]))
        case "tools/call": called(parameters, id)
        default: error(id, -32601, "There is no method \(method).")
        }
    }

    private func greeting(_ parameters: JSONValue) -> JSONValue {
        var version = Self.versions[0]
        if case .string(let wanted)? = parameters["protocolVersion"], Self.versions.contains(wanted) {
            version = wanted
        }
        return .object([
            ("protocolVersion", .string(version)), ("capabilities", .object([("tools", .object([]))])),
            ("serverInfo", .object([("name", .string("mako")), ("version", .string(MakoVersion.current))])),
            (
                "instructions",
                .string("A Mako database, open for reading. Ask for the schema first; queries are SELECT statements.")
            ),
        ])
    }

    private func called(_ parameters: JSONValue, _ id: JSONValue) -> JSONValue {
        guard case .string(let name)? = parameters["name"], let tool = StudioTool(rawValue: name) else {
            return error(id, -32602, "There is no such tool.")
        }
        _ = database.refresh()
        let answer = database.answer(tool.request(parameters["arguments"] ?? .object([])))
        return result(
            id,
            .object([
                (
                    "content",
                    .array([
                        .object([
                            ("type", .string("text")), ("text", .string(String(decoding: answer.body, as: UTF8.self))),
                        ])
                    ])
                ), ("isError", .bool(answer.status != 200)),
            ]))
    }

    private func result(_ id: JSONValue, _ result: JSONValue) -> JSONValue {
        .object([("jsonrpc", .string("2.0")), ("id", id), ("result", result)])
    }

    private func error(_ id: JSONValue, _ code: Int64, _ message: String) -> JSONValue {
        .object([
            ("jsonrpc", .string("2.0")), ("id", id),
            ("error", .object([("code", .integer(code)), ("message", .string(message))])),
        ])
    }
}

/// The tools of `mako mcp`.
enum StudioTool: String, CaseIterable {
    case schema, query, explain, changes, sample

    private var summary: String {
        switch self {
        case .schema: "The tables of the database: columns, types, references, indexes, row counts."
        case .query: "Runs a SELECT and gives at most \(ToolSession.rowLimit) rows."
        case .explain: "The plan of a SELECT; with run, what each operator did."
        case .changes: "The newest commits of a kept history, or the rows that one of them changed."
        case .sample: "Some rows of a table, which a condition may narrow."
        }
    }

    private var properties: [(name: String, type: String, text: String)] {
        switch self {
        case .schema: []
        case .query: [("sql", "string", "A SELECT statement.")]
        case .explain: [("sql", "string", "A SELECT statement."), ("run", "boolean", "Whether to run and measure it.")]
        case .changes: [("commit", "integer", "The number of a commit; without it the newest commits are listed.")]
        case .sample:
            [
                ("table", "string", "The table."), ("where", "string", "A condition such as age > 30."),
                ("limit", "integer", "At most so many rows; 20 without it."),
            ]
        }
    }

    private var required: [String] {
        switch self {
        case .schema, .changes: []
        case .query, .explain: ["sql"]
        case .sample: ["table"]
        }
    }

    var description: JSONValue {
        let properties = properties.map { property in
            (
                key: property.name,
                value: JSONValue.object([
                    ("type", .string(property.type)), ("description", .string(property.text)),
                ])
            )
        }
        return .object([
            ("name", .string(rawValue)), ("description", .string(summary)),
            (
                "inputSchema",
                .object([
                    ("type", .string("object")), ("properties", .object(properties)), ("required", .texts(required)),
                ])
            ), ("annotations", .object([("readOnlyHint", .bool(true))])),
        ])
    }

    func request(_ arguments: JSONValue) -> StudioRequest {
        func text(_ name: String) -> String {
            switch arguments[name] {
            case .string(let text): text
            case .integer(let number): String(number)
            default: ""
            }
        }
        switch self {
        case .schema: return StudioRequest(.get, "schema")
        case .query, .explain:
            let runs = arguments["run"] == .bool(true)
            let body = JSONValue.object([
                ("text", .string(text("sql"))), ("run", .bool(runs)), ("rows", .number(ToolSession.rowLimit)),
            ])
            return StudioRequest(.post, rawValue, body: Array(body.text.utf8))
        case .changes:
            let number = text("commit")
            return number.isEmpty
                ? StudioRequest(.get, "commits", values: ["limit": "50"])
                : StudioRequest(.get, "commit", values: ["number": number])
        case .sample:
            let limit = min(Int(text("limit")) ?? 20, ToolSession.rowLimit)
            return StudioRequest(
                .get, "rows", values: ["table": text("table"), "where": text("where"), "limit": String(limit)])
        }
    }
}

extension JSONValue {
    /// The member of an object; nil when there is none.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == name }?.value
    }
}
