import MakoStorage

/// The limits of the history; `nil` for no limit. The newest record is always kept.
package struct HistoryLimits: Sendable, Hashable {
    /// The number of records, one for each commit.
    package var transactions: UInt64?
    /// The age of records, in milliseconds.
    package var milliseconds: UInt64?
    /// The size of the records, without the tree that stores them.
    package var bytes: UInt64?

    /// Makes limits.
    package init(transactions: UInt64? = nil, milliseconds: UInt64? = nil, bytes: UInt64? = nil) {
        self.transactions = transactions
        self.milliseconds = milliseconds
        self.bytes = bytes
    }
}

/// The change history of a file. Its tree has the head under the key 0, and a record under the number of each commit.
package enum StoredHistory {
    static let treeName = "mako.history"

    /// The state of a file's history.
    ///
    /// Stored as: format (1) = 1, identity (8, 8), whether a history is kept (1), limits: transactions, milliseconds, bytes
    /// (8 each; all ones for none).
    package struct Head: Sendable, Hashable {
        /// The high half of the history's identity.
        package var high: UInt64
        /// The low half of the history's identity.
        package var low: UInt64
        /// Whether a history is kept.
        package var isKept: Bool
        /// The limits.
        package var limits: HistoryLimits

        init(high: UInt64, low: UInt64, limits: HistoryLimits) {
            self.high = high
            self.low = low
            self.limits = limits
            isKept = true
        }

        init(_ bytes: [UInt8]) throws(RecordError) {
            var source = ByteSource(bytes, what: "the head of the history")
            guard try source.byte() == HistoryRecord.format else {
                throw .catalogueDamaged(reason: "the head of the history has another format")
            }
            high = try source.number()
            low = try source.number()
            isKept = try source.byte() == 1
            limits = HistoryLimits(
                transactions: try Head.limit(&source), milliseconds: try Head.limit(&source),
                bytes: try Head.limit(&source))
            guard source.isAtEnd else { throw source.damaged }
        }

        private static func limit(_ source: inout ByteSource) throws(RecordError) -> UInt64? {
            let number: UInt64 = try source.number()
            return number == .max ? nil : number
        }

        var encoded: [UInt8] {
            var out = ByteSink()
            out.byte(HistoryRecord.format)
            out.number(high)
            out.number(low)
            out.byte(isKept ? 1 : 0)
            for limit in [limits.transactions, limits.milliseconds, limits.bytes] { out.number(limit ?? .max) }
            return out.bytes
        }
    }

    /// Returns the head; `nil` in a file that has never had a history.
    package static func head(in view: Snapshot) throws(RecordError) -> Head? {
        guard let tree = view.tree(named: treeName) else { return nil }
        return try head(tree, view)
    }

    static func head(_ tree: Tree, _ view: Snapshot) throws(RecordError) -> Head? {
        let bytes = try engine { () throws(StorageError) in try view.get(0, in: tree) }
        return try bytes.map { (bytes) throws(RecordError) in try Head(bytes) }
    }

    /// Returns the end of the history; `nil` if it is empty.
    package static func end(in view: Snapshot) throws(RecordError) -> HistoryPoint? {
        guard let tree = view.tree(named: treeName) else { return nil }
        return try last(tree, view)?.record.point
    }

    /// Returns the newest record without its changes, and the position of the next one.
    static func last(_ tree: Tree, _ view: Snapshot) throws(RecordError) -> (record: HistoryRecord, end: UInt64)? {
        let found: (number: UInt64, bytes: [UInt8])? = try engine { () throws(StorageError) in
            var cursor = try view.cursor(in: tree)
            guard try cursor.last(), cursor.integerKey > 0 else { return nil }
            return (cursor.integerKey, try cursor.value())
        }
        guard let found else { return nil }
        let record = try HistoryRecord(number: found.number, headOf: found.bytes)
        return (record, record.position &+ UInt64(found.bytes.count))
    }

    /// Returns the first record from a number on, without its changes.
    static func first(
        from number: UInt64, _ tree: Tree, _ view: Snapshot
    ) throws(RecordError) -> HistoryRecord? {
        let found: (number: UInt64, bytes: [UInt8])? = try engine { () throws(StorageError) in
            var cursor = try view.cursor(in: tree)
            return try cursor.seek(max(number, 1)) ? (cursor.integerKey, try cursor.value()) : nil
        }
        return try found.map { (found) throws(RecordError) in
            try HistoryRecord(number: found.number, headOf: found.bytes)
        }
    }
}

/// A page of consecutive records of a history.
package struct HistoryPage: Sendable {
    /// Whether the history no longer has all records after the requested position; then there are no records.
    package private(set) var isMissed = false
    /// The end of the history.
    package let end: HistoryPoint
    /// The records.
    package private(set) var records: [HistoryRecord] = []
    /// Whether no records follow.
    package private(set) var isLast = true

    /// The largest number of spans of a page, except for a single record.
    private static let spanLimit = 4096

    /// Reads the records after a position; `nil` to start with the oldest.
    ///
    /// - Returns: `nil` if no history is kept.
    /// - Complexity: linear in what is read, at most `limit` records.
    package init?(after point: HistoryPoint?, limit: Int, in view: Snapshot) throws(RecordError) {
        guard let tree = view.tree(named: StoredHistory.treeName), let end = try StoredHistory.last(tree, view),
            try StoredHistory.head(tree, view)?.isKept == true
        else { return nil }
        self.end = end.record.point
        if let point, try !HistoryPage.isKept(point, tree, view) {
            isMissed = true
            return
        }
        var number = point.map { $0.number &+ 1 } ?? 1
        var previous = point
        var spans = 0
        while number > 0 {
            let found = try HistoryPage.record(from: number, tree, view)
            guard let record = found else { return }
            if records.count >= limit || spans >= HistoryPage.spanLimit {
                isLast = false
                return
            }
            if let previous, record.previous != previous {
                isMissed = records.isEmpty
                isLast = isMissed
                return
            }
            previous = record.point
            spans += record.spans.count
            records.append(record)
            number = record.number &+ 1
        }
    }

    /// Returns whether the history has everything after a position: its own record, or the one that follows it.
    static func isKept(_ point: HistoryPoint, _ tree: Tree, _ view: Snapshot) throws(RecordError) -> Bool {
        guard point.number > 0, let first = try StoredHistory.first(from: point.number, tree, view) else {
            return false
        }
        return first.point == point || first.previous == point
    }

    private static func record(
        from number: UInt64, _ tree: Tree, _ view: Snapshot
    ) throws(RecordError) -> HistoryRecord? {
        let found: (number: UInt64, bytes: [UInt8])? = try engine { () throws(StorageError) in
            var cursor = try view.cursor(in: tree)
            return try cursor.seek(number) ? (cursor.integerKey, try cursor.value()) : nil
        }
        return try found.map { (found) throws(RecordError) in
            try HistoryRecord(number: found.number, bytes: found.bytes)
        }
    }
}
