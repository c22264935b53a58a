import MakoStorage

/// What a check of a whole database found.
public struct DatabaseReport: Sendable, Hashable {
    /// What is damaged; empty when nothing is.
    public internal(set) var findings: [String] = []
    /// What is damaged of the few pages that are there twice: nothing is lost by it yet.
    public internal(set) var damagedCopies: [String] = []
    /// References that lead to rows which are not there. The file is whole with them.
    public internal(set) var danglingReferences: [DanglingReferences] = []
    public internal(set) var tables = 0
    public internal(set) var rows = 0
    /// Pages that were read and checked.
    public internal(set) var pages = 0

    /// Whether nothing at all is damaged.
    public var isClean: Bool { findings.isEmpty && damagedCopies.isEmpty }
}

extension Catalogue {
    /// Reads a whole database and says what does not hold: pages and trees, and in every table each index, full-text ones too, against the
    /// rows.
    ///
    /// - Parameter progress: told how many pages were checked, as by `Store.verify(progress:)`.
    /// - Throws: `RecordError.storage` when the store is closed or the system refuses to read. Damage is found, not thrown.
    public static func verify(
        _ store: Store, progress: @escaping (VerifyProgress) -> Void = { _ in }
    ) throws(RecordError) -> DatabaseReport {
        var report = DatabaseReport()
        // What opening passed over, and the fixed pages that are there twice.
        report.damagedCopies = store.stats.recovery.findings
        let storage = try engine { () throws(StorageError) in try store.verify(progress: progress) }
        report.pages = storage.pages
        report.findings = storage.findings.filter { !report.damagedCopies.contains($0) }
        do throws(RecordError) {
            let view = try engine { () throws(StorageError) in try store.snapshot() }
            defer { view.close() }
            let catalogue = try Catalogue.load(view: view)
            for table in catalogue.handles {
                report.check(table, in: view)
                report.checkReferences(of: table, catalogue, view)
            }
            report.findings += try StoredCatalogue.findings(StoredCatalogue.records(in: view), in: view)
            report.findings += try StoredHistory.findings(in: view)
        } catch { report.findings.append("the tables cannot be read: \(error)") }
        return report
    }
}

extension DatabaseReport {
    fileprivate mutating func check(_ table: TableHandle, in view: Snapshot) {
        tables += 1
        do throws(RecordError) {
            findings += try table.verify(in: view)
            rows += try table.count(in: view)
        } catch { findings.append("table \(table.schema.name): \(error)") }
    }

    fileprivate mutating func checkReferences(of table: TableHandle, _ catalogue: Catalogue, _ view: Snapshot) {
        do throws(RecordError) {
            danglingReferences += try catalogue.danglingReferences(of: table, in: view)
        } catch { findings.append("the references of table \(table.schema.name): \(error)") }
    }
}
