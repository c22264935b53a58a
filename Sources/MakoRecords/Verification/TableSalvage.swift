import MakoStorage

/// What a salvage got out of the tables of a damaged database; see ``Catalogue/salvage(from:to:options:progress:)``.
public struct TableSalvageReport: Sendable, Hashable {
    /// What came of the file and of each tree in it.
    public let storage: SalvageReport
    /// The tables of the new database, sorted by name.
    public internal(set) var tables: [Table] = []
    /// Tables whose description is lost. They are not in the new database; their rows are, in a tree of their own.
    public internal(set) var undescribed: [Undescribed] = []
    /// What else was mended.
    public internal(set) var findings: [String] = []

    static let listLimit = 100

    /// Whether nothing is lost and nothing doubtful. Damage of indexes does not count: they were built anew.
    public var isComplete: Bool {
        storage.logFailure == nil && storage.isCertain && undescribed.isEmpty && tables.allSatisfy(\.isComplete)
            && storage.trees.allSatisfy { $0.isComplete || $0.name.hasPrefix(TableRecord.indexTreePrefix) }
    }

    /// What came of a table.
    public struct Table: Sendable, Hashable {
        public let name: String
        /// Rows of the new database.
        public internal(set) var rows = 0
        /// Rows of which not even the key is known. Nil when nobody knows how many there were.
        public internal(set) var missing: UInt64?
        /// Between which keys pages are lost, at most 100: where rows are missing, unless they were found elsewhere in the file.
        public internal(set) var damagedRanges: [KeyRange] = []
        /// Rows whose key is known and whose values are lost.
        public internal(set) var lost: UInt64 = 0
        /// Keys of such rows, at most 100.
        public internal(set) var lostKeys: [NamedKey] = []
        /// Rows that may be stale or deleted.
        public internal(set) var doubtful: UInt64 = 0
        /// Rows that were left out because another has the same values where they must be unique, at most 100 of their keys. It happens
        /// among doubtful rows.
        public internal(set) var conflicts: [NamedKey] = []

        public var isComplete: Bool { missing == 0 && lost == 0 && doubtful == 0 && conflicts.isEmpty }

        mutating func noteLost(_ key: NamedKey) {
            lost += 1
            if lostKeys.count < TableSalvageReport.listLimit { lostKeys.append(key) }
        }
    }

    /// Keys from `lower` up to, and not including, `upper`. Nil has no end.
    public struct KeyRange: Sendable, Hashable {
        public let lower: NamedKey?
        public let upper: NamedKey?
    }

    /// A table without its description.
    public struct Undescribed: Sendable, Hashable {
        /// Nil when even that is lost.
        public let name: String?
        /// The tree that holds its rows; nil when nobody knows which does.
        public let tree: String?
        public let rows: UInt64
    }
}

extension Catalogue {
    /// Reads what can be read of a damaged database into a new one, whose indexes are built anew from the rows.
    ///
    /// On top of ``MakoStorage/Store/salvage(from:to:options:progress:)``: rows that hold nonsense are left out and named, tables whose
    /// description is lost are told.
    ///
    /// - Parameters:
    ///   - damaged: the database file; nobody may have it open for writing. It is only read.
    ///   - path: where the new one goes. There must be nothing.
    ///   - options: for the new database; its file system is that of both.
    ///   - progress: called now and then, on the caller's thread.
    /// - Throws: `RecordError.storage`. Nothing is left under the new name then.
    public static func salvage(
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

/// Puts the tables of a salvaged database in order.
private struct TableMending {
    private let store: Store
    private(set) var report: TableSalvageReport
    private let entropy: any Entropy
    private let progress: (SalvageProgress) -> Void
    private var rowsRead: UInt64 = 0
    /// The trees of indexes that are left out, by their tables.
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
        // A store that never had a table is left as it is.
        guard transaction.view.tree(named: Catalogue.treeName) != nil || !rowTrees.isEmpty else { return }
        // Tokens of before must not be taken for ones of what is left.
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

    // MARK: The catalogue

    /// The descriptions that can be read. The others go, so that the rest of the database can be used.
    private mutating func takeRecords(_ catalogue: Tree, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> [TableRecord]
    {
        var records: [UInt32: TableRecord] = [:]
        var removed: [String] = []
        for (name, bytes) in try StoredCatalogue.entries(in: tx.view) {
            do throws(RecordError) {
                let record = try readRecord(name, bytes)
                // Of a table that was renamed an older entry may have come back.
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

    /// A description without those indexes whose conditions cannot be used.
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
        tellLeftOut(refused, of: whole)
        return record
    }

    private mutating func tellLeftOut(_ refused: [UInt32: RecordError], of record: TableRecord) {
        for index in record.indexes {
            guard let error = refused[index.id] else { continue }
            report.findings.append("index \(index.schema.name) of table \(record.schema.name) is left out: \(error)")
            leftOut[record.id, default: []].append(record.indexTree(index.id))
        }
    }

    /// Leaves out indexes whose conditions ask for what the table does not have, and stores what is left where anything was left out.
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
        tellLeftOut(refused, of: record)
        let kept = record.leavingOut { refused[$0.id] != nil }
        // Some were left out before, when the description could not be read with them.
        guard let gone = leftOut[record.id] else { return kept }
        try StoredCatalogue.store(kept, trees.catalogue, tx)
        for name in gone {
            guard let tree = tx.view.tree(named: name) else { continue }
            try engine { () throws(StorageError) in try tx.dropTree(tree) }
        }
        return kept
    }

    /// Has a writer know of the delete rules, or drops those that cannot be read.
    private mutating func mendRules(_ tx: borrowing WriteTransaction) throws(RecordError) {
        do throws(RecordError) { try ReferenceRules.announce(in: tx) } catch .catalogueDamaged(let reason) {
            try ReferenceRules().store(in: tx)
            report.findings.append("\(reason); they are declared anew when the file is opened with its types")
        }
    }

    /// Numbers of tables must not be given again, nor row ids be other than numbers.
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

    // MARK: A table

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
        tell(of: record, in: &table)
        try dropDamagedRows(handle, &table, tx)
        try dropConflicts(handle, &table, tx)
        try buildIndexes(handle, &table, tx)
        table.rows = try handle.count(in: tx.view)
        report.tables.append(table)
    }

    /// What the engine knows of the table's rows.
    private func tell(of record: TableRecord, in table: inout TableSalvageReport.Table) {
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

    /// Rows that the layout does not fit, and keys that are not of this table.
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

    /// Of rows that share what must be unique the last one stays.
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
                // Long values differ in their entries though they are the same; the build alone sees that.
                guard case .uniqueViolation(_, _, _, let row) = error, try handle.contains(row.key, in: tx.view) else {
                    throw error
                }
                try leaveOut(row.key, handle, &table, tx)
            }
        }
    }
}
