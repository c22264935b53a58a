import MakoRecords
import MakoStorage

/// A change of one row that the page requests.
private struct StudioChange {
    let statement: String
    /// The key of the row; nil: of the row that it inserts.
    let key: RowKey?
    var isDeletion = false
    /// Returns the statement that reverts it, given the row's key.
    let inverse: (RowKey) throws -> String
}

extension StudioQuestion {
    func preview() throws -> JSONValue {
        try requireWriting()
        let change = try read { view, catalogue in try wanted(view, catalogue) }
        return .object([("statement", .string(change.statement))])
    }

    func save() throws -> JSONValue {
        try requireWriting()
        return try database.saves.withLock { saves in try save(&saves) }
    }

    private func save(_ saves: inout StudioSaves) throws -> JSONValue {
        let (change, bonds) = try read { view, catalogue in
            let change = try wanted(view, catalogue)
            let bonds = try database.limited(nil, database.limits.counting) { cancellation in
                try StudioBonds(
                    change.key, try table(catalogue), view, isDeleted: change.isDeletion, cancellation)
            }
            return (change, bonds)
        }
        let outcome = try database.file.run(try Statement.parse(change.statement))
        guard outcome.changed > 0 else {
            throw StudioRefusal("No row was changed: it is not there any more.", status: 404)
        }
        let key = change.key ?? outcome.lastKey
        saves.add(Result { try inverse(of: change, key, bonds) }.mapError { StudioRefusal($0) })
        var members: [(key: String, value: JSONValue)] = [
            ("statement", .string(change.statement)), ("save", .number(saves.last)),
        ]
        if let key {
            let text = try read { view, catalogue in try table(catalogue).keyText(key, in: view) }
            members.append(("key", .string(text)))
        }
        return .object(members)
    }

    /// - Throws: when no single statement reverts the change.
    private func inverse(of change: StudioChange, _ key: RowKey?, _ bonds: StudioBonds) throws -> String {
        guard let key else { throw StudioRefusal("The new row has no key.", status: 409) }
        try read { view, catalogue in try bonds.requireKept(key, try table(catalogue), view) }
        return try change.inverse(key)
    }

    func takeBack() throws -> JSONValue {
        try requireWriting()
        return try database.saves.withLock { saves in
            let statement = try saves.inverse(of: try number("save"))
            let outcome = try database.file.run(try Statement.parse(statement))
            saves.isUndone()
            if outcome.changed == 0 {
                throw StudioRefusal("Nothing was undone: the row is not there any more.", status: 409)
            }
            return .object([("statement", .string(statement))])
        }
    }

    private func requireWriting() throws {
        if !database.isWritable {
            throw StudioRefusal(
                "The database is open for reading only.", status: 405, advice: "Start mako studio with --write.")
        }
    }

    private func wanted(_ view: Snapshot, _ catalogue: Catalogue) throws -> StudioChange {
        let table = try table(catalogue)
        var typed: [(key: String, value: JSONValue)] = []
        if case .object(let members)? = values["values"] { typed = members }
        let given = try typed.map { name, value in (name: name, value: try self.value(value, of: name, table)) }
        switch try text("kind") {
        case "insert": return try insertion(given, table)
        case "update": return try update(given, table, view)
        case "delete": return try deletion(table, view)
        case let kind: throw StudioRefusal("'\(kind)' is none of insert, update, delete.")
        }
    }

    private func value(_ json: JSONValue, of name: String, _ table: StudioTable) throws -> Value {
        guard table.columns.contains(where: { $0.name == name }) else {
            throw StudioRefusal("\(table.name) has no column \(name) that can be edited.", status: 404)
        }
        switch json {
        case .null: return .null
        case .string(let text): return try table.value(text, of: name)
        default: return try table.value(json.text, of: name)
        }
    }

    private func insertion(_ given: [(name: String, value: Value)], _ table: StudioTable) throws -> StudioChange {
        let target = SchemaText.name(table.name)
        let names = given.map { SchemaText.name($0.name) }.joined(separator: ", ")
        let values = given.map { SchemaText.literal($0.value) }.joined(separator: ", ")
        let statement =
            given.isEmpty
            ? "INSERT INTO \(target) DEFAULT VALUES" : "INSERT INTO \(target) (\(names)) VALUES (\(values))"
        let file = database.file
        return StudioChange(
            statement: statement, key: nil,
            inverse: { key in
                try file.read { view, _ in "DELETE FROM \(target) WHERE \(try table.condition(of: key, in: view))" }
            })
    }

    private func update(
        _ given: [(name: String, value: Value)], _ table: StudioTable, _ view: Snapshot
    ) throws -> StudioChange {
        if given.isEmpty { throw StudioRefusal("Nothing has been changed.") }
        let key = try table.key(try givenKey())
        let place = try table.condition(of: key, in: view)
        try requireUnchanged(key, table, view)
        let before = try table.handle.withRow(key, in: view) { row in
            given.map { ($0.name, table.value($0.name, key, row)) }
        }
        let start = "UPDATE \(SchemaText.name(table.name)) SET "
        func assignments(_ values: [(name: String, value: Value)]) -> String {
            values.map { "\(SchemaText.name($0.name)) = \(SchemaText.literal($0.value))" }.joined(separator: ", ")
        }
        let inverse = start + assignments((before ?? []).map { (name: $0.0, value: $0.1) }) + " WHERE " + place
        return StudioChange(
            statement: start + assignments(given) + " WHERE " + place, key: key, inverse: { _ in inverse })
    }

    /// Checks that the columns still have the values that the page shows, which it sends as `was`: another page may have
    /// changed them.
    private func requireUnchanged(_ key: RowKey, _ table: StudioTable, _ view: Snapshot) throws {
        guard let was = values["was"] else { return }
        let cells = try table.handle.withRow(key, in: view) { try table.cells(key, $0, isWhole: true, in: view) }
        for (column, cell) in zip(table.columns, cells ?? []) {
            guard let shown = was[column.name]?.text else { continue }
            // A link has its key alone, or as text the table, too. By bytes, because texts that are canonically equivalent
            // are equal as strings.
            let now = (cell["text"] ?? cell["key"] ?? .null).text
            if now.utf8.elementsEqual(shown.utf8) { continue }
            throw StudioRefusal(
                "\(column.name) was changed since this page read the row: it is \(DisplayText.onOneLine(String(now.prefix(80)))) now.",
                status: 409, advice: "Close the form and open it again to edit the new values.")
        }
    }

    private func deletion(_ table: StudioTable, _ view: Snapshot) throws -> StudioChange {
        let key = try table.key(try givenKey())
        let place = try table.condition(of: key, in: view)
        let target = SchemaText.name(table.name)
        let before =
            try table.handle.withRow(key, in: view) { row in
                table.columns.map { ($0.name, table.value($0, key, row)) }
            } ?? []
        let names = before.map { SchemaText.name($0.0) }.joined(separator: ", ")
        let values = before.map { SchemaText.literal($0.1) }.joined(separator: ", ")
        return StudioChange(
            statement: "DELETE FROM \(target) WHERE \(place)", key: key, isDeletion: true,
            inverse: { _ in "INSERT INTO \(target) (\(names)) VALUES (\(values))" })
    }
}
