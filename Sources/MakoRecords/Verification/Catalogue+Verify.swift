import MakoStorage

/// The report of a database verification.
public struct DatabaseReport: Sendable, Hashable {
    /// The faults found; empty if there are none.
    public internal(set) var findings: [String] = []
    /// Faults in pages that are stored twice, so that no data are lost yet.
    public internal(set) var damagedCopies: [String] = []
    /// References to missing rows. They are not damage of the file.
    public internal(set) var danglingReferences: [DanglingReferences] = []
    /// The number of tables verified.
    public internal(set) var tables = 0
    /// The number of rows verified.
    public internal(set) var rows = 0
    /// The number of pages read and verified.
    public internal(set) var pages = 0

    /// Whether no fault was found.
    public var isClean: Bool { findings.isEmpty && damagedCopies.isEmpty }
}

extension Catalogue {
    /// Verifies a whole database: pages and trees, and each index of every table, full-text ones included, against the
    /// rows.
    ///
    /// - Parameter progress: receives the number of pages verified, as from `Store.verify(progress:)`.
    /// - Throws: `RecordError.storage` if the store is closed or the system fails to read. Damage is reported, not
    ///   thrown.
    package static func verify(
        _ store: Store, progress: @escaping (VerifyProgress) -> Void = { _ in }
    ) throws(RecordError) -> DatabaseReport {
        var report = DatabaseReport()
        // What opening had to skip, and the meta pages, which are stored twice.
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
