import MakoRecords
import MakoStorage

/// What an open page knows of the database.
package struct StudioSeen: Sendable {
    package let commit: UInt64
    /// A hash of the tables' schemas.
    let schema: Int
}

extension StudioDatabase {
    /// The number of keys per table in an event.
    private static let eventKeys = 200

    /// Advances to the newest commit.
    ///
    /// - Parameter commit: the commit that a page has read, if it says so.
    /// - Returns: what a page knows that begins to follow.
    package func seen(_ commit: UInt64?) -> StudioSeen {
        let newest = refresh()
        let schema = (try? file.read { _, catalogue in catalogue.tables.hashValue }) ?? 0
        return StudioSeen(commit: min(commit ?? newest, newest), schema: schema)
    }

    /// The changes since a commit, as an event for open pages.
    ///
    /// - Parameter seen: what the page knows.
    /// - Returns: nil without changes.
    package func event(since seen: StudioSeen) -> (seen: StudioSeen, json: String)? {
        try? file.read { view, catalogue in
            guard view.commitNumber != seen.commit else { return nil }
            let new = StudioSeen(commit: view.commitNumber, schema: catalogue.tables.hashValue)
            var counts: [(key: String, value: JSONValue)] = []
            for handle in catalogue.handles {
                counts.append((handle.schema.name, .number(try handle.count(in: view))))
            }
            let missed = Int(clamping: new.commit &- seen.commit)
            let history = try StudioHistory(view, catalogue, newest: min(missed, StudioHistory.searched) + 1)
            let records = history.records.filter { $0.number > seen.commit }
            // Without an earlier record, some after it may be deleted, or were not read: every table may have changed.
            let isWhole = history.records.count > records.count
            let tables =
                isWhole
                ? try keys(records, history, view) : catalogue.tables.map { ($0.name, .null) }
            let event = JSONValue.object([
                ("commit", .number(new.commit)), ("date", records.last.map(StudioHistory.date) ?? .null),
                ("counts", .object(counts)), ("tables", .object(tables)), ("schema", .bool(new.schema != seen.schema)),
            ])
            return (new, event.text)
        }
    }

    private func keys(
        _ records: [HistoryRecord], _ history: StudioHistory, _ view: Snapshot
    ) throws -> [(key: String, value: JSONValue)] {
        var names: [String] = []
        var keys: [String: [String]?] = [:]
        for record in records {
            for table in record.tables where keys[history.name(table)] == nil {
                names.append(history.name(table))
                keys[history.name(table)] = .some([])
            }
            for span in record.spans {
                let table = record.tables[span.table]
                let name = history.name(table)
                guard var list = keys[name] ?? nil else { continue }
                for key in StudioQuestion.keys(of: span) where list.count <= Self.eventKeys {
                    list.append(try history.table(table)?.keyText(key, in: view) ?? "\(key)")
                }
                keys[name] = .some(list.count > Self.eventKeys || table.isRewritten ? nil : list)
            }
        }
        return names.map { name in (name, (keys[name] ?? nil).map(JSONValue.texts) ?? .null) }
    }
}
