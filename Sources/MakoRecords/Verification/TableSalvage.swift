import MakoStorage

/// The report of a salvage of a damaged database's tables; see ``Catalogue/salvage(from:to:options:progress:)``.
public struct TableSalvageReport: Sendable, Hashable {
    /// The report of the file and its trees.
    public let storage: SalvageReport
    /// The tables of the new database, sorted by name.
    public internal(set) var tables: [Table] = []
    /// Tables whose catalogue entry is lost. The new database has their rows in separate trees, but not the tables.
    public internal(set) var undescribed: [Undescribed] = []
    /// Other repairs.
    public internal(set) var findings: [String] = []

    static let listLimit = 100

    /// Whether nothing is lost or doubtful. Damaged indexes do not count, because they are rebuilt.
    public var isComplete: Bool {
        storage.logFailure == nil && storage.isCertain && storage.knowsAllTrees && undescribed.isEmpty
            && tables.allSatisfy(\.isComplete)
            && storage.trees.allSatisfy { $0.isComplete || $0.name.hasPrefix(TableRecord.indexTreePrefix) }
    }

    /// The report of one table.
    public struct Table: Sendable, Hashable {
        /// The name of the table.
        public let name: String
        /// The number of rows in the new database.
        public internal(set) var rows = 0
        /// The number of rows whose keys are unknown; `nil` if the original number is unknown.
        public internal(set) var missing: UInt64?
        /// At most 100 key ranges of lost pages: rows are missing there unless they were found elsewhere in the file.
        public internal(set) var damagedRanges: [KeyRange] = []
        /// The number of rows whose key is known, and whose values are lost.
        public internal(set) var lost: UInt64 = 0
        /// At most 100 keys of such rows.
        public internal(set) var lostKeys: [NamedKey] = []
        /// The number of rows that may be stale or deleted.
        public internal(set) var doubtful: UInt64 = 0
        /// At most 100 keys of rows that were dropped because another row has the same unique values, which occurs
        /// among doubtful rows.
        public internal(set) var conflicts: [NamedKey] = []

        /// Whether no row is missing, lost, doubtful or dropped.
        public var isComplete: Bool { missing == 0 && lost == 0 && doubtful == 0 && conflicts.isEmpty }

        mutating func noteLost(_ key: NamedKey) {
            lost += 1
            if lostKeys.count < TableSalvageReport.listLimit { lostKeys.append(key) }
        }
    }

    /// The keys from `lower` to before `upper`; `nil` for no bound.
    public struct KeyRange: Sendable, Hashable {
        /// The lower bound.
        public let lower: NamedKey?
        /// The upper bound.
        public let upper: NamedKey?
    }

    /// A table without a catalogue entry.
    public struct Undescribed: Sendable, Hashable {
        /// The name; `nil` if it is lost, too.
        public let name: String?
        /// The tree with its rows; `nil` if that is unknown.
        public let tree: String?
        /// The number of rows.
        public let rows: UInt64
    }
}

extension Catalogue {
    /// Salvages a damaged database into a new one, whose indexes are rebuilt from the rows.
    ///
    /// In addition to ``MakoStorage/Store/salvage(from:to:options:progress:)``, invalid rows are dropped and reported,
    /// and tables without a catalogue entry are reported.
    ///
    /// - Parameters:
    ///   - damaged: the database file, which no process may have open for writing. It is only read.
    ///   - path: the path of the new file, which must not exist.
    ///   - options: the options of the new database; its file system is that of both.
    ///   - progress: is called from time to time, on the caller's thread.
    /// - Throws: `RecordError.storage`. The new file is removed then.
    package static func salvage(
        from damaged: String, to path: String, options: StoreOptions = .init(),
        progress: @escaping (SalvageProgress) -> Void = { _ in }
    ) throws(RecordError) -> TableSalvageReport {
        let salvage = try engine { () throws(StorageError) in
            try Salvage(from: damaged, to: path, options: options, progress: progress)
        }
        do throws(RecordError) {
            let storage = try engine { () throws(StorageError) in try salvage.run() }
            var mending = TableMending(
                store: salvage.store, report: TableSalvageReport(storage: storage), options.entropy, progress)
            try mending.run()
            try engine { () throws(StorageError) in try salvage.finish() }
            return mending.report
        } catch {
            guard case .storage(let failure) = error else {
                _ = salvage.abandon()
                throw error
            }
            throw .storage(salvage.abandon(after: failure) ?? failure)
        }
    }
}

/// Repairs the tables of a salvaged database.
private struct TableMending {
    private let store: Store
    private(set) var report: TableSalvageReport
    private let entropy: any Entropy
    private let progress: (SalvageProgress) -> Void
    private var rowsRead: UInt64 = 0
    /// The trees of dropped indexes, by table number.
    private var leftOut: [UInt32: [String]] = [:]

    init(
        store: Store, report: TableSalvageReport, _ entropy: any Entropy,
        _ progress: @escaping (SalvageProgress) -> Void
    ) {
        self.store = store
        self.report = report
        self.entropy = entropy
        self.progress = progress
    }

    mutating func run() throws(RecordError) {
        let transaction = try engine { () throws(StorageError) in try store.beginWrite() }
        let rowTrees = transaction.view.trees.filter { $0.name.hasPrefix(TableRecord.rowsTreePrefix) }
        // A store that has never had a table is left unchanged.
        guard transaction.view.tree(named: Catalogue.treeName) != nil || !rowTrees.isEmpty else { return }
        // Positions of the old history must not be valid in the new one.
        if try HistoryWriter(entropy).beginAnew(in: transaction) {
            report.findings.append("the history of changes begins anew")
        }
        let trees = try StoredCatalogue.trees(transaction)
        let records = try takeRecords(trees.catalogue, transaction)
        report.findings += try ViewSchema.removeUnreadable(in: transaction)
        try mendRules(transaction)
        try mendIDs(trees, records, rowTrees, transaction)
        for record in records.sorted(by: { $0.schema.name < $1.schema.name }) {
            try mend(record, trees, transaction)
        }
        let described = Set(records.map(\.rowsTree))
        for tree in rowTrees where !described.contains(tree.name) {
            report.undescribed.append(.init(name: nil, tree: tree.name, rows: tree.count))
        }
        do throws(StorageError) { try transaction.commit() } catch { throw .storage(error) }
    }

    // MARK: Catalogue

    /// Returns the entries that can be decoded, and removes the others, so that the rest of the database is usable.
    private mutating func takeRecords(_ catalogue: Tree, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> [TableRecord]
    {
        var records: [UInt32: TableRecord] = [:]
        var removed: [String] = []
        for (name, bytes) in try StoredCatalogue.entries(in: tx.view) {
            do throws(RecordError) {
                let record = try readRecord(name, bytes)
                // An outdated entry of a renamed table may have reappeared.
                guard let other = records[record.id] else {
                    records[record.id] = record
                    continue
                }
                let isNewer = record.schema.version > other.schema.version
                let (kept, dropped) = isNewer ? (record, other) : (other, record)
                records[record.id] = kept
                removed.append(dropped.schema.name)
                report.findings.append("table \(dropped.schema.name) is an older description of \(kept.schema.name)")
            } catch {
                removed.append(name)
                report.undescribed.append(.init(name: name, tree: nil, rows: 0))
                report.findings.append("\(error)")
            }
        }
        for name in removed {
            _ = try engine { () throws(StorageError) in try tx.delete(StoredCatalogue.key(name), in: catalogue) }
        }
        return Array(records.values)
    }

    /// Returns an entry without the indexes whose conditions are invalid.
    private mutating func readRecord(_ name: String, _ bytes: [UInt8]) throws(RecordError) -> TableRecord {
        do throws(RecordError) { return try StoredCatalogue.record(name, bytes) } catch {
            if case .storage = error { throw error }
        }
        let whole = try TableRecord(name: name, unchecked: bytes)
        var refused: [UInt32: RecordError] = [:]
        for index in whole.indexes where index.schema.condition != nil {
            let others = whole.leavingOut { $0.schema.condition != nil && $0.id != index.id }
            do throws(RecordError) {
                try others.schema.validate()
                try others.schema.validateConditions()
            } catch { refused[index.id] = error }
        }
        let record = whole.leavingOut { refused[$0.id] != nil }
        do throws(RecordError) { try record.schema.validate() } catch {
            throw .catalogueDamaged(reason: "\(error)")
        }
        reportLeftOut(refused, of: whole)
        return record
    }

    private mutating func reportLeftOut(_ refused: [UInt32: RecordError], of record: TableRecord) {
        for index in record.indexes {
            guard let error = refused[index.id] else { continue }
            report.findings.append("index \(index.schema.name) of table \(record.schema.name) is left out: \(error)")
            leftOut[record.id, default: []].append(record.indexTree(index.id))
        }
    }

    /// Removes indexes whose conditions do not fit the table, and stores the record if any was removed.
    private mutating func takeIndexes(
        _ record: TableRecord, _ trees: (catalogue: Tree, ids: Tree), _ rows: Tree, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> TableRecord {
        var refused: [UInt32: RecordError] = [:]
        for index in record.indexes where index.schema.condition != nil {
            let bare = TableHandle(
                record: record.leavingOut { _ in true }, rows: rows, indexTrees: [], idTree: trees.ids,
                ids: RowIDSequence())
            do throws(RecordError) {
                _ = try IndexCondition.all(record.leavingOut { $0.id != index.id }, bare: bare)
            } catch {
                if case .storage = error { throw error }
                refused[index.id] = error
            }
        }
        reportLeftOut(refused, of: record)
        let kept = record.leavingOut { refused[$0.id] != nil }
        // Indexes that were removed before, because the entry could not be decoded with them.
        guard let gone = leftOut[record.id] else { return kept }
        try StoredCatalogue.store(kept, trees.catalogue, tx)
        for name in gone {
            guard let tree = tx.view.tree(named: name) else { continue }
            try engine { () throws(StorageError) in try tx.dropTree(tree) }
        }
        return kept
    }

    /// Marks the file as one with delete rules, or removes rules that cannot be decoded.
    private mutating func mendRules(_ tx: borrowing WriteTransaction) throws(RecordError) {
        do throws(RecordError) { try ReferenceRules.announce(in: tx) } catch .catalogueDamaged(let reason) {
            try ReferenceRules().store(in: tx)
            report.findings.append("\(reason); they are declared anew when the file is opened with its types")
        }
    }

    /// Ensures that table numbers are not assigned again, and that row id counters are valid.
    private func mendIDs(
        _ trees: (catalogue: Tree, ids: Tree), _ records: [TableRecord], _ rowTrees: [TreeInfo],
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let used =
            records.map(\.id) + rowTrees.compactMap { UInt32($0.name.dropFirst(TableRecord.rowsTreePrefix.count)) }
        try StoredCatalogue.raiseTableID(above: used.max() ?? 0, trees.catalogue, tx)
        for id in used {
            try engine { () throws(StorageError) in
                guard let bytes = try tx.view.get(UInt64(id), in: trees.ids), bytes.count != 8 else { return }
                _ = try tx.delete(UInt64(id), in: trees.ids)
            }
        }
    }

    // MARK: Table

    private mutating func mend(
        _ record: TableRecord, _ trees: (catalogue: Tree, ids: Tree), _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let view = tx.view
        let name = record.schema.name
        let kind: KeyKind = record.schema.idColumn != nil ? .integer : .bytes
        if let rows = view.tree(named: record.rowsTree) {
            guard rows.keys == kind else {
                let count = try engine { () throws(StorageError) in try view.count(of: rows) }
                report.undescribed.append(.init(name: name, tree: record.rowsTree, rows: count))
                report.findings.append("the description of table \(name) does not fit its rows")
                _ = try engine { () throws(StorageError) in
                    try tx.delete(StoredCatalogue.key(name), in: trees.catalogue)
                }
                return
            }
        } else {
            report.findings.append("the rows of table \(name) were not found under their name; it is empty")
            _ = try engine { () throws(StorageError) in try tx.createTree(named: record.rowsTree, keys: kind) }
        }
        guard let rows = tx.view.tree(named: record.rowsTree) else { return }
        let record = try takeIndexes(record, trees, rows, tx)
        for index in record.indexes {
            try engine { () throws(StorageError) in
                if let old = view.tree(named: record.indexTree(index.id)) { try tx.dropTree(old) }
                _ = try tx.createTree(named: record.indexTree(index.id), keys: .bytes)
            }
        }
        let handle = try StoredCatalogue.handle(record, trees.ids, RowIDSequence(), tx.view)
        var table = TableSalvageReport.Table(name: name)
        copyReport(of: record, into: &table)
        try dropDamagedRows(handle, &table, tx)
        try dropConflicts(handle, &table, tx)
        try buildIndexes(handle, &table, tx)
        table.rows = try handle.count(in: tx.view)
        report.tables.append(table)
    }

    /// Copies what the engine reports of the table's rows.
    private func copyReport(of record: TableRecord, into table: inout TableSalvageReport.Table) {
        guard let tree = report.storage.trees.first(where: { $0.name == record.rowsTree }) else { return }
        table.missing = tree.missing
        table.doubtful = tree.doubtful
        table.lost = tree.unreadable
        table.lostKeys = tree.unreadableKeys.map { named($0, record.schema) }
        table.damagedRanges = tree.damagedRanges.map { range in
            TableSalvageReport.KeyRange(
                lower: range.lower.map { named($0, record.schema) }, upper: range.upper.map { named($0, record.schema) }
            )
        }
    }

    private func named(_ key: SalvageReport.Key, _ schema: EntitySchema) -> NamedKey {
        switch key {
        case .integer(let key): .rowID(KeyOrder.rowID(key))
        case .bytes(let bytes): NamedKey(.bytes(bytes), in: schema)
        }
    }

    /// Removes rows that do not fit the layout, and keys of other tables.
    private mutating func dropDamagedRows(
        _ handle: TableHandle, _ table: inout TableSalvageReport.Table, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        var damaged: [RowKey] = []
        let view = tx.view
        for key in try handle.allKeys(in: view) {
            rowsRead += 1
            if rowsRead % 1024 == 0 {
                progress(SalvageProgress(phase: .indexing, done: rowsRead, total: nil, records: report.storage.records))
            }
            do throws(RecordError) {
                _ = try key.values(in: handle.schema)
                try recorded { try handle.withRow(key, in: view) { try handle.checkElements($0) } }
            } catch {
                if case .storage = error { throw error }
                damaged.append(key)
            }
        }
        for key in damaged {
            table.noteLost(NamedKey(key, in: handle.schema))
            try drop(key, handle, tx)
        }
    }

    private func drop(_ key: RowKey, _ handle: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        try engine { () throws(StorageError) in
            switch key {
            case .rowID(let id): _ = try tx.delete(KeyOrder.treeKey(id), in: handle.rows)
            case .bytes(let bytes): _ = try tx.delete(bytes, in: handle.rows)
            }
        }
    }

    /// Of rows that share unique values, keeps the last one.
    private func dropConflicts(
        _ handle: TableHandle, _ table: inout TableSalvageReport.Table, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        for index in handle.indexes where index.isUnique {
            var entries: [(key: [UInt8], row: RowKey)] = []
            var buffer = KeyBuffer()
            try recorded {
                try handle.scan(in: tx.view) { key, row in
                    guard try index.holds(row, key) else { return true }
                    index.encodeEntry(row, key, into: &buffer)
                    entries.append((buffer.bytes, key))
                    return true
                }
            }
            entries.sort { KeyOrder.precedes($0.key, $1.key) }
            for (entry, next) in zip(entries, entries.dropFirst()) where entry.key == next.key {
                try leaveOut(entry.row, handle, &table, tx)
            }
        }
    }

    private func leaveOut(
        _ row: RowKey, _ handle: TableHandle, _ table: inout TableSalvageReport.Table, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        if table.conflicts.count < TableSalvageReport.listLimit {
            table.conflicts.append(NamedKey(row, in: handle.schema))
        }
        try drop(row, handle, tx)
    }

    private func buildIndexes(
        _ handle: TableHandle, _ table: inout TableSalvageReport.Table, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        while true {
            do throws(RecordError) {
                for index in handle.indexes {
                    try engine { () throws(StorageError) in try tx.deleteAll(in: index.tree) }
                    try IndexBuild.run(index, handle, tx)
                }
                for index in handle.elementIndexes {
                    try engine { () throws(StorageError) in try tx.deleteAll(in: index.tree) }
                    try handle.build(index, in: tx)
                }
                try handle.rebuildText(in: tx)
                return
            } catch {
                // Equal long values have different truncated entries, so that only the build finds the conflict.
                guard case .uniqueViolation(_, _, _, let row) = error, try handle.contains(row.key, in: tx.view) else {
                    throw error
                }
                try leaveOut(row.key, handle, &table, tx)
            }
        }
    }
}
