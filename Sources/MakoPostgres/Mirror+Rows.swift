#if Postgres
    import MakoRecords
    import MakoStorage

    /// A table whose rows are brought to PostgreSQL.
    struct TableWork {
        let handle: TableHandle
        let table: PostgresTable
        let view: Snapshot
    }

    /// Rows that are sent with one statement.
    private struct RowBatch {
        private(set) var text = ""
        private(set) var count = 0

        static let rowLimit = 1000
        static let byteLimit = 512 << 10

        var isFull: Bool { count >= RowBatch.rowLimit || text.utf8.count >= RowBatch.byteLimit }

        mutating func add(_ fields: [String?]) {
            text += (count == 0 ? "(" : ", (") + fields.map { PostgresText.literal($0) }.joined(separator: ", ") + ")"
            count += 1
        }
    }

    extension Mirror {
        private static let pieceBytes = 256 << 10

        /// Copies all rows of a table.
        func load(_ work: TableWork, into target: String) throws(PostgresError) {
            try connection.copy(work.table.copy(target)) { (send) throws(PostgresError) in
                var text = ""
                try named {
                    try work.handle.scan(in: work.view) { key, row in
                        text += PostgresText.copyLine(try work.table.fields(key, row, of: work.handle))
                        report.loadedRows += 1
                        if text.utf8.count >= Mirror.pieceBytes {
                            try send(text)
                            text = ""
                            try goOn(work)
                        }
                        return true
                    }
                }
                if !text.isEmpty { try send(text) }
                try goOn(work)
            }
        }

        /// Brings rows to the state of the snapshot: those that it has are inserted or updated, the others deleted.
        func apply(_ keys: Set<RowKey>, _ work: TableWork) throws(PostgresError) {
            var deleted = RowBatch()
            var changed: [RowKey] = []
            for key in keys {
                // A key of another form is from before a change of the key, which has rewritten the table.
                guard let fields = try work.table.keyFields(key, of: work.handle) else { continue }
                if try named({ try work.handle.contains(key, in: work.view) }) {
                    changed.append(key)
                } else {
                    deleted.add(fields)
                    if deleted.isFull { try delete(&deleted, work) }
                }
            }
            try delete(&deleted, work)
            var rows = RowBatch()
            for key in changed {
                try named {
                    _ = try work.handle.withRow(key, in: work.view) { row in
                        rows.add(try work.table.fields(key, row, of: work.handle))
                    }
                }
                if rows.isFull { try upsert(&rows, work) }
            }
            try upsert(&rows, work)
        }

        private func delete(_ batch: inout RowBatch, _ work: TableWork) throws(PostgresError) {
            if batch.count == 0 { return }
            try connection.execute(work.table.delete(place(work.table.name), keys: batch.text))
            report.deletedRows += batch.count
            batch = RowBatch()
            try goOn(work)
        }

        private func upsert(_ batch: inout RowBatch, _ work: TableWork) throws(PostgresError) {
            if batch.count == 0 { return }
            try connection.execute(work.table.upsert(place(work.table.name), rows: batch.text))
            report.changedRows += batch.count
            batch = RowBatch()
            try goOn(work)
        }

        private func goOn(_ work: TableWork) throws(PostgresError) {
            if !progress(work.table.name, report) { throw .cancelled }
        }
    }
#endif
