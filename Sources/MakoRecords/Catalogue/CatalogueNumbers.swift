import MakoStorage

// Consistency checks of the catalogue's numbers. Pages with valid checksums may still have inconsistent numbers: a
// number shared by two tables gives wrong results for one of them.
extension StoredCatalogue {
    /// - Throws: `RecordError.catalogueDamaged` if two tables have the same number, and so the same rows.
    static func checkNumbers(of records: [TableRecord]) throws(RecordError) {
        var names: [UInt32: String] = [:]
        for record in records {
            let name = record.schema.name
            if record.id == 0 { throw .catalogueDamaged(reason: "table \(name) has the number 0, which no table has") }
            if let other = names.updateValue(name, forKey: record.id) {
                throw .catalogueDamaged(reason: "tables \(other) and \(name) have the same number, \(record.id)")
            }
        }
    }

    /// Returns the inconsistencies of the catalogue's counters, row ids and table versions.
    static func findings(_ records: [TableRecord], in view: Snapshot) throws(RecordError) -> [String] {
        guard let catalogue = view.tree(named: Catalogue.treeName) else { return [] }
        var findings: [String] = []
        let numbers = Set(records.map(\.id))
        do throws(RecordError) {
            let next = try nextTableID(catalogue, view)
            if let last = numbers.max(), next <= last {
                findings.append("the number of the next table is \(next), but table \(last) is there")
            }
        } catch {
            if case .storage = error { throw error }
            findings.append("\(error)")
        }
        for (key, bytes) in try entries(catalogue, from: [0, 0], to: [1], view) where key.count == 5 {
            let table = key.dropFirst().reduce(0) { $0 << 8 | UInt32($1) }
            if !numbers.contains(table) {
                findings.append("the version of table \(table), which is not there, is stored")
            }
            if bytes.count != 8 { findings.append("the version of table \(table) is not a number") }
        }
        return try findings + idFindings(records, view)
    }

    private static func idFindings(_ records: [TableRecord], _ view: Snapshot) throws(RecordError) -> [String] {
        guard let tree = view.tree(named: RowIDSequence.treeName) else { return [] }
        var findings: [String] = []
        var names: [UInt64: String] = [:]
        for record in records where record.schema.idColumn != nil { names[UInt64(record.id)] = record.schema.name }
        do throws(StorageError) {
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.first()
            while isThere {
                let table = cursor.integerKey
                let bytes = try cursor.value()
                if let name = names[table] {
                    if RowIDSequence.number(bytes).map({ $0 < 1 }) ?? true {
                        findings.append("the next id of table \(name) is not a number that an id can be")
                    }
                } else {
                    findings.append("the next id of table \(table), which is not there or gives no ids, is stored")
                }
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return findings
    }

    /// Returns the entries of the catalogue's tree in a key range.
    static func entries(
        _ tree: Tree, from lower: [UInt8], to upper: [UInt8], _ view: Snapshot
    ) throws(RecordError) -> [(key: [UInt8], bytes: [UInt8])] {
        var entries: [([UInt8], [UInt8])] = []
        do throws(StorageError) {
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.seek(lower)
            while isThere, cursor.key.lexicographicallyPrecedes(upper) {
                entries.append((cursor.key, try cursor.value()))
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return entries
    }
}
