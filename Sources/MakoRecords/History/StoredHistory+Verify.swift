import MakoStorage

extension StoredHistory {
    /// Verifies the history: each record must be readable, follow the previous one, and start where that one ends.
    /// Returns the faults.
    static func findings(in view: Snapshot) throws(RecordError) -> [String] {
        guard let tree = view.tree(named: treeName) else { return [] }
        do throws(RecordError) {
            guard let head = try head(tree, view) else { return ["the history has no head"] }
            return try head.isKept ? records(tree, view) : []
        } catch {
            if case .storage = error { throw error }
            return ["\(error)"]
        }
    }

    private static func records(_ tree: Tree, _ view: Snapshot) throws(RecordError) -> [String] {
        var findings: [String] = []
        var last: (point: HistoryPoint, end: UInt64)?
        var number: UInt64 = 1
        while number > 0, findings.count < 100 {
            let found: (number: UInt64, bytes: [UInt8])? = try engine { () throws(StorageError) in
                var cursor = try view.cursor(in: tree)
                return try cursor.seek(number) ? (cursor.integerKey, try cursor.value()) : nil
            }
            guard let found else { break }
            do throws(RecordError) {
                let record = try HistoryRecord(number: found.number, bytes: found.bytes)
                if let last, record.previous != last.point {
                    findings.append("the history's record of commit \(found.number) does not follow the one before it")
                }
                if let last, record.position != last.end {
                    findings.append(
                        "the history's record of commit \(found.number) is not where the one before it ends")
                }
                last = (record.point, record.position &+ UInt64(found.bytes.count))
            } catch {
                findings.append("\(error)")
                last = nil
            }
            if found.number > view.commitNumber {
                findings.append("the history has a record of commit \(found.number), which was not made yet")
            }
            number = found.number &+ 1
        }
        return findings
    }
}
