import MakoRecords
import MakoStorage

extension StudioQuestion {
    // MARK: Query

    func query() throws -> JSONValue {
        let statement = try question(try text("text"))
        let start = ContinuousClock.now
        let found = try database.limited(optional("id")) { cancellation in
            try read { view, catalogue in try rows(of: statement, view, catalogue, cancellation) }
        }
        let columns = found.columns.enumerated().map { index, name -> JSONValue in
            let value = found.rows.lazy.map { $0[index] }.first { !$0.isNull } ?? .null
            let kind = StudioCell.kind(of: value)
            return .object([
                ("name", .string(name)), ("kind", .string(kind)), ("detail", .string("")),
                ("numeric", .bool(kind == "int" || kind == "real")),
            ])
        }
        return .object([
            ("columns", .array(columns)),
            ("rows", .array(found.rows.map { .array($0.map { StudioCell.json($0) }) })),
            ("cut", .bool(found.isCut)),
            ("milliseconds", .double(Self.milliseconds(ContinuousClock.now - start))),
        ])
    }

    /// - Throws: for a statement that changes the database.
    private func question(_ text: String) throws -> Statement {
        let statement = try Statement.parse(text)
        guard statement.isReadOnly else {
            throw StudioRefusal(
                "This statement changes the database.",
                advice: "A query begins with SELECT; rows are changed in the grid.")
        }
        return statement
    }

    /// Runs a statement within the limits and returns its rows.
    private func rows(
        of statement: Statement, _ view: Snapshot, _ catalogue: Catalogue, _ cancellation: Cancellation
    ) throws -> (columns: [String], rows: [[Value]], isCut: Bool) {
        let planned = try statement.planned(catalogue, view: view)
        var limits = database.limits
        if let wanted = try number("rows") { limits.rows = min(limits.rows, Int(clamping: wanted)) }
        let (most, mostBytes) = (limits.rows, limits.bytes)
        var rows: [[Value]] = []
        var bytes = 0
        var isCut = false
        try planned.give(in: view, cancellation: cancellation, rows: 256, bytes: 64 << 10) { batch in
            for row in batch {
                if rows.count >= most || bytes >= mostBytes {
                    isCut = true
                    return false
                }
                bytes += row.reduce(0) { $0 + Self.size($1) }
                rows.append(Array(row))
            }
            return true
        }
        return (planned.columns, rows, isCut)
    }

    private static func size(_ value: Value) -> Int {
        switch value {
        case .text(let text): text.utf8.count + 8
        case .blob(let bytes): bytes.count + 8
        default: 8
        }
    }

    static func milliseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }

    // MARK: Plan

    func explain() throws -> JSONValue {
        let text = try text("text")
        let runs = values["run"] == .bool(true)
        return try database.limited(optional("id")) { cancellation in
            try read { view, catalogue in
                if let table = optional("table") {
                    let selection = Selection(table: table, condition: try Condition.parse(text))
                    let explanation = try selection.explanation(
                        catalogue, in: view, analyzing: runs, cancellation: cancellation)
                    return answer(
                        explanation.analysis?.plan ?? explanation.plan, explanation.missingIndexes)
                }
                let select = try SelectStatement.parse(text)
                let plan = try select.explanation(catalogue, view: view)
                let advice = StudioAdvice(catalogue, view).missingIndexes(of: plan)
                guard runs else { return answer(plan, advice) }
                // Measuring holds all rows: only a statement within the limits is measured.
                if try rows(of: .select(select), view, catalogue, cancellation).isCut {
                    throw StudioRefusal(
                        "The statement has too many rows to be measured here.",
                        advice: "Add a LIMIT, or measure it with mako explain --analyze.")
                }
                return try database.limited(optional("id")) { cancellation in
                    answer(try select.analysis(catalogue, view: view, cancellation: cancellation).plan, advice)
                }
            }
        }
    }

    private func answer(_ plan: PlanNode, _ missing: [PlanExplanation.MissingIndex]) -> JSONValue {
        let advice = missing.map { index in
            let name = SchemaText.name(([index.table] + index.columns).joined(separator: "_"))
            let columns = index.columns.map(SchemaText.name).joined(separator: ", ")
            return "CREATE INDEX \(name) ON \(SchemaText.name(index.table)) (\(columns))"
        }
        return .object([("plan", node(plan)), ("advice", .texts(advice))])
    }

    private func node(_ plan: PlanNode) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("name", .string(plan.operation.rawValue)), ("detail", .string(plan.text)),
        ]
        if let expected = plan.expectedRows, expected.isFinite {
            members.append(("estimate", .integer(Int64(min(expected.rounded(), 1e15)))))
        }
        if let counts = plan.counts {
            members += [
                ("rows", .number(counts.passed)), ("examined", .number(counts.rows)),
                ("milliseconds", .double(Self.milliseconds(counts.time))),
            ]
        }
        members.append(("children", .array(plan.children.map(node))))
        return .object(members)
    }

    // MARK: Export

    /// The maximum size of an export, in bytes.
    private static let exportLimit = 256 << 20

    func export() throws -> StudioAnswer {
        let format = try text("format")
        guard let form = RowFormat(rawValue: format), [.csv, .json].contains(form) else {
            throw StudioRefusal("An export is csv or json.")
        }
        var body: [UInt8] = []
        let statement = try question(try optional("query") ?? exported())
        try database.limited(optional("id")) { cancellation in
            try read { view, catalogue in
                let planned = try statement.planned(catalogue, view: view)
                var printer = RowPrinter(columns: planned.columns, format: form) { body += Array($0.utf8) }
                try planned.give(in: view, cancellation: cancellation, rows: 256, bytes: 64 << 10) { batch in
                    for row in batch { printer.row(Array(row)) }
                    return body.count <= Self.exportLimit
                }
                // A truncated file would be taken for the complete export.
                if body.count > Self.exportLimit {
                    throw StudioRefusal(
                        "The export has more than \(Self.exportLimit >> 20) MiB.", status: 413,
                        advice: "Narrow it by a condition, or write it with mako export.")
                }
                printer.finish()
            }
        }
        let media = form == .csv ? "text/csv; charset=utf-8" : "application/json"
        return StudioAnswer(mediaType: media, body: body, fileName: "rows.\(format)")
    }

    /// The query of a grid. The condition and the order are parsed separately first, so that the text cannot contain
    /// other clauses.
    private func exported() throws -> String {
        var text = "SELECT * FROM \(SchemaText.name(try self.text("table")))"
        if let condition = optional("where") {
            _ = try Condition.parse(condition)
            text += " WHERE (\(condition)\n)"
        }
        if let order = optional("order") {
            _ = try Order.parse(order)
            text += " ORDER BY \(order)"
        }
        return text
    }
}
