import MakoStorage

/// The rows of a selection, updated after each commit: only changed rows are tested.
///
///     var rows = try LiveRows(selection, catalogue, in: snapshot)
///     let difference = try rows.update([changes], in: later)    // nil: these rows are as they were
///
/// Rows that are equal in the selection's order are ordered by key, descending if the last order is.
///
/// With a limit, the rows from the first to the limit are held, with those before the offset. The selection runs again
/// if more of them leave than come, if rows that paths lead to have changed, and if that is cheaper than to test the
/// changed rows.
package struct LiveRows: Sendable {
    private struct Entry {
        let key: RowKey
        /// See ``OrderCoding``; empty if the rows are ordered by key.
        let coding: [UInt8]
    }

    private let plan: Plan
    /// The whole condition; the plan's program has the residual condition only.
    private let program: Program?
    private let orders: [BoundOrder]
    private let isDescending: Bool
    private let columns: ReadColumns
    private let shown: VisibleRows
    private let offset: Int
    /// The largest number of rows held.
    private let bound: Int

    private var entries: [Entry] = []
    /// The codings of all entries, by key; empty if the entries have none.
    private var codings: [RowKey: [UInt8]] = [:]
    /// Whether the table has no further row after the last entry.
    private var isWhole = true
    /// The number of changed rows above which running the selection again is cheaper.
    private var patience = Int.max

    /// Runs a selection.
    package init(_ selection: Selection, _ catalogue: Catalogue, in view: Snapshot) throws(RecordError) {
        var whole = selection
        offset = max(0, selection.offset ?? 0)
        let (sum, overflow) = offset.addingReportingOverflow(max(0, selection.limit ?? .max))
        bound = overflow ? .max : sum
        whole.offset = nil
        whole.limit = selection.limit == nil ? nil : bound
        let keyNames = try catalogue.requireTable(selection.table).schema.keyNames
        let isDescending = selection.orderBy.last?.descending ?? false
        self.isDescending = isDescending
        whole.orderBy += keyNames.map { Order(.column([$0]), descending: isDescending) }
        plan = try whole.plan(catalogue, in: view)
        let selected = plan.bound
        orders = Array(plan.bound.orders.dropLast(keyNames.count))
        columns = ReadColumns(selected)
        shown = VisibleRows(selected)
        program = plan.bound.condition.map { Program(selected.table, $0, joins: selected.joins) }
        try run(in: view)
    }

    /// The keys of the rows, in order.
    package var keys: [RowKey] { window.map(\.key) }

    private var window: ArraySlice<Entry> { entries.dropFirst(offset) }

    /// The table of the rows, and the tables that paths and sub-queries of the condition and the order lead to.
    package var tables: Set<String> {
        plan.bound.allTables
    }

    // MARK: - Commits

    /// Updates the rows after commits.
    ///
    /// - Parameters:
    ///   - changes: the changes of the commits since the last update, up to the view's, in order.
    ///   - view: a snapshot of the same catalogue.
    /// - Returns: the difference, or `nil` if there is none. After an error the rows are unchanged.
    package mutating func update(_ changes: [TableChanges], in view: Snapshot) throws(RecordError) -> RowsDifference? {
        var now = self
        let difference = try now.updateOwn(changes, in: view)
        let whole = try now.addingShown(changes, to: difference, in: view)
        self = now
        return whole.flatMap(some)
    }

    /// Returns the difference with the rows that show changed columns of other tables.
    private func addingShown(
        _ changes: [TableChanges], to difference: RowsDifference?, in view: Snapshot
    ) throws(RecordError) -> RowsDifference? {
        let touched = try shown.places(of: window.map(\.key), showing: changes, in: view)
        if touched.isEmpty { return difference }
        var updates = Set(difference?.updates ?? []).union(touched)
        updates.subtract(difference?.insertions ?? [])
        var whole = difference ?? RowsDifference(updates: [])
        whole.updates = updates.sorted()
        return whole
    }

    private mutating func updateOwn(
        _ changes: [TableChanges], in view: Snapshot
    ) throws(RecordError) -> RowsDifference? {
        let mine = changes.filter { $0.table == plan.table.schema.name }
        if changes.contains(where: { columns.matters($0) }) {
            return try runAgain(mine, in: view)
        }
        if columns.hasRank && mine.contains(where: { $0.matters(to: columns.own) }) {
            return try runAgain(mine, in: view)
        }
        guard mine.contains(where: { $0.matters(to: columns.own) }) else {
            return mine.isEmpty ? nil : some(RowsDifference(updates: places(of: mine)))
        }
        if mine.reduce(0, { $0 + $1.changes.count }) > patience { return try runAgain(mine, in: view) }
        return try step(mine, in: view)
    }

    /// Returns the difference from the rows of another selection, or of another catalogue.
    ///
    /// - Parameter changes: the changes since, if known; `nil` if every row may have changed.
    package func difference(
        from before: LiveRows, _ changes: [TableChanges]?, in view: Snapshot
    ) throws(RecordError) -> RowsDifference? {
        let difference = ownDifference(from: before, changes)
        guard let changes else { return some(difference) }
        return try addingShown(changes, to: difference, in: view).flatMap(some)
    }

    private func ownDifference(from before: LiveRows, _ changes: [TableChanges]?) -> RowsDifference {
        var places: [RowKey: Int] = [:]
        for (place, entry) in before.window.enumerated() { places[entry.key] = place }
        let now = window
        let origins = now.map { places[$0.key] ?? -1 }
        return RowsDifference(origins: origins, before: before.window.count) { place in
            guard let changes else { return true }
            let key = now[now.startIndex + place].key
            return changes.contains { $0.table == plan.table.schema.name && $0.change(of: key) != nil }
        }
    }

    private func some(_ difference: RowsDifference) -> RowsDifference? { difference.isEmpty ? nil : difference }

    private mutating func run(in view: Snapshot) throws(RecordError) {
        let coding = OrderCoding(orders, plan.bound, view)
        let scan = RowScan(plan, view)
        var found: [Entry] = []
        var buffer = KeyBuffer()
        try recorded {
            try plan.forEachRow(plan.table.layout, scan, view) { key, row in
                buffer.clear()
                try coding.append(row, key, to: &buffer)
                found.append(Entry(key: key, coding: buffer.bytes))
                return true
            }
        }
        entries = found
        // Index keys distinguish very long values, but do not order them.
        if zip(found, found.dropFirst()).contains(where: { !precedes($0, $1) }) { entries.sort(by: precedes) }
        codings = orders.isEmpty ? [:] : Dictionary(found.map { ($0.key, $0.coding) }, uniquingKeysWith: { a, _ in a })
        isWhole = found.count < bound
        switch plan.access {
        // A row lookup costs about as much as a test of a changed row.
        case .index, .keys, .nothing, .fullText, .gathered: patience = scan.fetched + 32
        case .rows, .keyRanges, .query, .outerRow: patience = .max
        }
    }

    private mutating func runAgain(_ mine: [TableChanges], in view: Snapshot) throws(RecordError) -> RowsDifference? {
        let before = self
        var now = self
        try now.run(in: view)
        self = now
        return some(ownDifference(from: before, mine))
    }

    // MARK: - Single changes

    /// Returns the indexes of rows whose changed columns affect neither the condition nor the order.
    private func places(of changes: [TableChanges]) -> [Int] {
        var places: [Int] = []
        let count = changes.reduce(0) { $0 + $1.changes.count }
        if count < entries.count / 4 {
            places = Set(changes.flatMap { $0.changes.compactMap { place(of: $0.key) } }).sorted()
        } else {
            places = entries.indices.filter { place in changes.contains { $0.change(of: entries[place].key) != nil } }
        }
        return places.compactMap { $0 < offset ? nil : $0 - offset }
    }

    /// Returns the changed rows, each once, and whether they must be read to evaluate the condition and the order.
    private func candidates(_ changes: [TableChanges]) -> [(key: RowKey, isRead: Bool, isGone: Bool)] {
        func candidate(_ change: Change) -> (key: RowKey, isRead: Bool, isGone: Bool) {
            let isGone = change.kind == .delete && changes.count == 1
            let isRead = !isGone && (change.kind != .update || change.changedColumns.intersects(columns.own))
            return (change.key, isRead, isGone)
        }
        if changes.count == 1 { return changes[0].changes.map(candidate) }
        var found: [(key: RowKey, isRead: Bool, isGone: Bool)] = []
        var places: [RowKey: Int] = [:]
        for change in changes.flatMap(\.changes) {
            let next = candidate(change)
            // After several commits only the row itself shows the outcome.
            let isRead = next.isRead || change.kind == .delete
            if let place = places[change.key] {
                found[place].isRead = found[place].isRead || isRead
            } else {
                places[change.key] = found.count
                found.append((change.key, isRead, false))
            }
        }
        return found
    }

    private mutating func step(_ changes: [TableChanges], in view: Snapshot) throws(RecordError) -> RowsDifference? {
        let table = plan.table
        let candidates = candidates(changes)
        let step = Step(self, view)
        for candidate in candidates where !candidate.isRead {
            if candidate.isGone { step.leave(candidate.key, self) } else { step.note(candidate.key, self) }
        }
        let read = candidates.filter(\.isRead).map(\.key)
        let ids = read.compactMap(\.rowID)
        try recorded {
            if ids.count == read.count {
                try table.withRows(ids: ids, in: view) { place, row in try step.test(read[place], row, self) }
            } else {
                for key in read where try table.withRow(key, in: view, { try step.test(key, $0, self) }) == nil {
                    step.leave(key, self)
                }
            }
        }
        if step.isQuiet { return some(RowsDifference(updates: step.updated.sorted().compactMap(placeInWindow))) }
        return try merge(step, changes, in: view)
    }

    private func placeInWindow(_ place: Int) -> Int? { place < offset ? nil : place - offset }

    /// The changes of the entries that follow from changed rows.
    private final class Step {
        private let evaluator: Evaluator?
        private let coding: OrderCoding
        private var buffer = KeyBuffer()
        /// Indexes of entries that leave, or move.
        var leaving: [Int] = []
        /// Entries that come, with their old index, or -1.
        var coming: [(entry: Entry, origin: Int)] = []
        /// Indexes of entries that stay, with other values.
        var updated: [Int] = []

        init(_ rows: LiveRows, _ view: Snapshot) {
            evaluator = rows.program.map { Evaluator($0, view) }
            coding = OrderCoding(rows.orders, rows.plan.bound, view)
        }

        var isQuiet: Bool { leaving.isEmpty && coming.isEmpty }

        func leave(_ key: RowKey, _ rows: LiveRows) {
            if let place = rows.place(of: key) { leaving.append(place) }
        }

        func note(_ key: RowKey, _ rows: LiveRows) {
            if let place = rows.place(of: key) { updated.append(place) }
        }

        func test(_ key: RowKey, _ row: RowReader?, _ rows: LiveRows) throws(RecordError) {
            guard let row, try evaluator?.test(row, key) ?? true else { return leave(key, rows) }
            buffer.clear()
            try coding.append(row, key, to: &buffer)
            let entry = Entry(key: key, coding: buffer.bytes)
            guard let place = rows.place(of: key) else { return coming.append((entry, -1)) }
            if rows.entries[place].coding == entry.coding { return updated.append(place) }
            leaving.append(place)
            coming.append((entry, place))
        }
    }

    private mutating func merge(
        _ step: Step, _ changes: [TableChanges], in view: Snapshot
    ) throws(RecordError) -> RowsDifference? {
        var stays = [Bool](repeating: true, count: entries.count)
        for place in step.leaving { stays[place] = false }
        var isUpdated = [Bool](repeating: false, count: entries.count)
        for place in step.updated { isUpdated[place] = true }
        for (_, origin) in step.coming where origin >= 0 { isUpdated[origin] = true }
        var merged: [Entry] = []
        var origins: [Int] = []
        merged.reserveCapacity(entries.count + step.coming.count)
        origins.reserveCapacity(entries.count + step.coming.count)
        var coming = ArraySlice(step.coming.sorted { precedes($0.entry, $1.entry) })
        func take(before entry: Entry?) {
            while let next = coming.first, entry.map({ precedes(next.entry, $0) }) ?? true {
                merged.append(next.entry)
                origins.append(next.origin)
                coming.removeFirst()
            }
        }
        for (place, entry) in entries.enumerated() {
            take(before: entry)
            guard stays[place] else { continue }
            merged.append(entry)
            origins.append(place)
        }
        // Rows after the last entry have not been read, and may sort among the new ones.
        if isWhole { take(before: nil) }
        if !isWhole && merged.count < bound {
            return try runAgain(changes, in: view)
        }
        let pushedOut = merged.dropFirst(bound).map(\.key)
        merged.removeLast(pushedOut.count)
        origins.removeLast(pushedOut.count)
        if !orders.isEmpty {
            for place in step.leaving { codings[entries[place].key] = nil }
            for (entry, _) in step.coming { codings[entry.key] = entry.coding }
            for key in pushedOut + coming.map(\.entry.key) { codings[key] = nil }
        }
        let before = max(0, entries.count - offset)
        entries = merged
        if !pushedOut.isEmpty { isWhole = false }
        let shown = origins.dropFirst(offset)
        return some(
            RowsDifference(
                origins: shown.map { $0 < offset ? -1 : $0 - offset }, before: before,
                isUpdated: { isUpdated[shown[shown.startIndex + $0]] }))
    }

    // MARK: - Order

    private func precedes(_ a: Entry, _ b: Entry) -> Bool {
        if !orders.isEmpty {
            let order = KeyOrder.compareKeys(a.coding, b.coding)
            if order != 0 { return order < 0 }
        }
        return isDescending ? LiveRows.isBefore(b.key, a.key) : LiveRows.isBefore(a.key, b.key)
    }

    private static func isBefore(_ a: RowKey, _ b: RowKey) -> Bool {
        switch (a, b) {
        case (.rowID(let x), .rowID(let y)): x < y
        case (.bytes(let x), .bytes(let y)): KeyOrder.precedes(x, y)
        default: false
        }
    }

    /// Returns the index of the row with a key; `nil` if it is not in the result.
    private func place(of key: RowKey) -> Int? {
        var sought = Entry(key: key, coding: [])
        if !orders.isEmpty {
            guard let coding = codings[key] else { return nil }
            sought = Entry(key: key, coding: coding)
        }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(entries[middle], sought) { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].key == key ? low : nil
    }
}
