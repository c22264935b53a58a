import MakoRecords
import MakoStorage

/// The handler of one request.
struct StudioQuestion {
    let request: StudioRequest
    let database: StudioDatabase
    /// The members of a POST body, or the query parameters.
    let values: [String: JSONValue]

    init(_ request: StudioRequest, _ database: StudioDatabase) throws {
        self.request = request
        self.database = database
        if request.method == .post {
            var scanner = JSONScanner(ByteInput(bytes: request.body, name: "the request"))
            guard case .object(let members) = try scanner.value() else {
                throw StudioRefusal("The body of a request is a JSON object.")
            }
            values = Dictionary(members.map { ($0.key, $0.value) }) { _, last in last }
        } else {
            values = request.values.mapValues(JSONValue.string)
        }
    }

    func answer() throws -> StudioAnswer {
        switch (request.method, request.path) {
        case (.get, "blob"): return try blob()
        case (.get, "export"): return try export()
        default:
            let body = try json().text
            return StudioAnswer(body: Array(body.utf8))
        }
    }

    private func json() throws -> JSONValue {
        switch (request.method, request.path) {
        case (.get, "schema"): return try schema()
        case (.get, "remembered"): return database.memory.withLock { $0.values }
        case (.post, "remembered"): return try remember()
        case (.get, "rows"): return try rows()
        case (.get, "row"): return try row()
        case (.get, "related"): return try related()
        case (.get, "find"): return try find()
        case (.get, "words"): return try words()
        case (.get, "commits"): return try commits()
        case (.get, "commit"): return try commit()
        case (.get, "storage"): return try storage()
        case (.get, "pages"): return try pages()
        case (.post, "pin"): return try pin()
        case (.delete, "pin"): return unpin()
        case (.post, "query"): return try query()
        case (.delete, "query"):
            database.cancel(try text("id"))
            return .object([])
        case (.post, "explain"): return try explain()
        case (.post, "preview"): return try preview()
        case (.post, "save"): return try save()
        case (.post, "undo"): return try takeBack()
        default: throw StudioRefusal("There is no \(request.method.rawValue) of '\(request.path)'.", status: 404)
        }
    }

    // MARK: Parameters

    func optional(_ name: String) -> String? {
        switch values[name] {
        case .string(let text): text.isEmpty ? nil : text
        case .integer(let number): String(number)
        default: nil
        }
    }

    func text(_ name: String) throws -> String {
        guard let text = optional(name) else { throw StudioRefusal("'\(name)' is missing.") }
        return text
    }

    func number(_ name: String) throws -> UInt64? {
        guard let text = optional(name) else { return nil }
        guard let number = UInt64(text) else { throw StudioRefusal("'\(name)' is not a number.") }
        return number
    }

    /// The position of a row, limited so that sums do not overflow.
    func place(_ name: String) throws -> Int? { try number(name).map { Int(min($0, 1 << 48)) } }

    /// The key of a row, which may be an empty string.
    func givenKey() throws -> String {
        if case .string("")? = values["key"] { return "" }
        return try text("key")
    }

    /// The number of rows per page.
    func limit() throws -> Int {
        min(max(1, Int(clamping: try number("limit") ?? 100)), database.limits.page)
    }

    func table(_ catalogue: Catalogue) throws -> StudioTable {
        StudioTable(try catalogue.requireTable(try text("table")), catalogue)
    }

    // MARK: The pinned commit

    private func pin() throws -> JSONValue { try database.pin().json }

    private func unpin() -> JSONValue {
        database.unpin()
        return .object([])
    }

    private func remember() throws -> JSONValue {
        let name = try text("name")
        database.memory.withLock { $0.keep(name, values["value"] ?? .null) }
        return .object([])
    }

    func comparison(_ table: StudioTable) -> StudioComparison? {
        StudioComparison(database.pinned.withLock { $0 }, table)
    }

    func read<R>(_ body: (Snapshot, Catalogue) throws -> R) throws -> R { try database.file.read(body) }
}

extension JSONValue {
    static func number(_ number: Int) -> JSONValue { .integer(Int64(number)) }
    static func number(_ number: UInt64) -> JSONValue { .unsigned(number) }
    static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
}
