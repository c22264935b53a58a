#if Postgres
    import MakoRecords

    /// What PostgreSQL shows: a commit of a database. It is stored in the transaction that shows it.
    struct MirrorToken: Hashable {
        /// The identity of the history, which is that of the database while it keeps one.
        let history: String
        /// The commit whose state the tables have.
        let commit: UInt64
        /// The last record of the history at that commit, from which the next step goes on.
        let point: HistoryPoint

        init(_ head: StoredHistory.Head, commit: UInt64, point: HistoryPoint) {
            history = "\(head.high).\(head.low)"
            self.commit = commit
            self.point = point
        }

        init?(_ fields: [String?]) {
            guard fields.count == 4, let history = fields[0], let commit = fields[1].flatMap({ UInt64($0) }),
                let number = fields[2].flatMap({ UInt64($0) }), let mark = fields[3].flatMap({ UInt64($0) })
            else { return nil }
            self.history = history
            self.commit = commit
            point = HistoryPoint(number: number, mark: mark)
        }

        static let columns = "history, commit, point, mark"

        /// The values of ``columns``.
        var values: String { "'\(history)', \(commit), \(point.number), \(point.mark)" }
    }

    /// A table as the mirror has made it.
    struct MirroredTable {
        let number: UInt32
        let name: String
        let definition: String
        let lastOrdinal: Int

        init?(_ fields: [String?]) {
            guard fields.count == 4, let number = fields[0].flatMap({ UInt32($0) }), let name = fields[1],
                let definition = fields[2], let ordinal = fields[3].flatMap({ Int($0) })
            else { return nil }
            self.number = number
            self.name = name
            self.definition = definition
            lastOrdinal = ordinal
        }

        static let columns = "number, name, definition, ordinal"
    }

    /// The rows that changed between two commits, by the numbers of their tables.
    struct MirrorChanges {
        private(set) var keys: [UInt32: Set<RowKey>] = [:]
        /// Tables whose rows must be read again.
        private(set) var rewritten: Set<UInt32> = []

        /// - Parameter limit: the number of keys to hold; a table that exceeds it is read again.
        mutating func add(_ record: HistoryRecord, limit: Int) {
            for table in record.tables where table.isRewritten { rewrite(table.number) }
            for span in record.spans {
                let number = record.tables[span.table].number
                if rewritten.contains(number) { continue }
                guard Int(span.count) + count <= limit else {
                    rewrite(number)
                    continue
                }
                count += Int(span.count)
                if let first = span.key.rowID {
                    for id in first...(first + (Int64(span.count) - 1)) { keys[number, default: []].insert(.rowID(id)) }
                } else {
                    keys[number, default: []].insert(span.key)
                }
            }
        }

        private var count = 0

        private mutating func rewrite(_ number: UInt32) {
            rewritten.insert(number)
            keys[number] = nil
        }
    }
#endif
