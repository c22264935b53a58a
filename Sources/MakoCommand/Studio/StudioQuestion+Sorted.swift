import MakoRecords
import MakoStorage

/// A row of a grid and its place in the order of the grid.
private struct StudioPlacedRow {
    let place: [UInt8]
    let json: JSONValue
    /// Whether the row is to be shown: pinned rows that still exist only mark how far the pinned snapshot was read.
    var isShown = true

    func precedes(_ other: StudioPlacedRow) -> Bool { place.lexicographicallyPrecedes(other.place) }
}

extension StudioQuestion {
    /// Returns the first rows of a sorted selection, up to the limit of a page, and whether more follow. With a pinned
    /// snapshot, the rows that were deleted since are at the places that they had.
    func sorted(
        _ selection: Selection, _ order: StudioOrder, _ table: StudioTable, _ view: Snapshot
    ) throws -> (rows: [JSONValue], isCut: Bool) {
        let limit = try limit()
        let pinned = comparison(table)
        var selection = selection
        selection.limit = limit + 1
        let rows = try found(selection, table, view) { key, row, _ in
            let differences = try pinned?.members(key, row, of: table) ?? []
            let json = try table.json(
                key, row, cursor: order.cursor(table, key, row), in: view, differences: differences)
            return StudioPlacedRow(
                place: pinned == nil ? [] : order.place(table, key, row, selection.orderBy), json: json)
        }
        let (all, isCut) = try pinned.map { try merged(rows, selection, order, table, $0, view) } ?? (rows, false)
        return (all.prefix(limit).map(\.json), isCut || all.count > limit)
    }

    /// Inserts the rows of the pinned snapshot that were deleted since.
    private func merged(
        _ rows: [StudioPlacedRow], _ selection: Selection, _ order: StudioOrder, _ table: StudioTable,
        _ pinned: StudioComparison, _ view: Snapshot
    ) throws -> (rows: [StudioPlacedRow], isCut: Bool) {
        var selection = selection
        let most = 2 * (selection.limit ?? 0)
        selection.limit = most
        // The condition and the order may name columns that the pinned table does not have.
        guard (try? selection.plan(pinned.table.catalogue, in: pinned.pin.view)) != nil else { return (rows, false) }
        let then = try found(selection, pinned.table, pinned.pin.view) { key, row, _ in
            let isShown = try !table.handle.contains(key, in: view)
            let json = isShown ? try pinned.json(key, row, order.cursor(pinned.table, key, row), of: table) : .null
            return StudioPlacedRow(
                place: order.place(pinned.table, key, row, selection.orderBy), json: json, isShown: isShown)
        }
        var (merged, rest) = ([StudioPlacedRow](), rows[...])
        for row in then {
            while let next = rest.first, !row.precedes(next) { merged.append(rest.removeFirst()) }
            if row.isShown { merged.append(row) }
        }
        // Beyond the last row that was read there may be more deleted ones: those belong to the next page.
        if then.count == most, !merged.isEmpty { return (merged, true) }
        return (merged + rest, false)
    }
}
