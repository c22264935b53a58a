import MakoStorage

extension Catalogue {
    package static let treeName = "mako.catalogue"

    /// Loads the catalogue. A database without one has no tables.
    ///
    /// - Parameter previous: the present catalogue of the session, whose row id counters are taken over.
    /// - Throws: `RecordError.catalogueDamaged`, `RecordError.storage`.
    package static func load(view: Snapshot, previous: Catalogue? = nil) throws(RecordError) -> Catalogue {
        let records = try StoredCatalogue.records(in: view)
        let views = try ViewSchema.stored(in: view)
        if records.isEmpty { return Catalogue([], views: views) }
        let idTree = try StoredCatalogue.idTree(in: view)
        var sequences: [UInt32: RowIDSequence] = [:]
        for handle in previous?.handles ?? [] { sequences[handle.id] = handle.ids }
        var handles: [TableHandle] = []
        for record in records {
            handles.append(
                try StoredCatalogue.handle(record, idTree, sequences[record.id] ?? RowIDSequence(), view))
        }
        return Catalogue(handles, try ReferenceRules.stored(in: view), views: views)
    }

    /// Returns whether two snapshots have the same tables and indexes. O(1) within one opening of a file; otherwise the
    /// stored entries are compared.
    package static func isSame(_ earlier: Snapshot, _ later: Snapshot) throws(RecordError) -> Bool {
        guard let tree = later.tree(named: treeName), earlier.tree(named: treeName) == tree else {
            return later.tree(named: treeName) == nil && earlier.tree(named: treeName) == nil
        }
        if try engine({ () throws(StorageError) in try later.sharesWhole(tree, with: earlier) }) { return true }
        let (old, new) = (try StoredCatalogue.entries(in: earlier), try StoredCatalogue.entries(in: later))
        guard old.elementsEqual(new, by: ==),
            try ViewSchema.stored(in: earlier) == ViewSchema.stored(in: later)
        else { return false }
        // Another file that has replaced this one may have other trees under these names.
        return try StoredCatalogue.records(in: later).allSatisfy { record in
            let names = [record.rowsTree] + record.indexes.map { record.indexTree($0.id) }
            return names.allSatisfy { earlier.tree(named: $0) == later.tree(named: $0) }
        }
    }

    /// Drops a table with its rows and indexes; returns `false` if there is none.
    ///
    /// - Parameter isReplaced: whether a table with the same keys takes its place, so that hidden references stay.
    package static func dropTable(
        _ name: String, isReplaced: Bool = false, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> Bool {
        let view = tx.view
        let records = try StoredCatalogue.records(in: view)
        guard let record = records.first(where: { $0.schema.name == name }),
            let catalogue = view.tree(named: treeName), let ids = view.tree(named: RowIDSequence.treeName)
        else { return false }
        do throws(StorageError) {
            for tree in [record.rowsTree] + record.indexes.map({ record.indexTree($0.id) }) {
                if let tree = view.tree(named: tree) { try tx.dropTree(tree) }
            }
            _ = try tx.delete(UInt64(record.id), in: ids)
            // The name that is stored may have another composition.
            _ = try tx.delete(StoredCatalogue.key(record.schema.name), in: catalogue)
            try StoredCatalogue.forgetStepVersion(of: record.id, catalogue, tx)
        } catch { throw .storage(error) }
        let rules = try ReferenceRules.stored(in: tx.view)
        let left = rules.without(table: record.schema.name)
        if left != rules { try left.store(in: tx) }
        if isReplaced { return true }
        for other in records where other.id != record.id {
            let after = other.withoutRetired(referringTo: record.schema.name)
            if after != other { try StoredCatalogue.store(after, catalogue, tx) }
        }
        return true
    }
}

/// Access to the catalogue's tree.
enum StoredCatalogue {
    static func key(_ name: String) -> [UInt8] { [1] + Array(name.utf8) }

    static func records(in view: Snapshot) throws(RecordError) -> [TableRecord] {
        var records: [TableRecord] = []
        for (name, bytes) in try entries(in: view) { records.append(try record(name, bytes)) }
        try checkNumbers(of: records)
        resolveTargets(of: &records)
        return records
    }

    /// Decodes a table's entry.
    ///
    /// - Throws: `RecordError.catalogueDamaged`.
    static func record(_ name: String, _ bytes: [UInt8]) throws(RecordError) -> TableRecord {
        let record = try TableRecord(name: name, bytes: bytes)
        do { try record.schema.validateConditions() } catch { throw .catalogueDamaged(reason: "\(error)") }
        return record
    }

    /// Replaces the targets of columns by the exact names of their tables, so that names can be compared by bytes. The
    /// stored targets do not change, because the table may be created after the column, dropped, and created again in
    /// another case.
    private static func resolveTargets(of records: inout [TableRecord]) {
        var names = TargetNames(records.map(\.schema.name))
        for place in records.indices {
            for column in records[place].columns {
                guard let target = column.target else { continue }
                let name = names.name(of: target)
                if name != target { records[place].retarget(column.ordinal, to: name) }
            }
        }
    }

    /// Returns the tables' names with their stored entries.
    static func entries(in view: Snapshot) throws(RecordError) -> [(name: String, bytes: [UInt8])] {
        guard let tree = view.tree(named: Catalogue.treeName) else { return [] }
        return try entries(tree, from: [1], to: [2], view).map { key, bytes in
            (String(decoding: key.dropFirst(), as: UTF8.self), bytes)
        }
    }

    /// Returns the tree of next row ids, which exists since the first table was created.
    static func idTree(in view: Snapshot) throws(RecordError) -> Tree {
        guard let tree = view.tree(named: RowIDSequence.treeName) else {
            throw .catalogueDamaged(reason: "the tree \(RowIDSequence.treeName) is missing")
        }
        return tree
    }

    static func rowCount(of record: TableRecord, _ view: Snapshot) throws(RecordError) -> Int {
        guard let tree = view.tree(named: record.rowsTree) else { return 0 }
        return Int(clamping: try engine { () throws(StorageError) in try view.count(of: tree) })
    }

    static func handle(
        _ record: TableRecord, _ idTree: Tree, _ ids: RowIDSequence, _ view: Snapshot
    ) throws(RecordError) -> TableHandle {
        guard let rows = view.tree(named: record.rowsTree) else {
            throw .catalogueDamaged(reason: "the rows of table \(record.schema.name) are missing")
        }
        var indexTrees: [Tree] = []
        for index in record.indexes {
            guard let tree = view.tree(named: record.indexTree(index.id)) else {
                throw .catalogueDamaged(reason: "index \(index.schema.name) of table \(record.schema.name) is missing")
            }
            indexTrees.append(tree)
        }
        var conditions: [Int: any RowCondition] = [:]
        if record.indexes.contains(where: { $0.schema.condition != nil }) {
            var bare = record
            bare.indexes = []
            conditions = try IndexCondition.all(
                record, bare: TableHandle(record: bare, rows: rows, indexTrees: [], idTree: idTree, ids: ids))
        }
        return TableHandle(
            record: record, rows: rows, indexTrees: indexTrees, idTree: idTree, ids: ids, conditions: conditions)
    }

    /// Opens a table without its indexes, to read its rows.
    static func rows(of record: TableRecord, _ view: Snapshot) throws(RecordError) -> TableHandle {
        var bare = record
        bare.indexes = []
        return try handle(bare, try idTree(in: view), RowIDSequence(), view)
    }

    /// Returns the trees of the catalogue, which are created with the first table.
    static func trees(_ tx: borrowing WriteTransaction) throws(RecordError) -> (catalogue: Tree, ids: Tree) {
        let view = tx.view
        do throws(StorageError) {
            let catalogue: Tree
            if let tree = view.tree(named: Catalogue.treeName) {
                catalogue = tree
            } else {
                catalogue = try tx.createTree(named: Catalogue.treeName, keys: .bytes)
            }
            if let ids = view.tree(named: RowIDSequence.treeName) { return (catalogue, ids) }
            return (catalogue, try tx.createTree(named: RowIDSequence.treeName, keys: .integer))
        } catch { throw .storage(error) }
    }

    /// Removes the remains of a table that has got another number.
    static func forget(
        _ old: TableRecord, inFavourOf number: UInt32, _ trees: (catalogue: Tree, ids: Tree),
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let version = try stepVersion(of: old.id, in: tx.view)
        if version > 0 { try setStepVersion(version, of: number, trees.catalogue, tx) }
        do throws(StorageError) {
            for name in [old.rowsTree] + old.indexes.map({ old.indexTree($0.id) }) {
                if let tree = tx.view.tree(named: name) { try tx.dropTree(tree) }
            }
            _ = try tx.delete(UInt64(old.id), in: trees.ids)
            try forgetStepVersion(of: old.id, trees.catalogue, tx)
        } catch { throw .storage(error) }
    }

    static func takeTableID(_ catalogue: Tree, _ tx: borrowing WriteTransaction) throws(RecordError) -> UInt32 {
        let next = try nextTableID(catalogue, tx.view)
        guard next < .max else { throw .catalogueDamaged(reason: "it has given out every table number") }
        let rows = "\(TableRecord.rowsTreePrefix)\(next)"
        guard next > 0, tx.view.tree(named: rows) == nil else {
            throw .catalogueDamaged(reason: "it would give the number \(next) to a second table")
        }
        try setNextTableID(next + 1, catalogue, tx)
        return next
    }

    /// Returns the number of the next table.
    static func nextTableID(_ catalogue: Tree, _ view: Snapshot) throws(RecordError) -> UInt32 {
        guard let bytes = try engine({ () throws(StorageError) in try view.get([0], in: catalogue) }) else { return 1 }
        var source = ByteSource(bytes, what: "its header")
        guard try source.byte() == TableRecord.format else {
            throw .catalogueDamaged(reason: "its header has another format")
        }
        return try source.number()
    }

    private static func setNextTableID(_ next: UInt32, _ catalogue: Tree, _ tx: borrowing WriteTransaction)
        throws(RecordError)
    {
        var sink = ByteSink()
        sink.byte(TableRecord.format)
        sink.number(next)
        let bytes = sink.bytes
        try engine { () throws(StorageError) in try tx.put(bytes, for: [0], in: catalogue) }
    }

    /// Raises the number of the next table above those in use, whatever is stored.
    static func raiseTableID(above used: UInt32, _ catalogue: Tree, _ tx: borrowing WriteTransaction)
        throws(RecordError)
    {
        let bytes = try engine { () throws(StorageError) in try tx.view.get([0], in: catalogue) }
        var source = ByteSource(bytes ?? [], what: "its header")
        let format = try? source.byte()
        let stored: UInt32? = try? source.number()
        if format == TableRecord.format, let stored, stored > used { return }
        try setNextTableID(used == .max ? .max : used + 1, catalogue, tx)
    }

    static func store(_ record: TableRecord, _ catalogue: Tree, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let bytes = record.encoded()
        try engine { () throws(StorageError) in try tx.put(bytes, for: key(record.schema.name), in: catalogue) }
    }
}
