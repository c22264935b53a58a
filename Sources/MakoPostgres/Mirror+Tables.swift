#if Postgres
    import MakoRecords
    import MakoStorage

    /// How a table in PostgreSQL becomes that of the snapshot.
    private enum TableStep {
        /// The table is right; changed rows follow.
        case keep
        case create
        /// Columns were added, with a value for the rows that exist.
        case addColumns([PostgresTable.Column])
        /// Rows are replaced in the table, so that readers of older snapshots see the older rows.
        case reload
        /// A new table takes the name of the old one.
        case replace
    }

    extension Mirror {
        /// Applies changes to all tables.
        ///
        /// - Parameters:
        ///   - changes: `nil` to load all tables.
        ///   - keepsTables: whether tables of PostgreSQL are those of this database.
        func apply(
            _ changes: MirrorChanges?, _ catalogue: Catalogue, _ view: Snapshot, keepsTables: Bool
        ) throws(PostgresError) {
            var mirrored = try mirroredTables()
            for (number, table) in mirrored where !keepsTables || catalogue.table(numbered: number) == nil {
                try connection.execute("DROP TABLE IF EXISTS \(place(table.name))")
                try connection.execute("DELETE FROM \(place("mako_mirror_tables")) WHERE number = \(number)")
                mirrored[number] = nil
                report.changedTables += 1
            }
            try rename(mirrored, catalogue)
            for handle in catalogue.handles {
                let table = try PostgresTable(handle.schema)
                if Mirror.isReserved(table.name) {
                    throw .name(table.name, reason: "names that begin with mako_mirror are those of the mirror")
                }
                let isLoaded = changes.map { $0.rewritten.contains(handle.number) } ?? true
                let old = mirrored[handle.number]
                let step = Mirror.step(old, table, handle, isLoaded: isLoaded)
                let work = TableWork(handle: handle, table: table, view: view)
                try perform(step, work)
                try note(work, replacing: old)
                switch step {
                case .keep, .addColumns: try apply(changes?.keys[handle.number] ?? [], work)
                case .create, .reload, .replace: break
                }
            }
        }

        private static func isReserved(_ name: String) -> Bool { name.hasPrefix("mako_mirror") }

        private static func step(
            _ old: MirroredTable?, _ table: PostgresTable, _ handle: TableHandle, isLoaded: Bool
        ) -> TableStep {
            guard let old else { return .create }
            if old.definition == table.definition() { return isLoaded ? .reload : .keep }
            let isExtended = old.definition == table.definition(until: old.lastOrdinal)
            let added = table.columns.filter { $0.ordinal > old.lastOrdinal }
            let haveValues = added.allSatisfy { !$0.isRequired || !handle.valueInOlderRows($0).isNull }
            return isExtended && haveValues && !isLoaded ? .addColumns(added) : .replace
        }

        private func mirroredTables() throws(PostgresError) -> [UInt32: MirroredTable] {
            let rows = try connection.rows(
                "SELECT \(MirroredTable.columns) FROM \(place("mako_mirror_tables")) ORDER BY number")
            return rows.reduce(into: [:]) { tables, row in
                if let table = MirroredTable(row) { tables[table.number] = table }
            }
        }

        /// Renames tables in two steps, because one may take the name of another.
        private func rename(_ mirrored: [UInt32: MirroredTable], _ catalogue: Catalogue) throws(PostgresError) {
            let renamed = mirrored.values.compactMap { table in
                catalogue.table(numbered: table.number).map { (table, new: $0.schema.name) }
            }.filter { $0.0.name != $0.new }
            for (table, _) in renamed {
                try connection.execute(
                    "ALTER TABLE \(place(table.name)) RENAME TO \(PostgresText.name(Mirror.temporary(table.number)))")
            }
            for (table, new) in renamed {
                try PostgresTable.check(new)
                try connection.execute(
                    "ALTER TABLE \(place(Mirror.temporary(table.number))) RENAME TO \(PostgresText.name(new))")
            }
        }

        private static func temporary(_ number: UInt32) -> String { "mako_mirror_new_\(number)" }

        /// The name of the index of the primary key: by number, because a table that takes the name of another leaves it that one's index.
        private static func keyName(_ number: UInt32) -> String { "mako_mirror_key_\(number)" }

        private static func temporaryKey(_ number: UInt32) -> String { "mako_mirror_new_key_\(number)" }

        private func perform(_ step: TableStep, _ work: TableWork) throws(PostgresError) {
            let target = place(work.table.name)
            switch step {
            case .keep: break
            case .create:
                try connection.execute(work.table.create(target, keyName: Mirror.keyName(work.handle.number)))
                try load(work, into: target)
            case .reload:
                try connection.execute("DELETE FROM \(target)")
                try load(work, into: target)
            case .addColumns(let columns):
                for column in columns { try add(column, target, work) }
            case .replace:
                let new = Mirror.temporary(work.handle.number)
                let (key, newKey) = (Mirror.keyName(work.handle.number), Mirror.temporaryKey(work.handle.number))
                try connection.execute(work.table.create(place(new), keyName: newKey))
                try load(work, into: place(new))
                try connection.execute("DROP TABLE \(target)")
                try connection.execute("ALTER TABLE \(place(new)) RENAME TO \(PostgresText.name(work.table.name))")
                try connection.execute("ALTER INDEX \(place(newKey)) RENAME TO \(PostgresText.name(key))")
            }
        }

        private func add(
            _ column: PostgresTable.Column, _ target: String, _ work: TableWork
        ) throws(PostgresError) {
            let name = PostgresText.name(column.name)
            let fill: String?
            do throws(PostgresType.Refusal) {
                fill = try column.type.text(work.handle.valueInOlderRows(column))
            } catch {
                throw .value(table: work.table.name, column: column.name, key: "DEFAULT", reason: error.reason)
            }
            let value = fill.map { " DEFAULT \(PostgresText.literal($0))" } ?? ""
            try connection.execute("ALTER TABLE \(target) ADD COLUMN \(column.definition)\(value)")
            if fill != nil { try connection.execute("ALTER TABLE \(target) ALTER COLUMN \(name) DROP DEFAULT") }
        }

        /// Stores the definition of a table.
        private func note(_ work: TableWork, replacing old: MirroredTable?) throws(PostgresError) {
            let (name, definition) = (work.table.name, work.table.definition())
            if let old, old.name == name, old.definition == definition, old.lastOrdinal == work.table.lastOrdinal {
                return
            }
            report.changedTables += 1
            let values = [name, definition].map { PostgresText.literal($0) }.joined(separator: ", ")
            try connection.execute(
                "INSERT INTO \(place("mako_mirror_tables")) (\(MirroredTable.columns)) "
                    + "VALUES (\(work.handle.number), \(values), \(work.table.lastOrdinal)) "
                    + "ON CONFLICT (number) DO UPDATE SET name = EXCLUDED.name, definition = EXCLUDED.definition, "
                    + "ordinal = EXCLUDED.ordinal")
        }
    }

    extension TableHandle {
        fileprivate func valueInOlderRows(_ column: PostgresTable.Column) -> Value {
            schema.column(named: column.name)?.valueInOlderRows ?? .null
        }
    }
#endif
