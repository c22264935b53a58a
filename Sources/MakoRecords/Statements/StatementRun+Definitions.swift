import MakoStorage

extension StatementRun {
    var changed: StatementOutcome {
        var outcome = StatementOutcome()
        outcome.changesSchema = true
        return outcome
    }

    // MARK: Tables

    func create(_ statement: CreateTableStatement, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> StatementOutcome
    {
        if TableName.isReserved(statement.table.name) {
            throw statement.table.at.error("tables of this name belong to the keyed stores")
        }
        let folded = Folding.folded(statement.table.name)
        if let known = catalogue.handles.first(where: { Folding.folded($0.schema.name) == folded }) {
            if statement.allowsExisting { return StatementOutcome() }
            throw statement.table.at.error("there is a table \(known.schema.name) already")
        }
        if let view = catalogue.findView(statement.table.name) {
            throw statement.table.at.error("there is a view \(view.name) already")
        }
        _ = try Catalogue.migrate(to: try statement.schema(catalogue), in: tx)
        return changed
    }

    func drop(
        _ statement: DropTableStatement, _ changes: inout ChangeSet, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> StatementOutcome {
        if let view = catalogue.findView(statement.table.name) {
            throw statement.table.at.error("\(view.name) is a view, which DROP VIEW removes")
        }
        let table: TableHandle
        do throws(RecordError) { table = try statement.table.findWritable(in: catalogue) } catch {
            if statement.allowsMissing, catalogue.table(named: statement.table.name) == nil {
                return StatementOutcome()
            }
            throw error
        }
        var removal = RowRemoval(catalogue)
        if !ignoresReferences, !(try removal.concernsRowsAlone(table, tx.view)) {
            try removal.refuseReferences(to: table, tx.view)
            try removal.noteOwned(by: try table.allKeys(in: tx.view), table, tx.view)
            // Dropping the table removes its rows; they are not recorded as single changes.
            var own = changes.empty
            try table.deleteAll(in: tx, changes: &own)
            try removal.finish(tx, &changes)
        }
        _ = try Catalogue.dropTable(table.schema.name, in: tx)
        return changed
    }

    // MARK: Indexes

    func create(_ statement: CreateIndexStatement, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> StatementOutcome
    {
        let target = try statement.table.findWritable(in: catalogue)
        let name = statement.name.name
        let known = catalogue.handles.filter { $0.schema.indexes.contains { $0.name == name } }
        if known.contains(where: { $0.schema.name == target.schema.name }) {
            if statement.allowsExisting { return StatementOutcome() }
            throw statement.name.at.error("\(target.schema.name) has an index \(name) already")
        }
        var index = IndexSchema(
            name, [], isUnique: statement.isUnique, where: statement.condition, isSpatial: statement.isSpatial)
        for part in statement.places(in: target) {
            if part.column.isID(of: target) {
                throw part.column.at.error("\(part.column.name) is the key, by which rows are found as it is")
            }
            let column = try part.column.find(in: target)
            if part.collation == true && column.type != .text {
                throw part.column.at.error(
                    "\(target.schema.name).\(column.name) holds \(column.type.name); only text has a no-case order")
            }
            index.columns.append(
                IndexColumn(column.name, descending: part.descending, noCase: part.collation ?? column.isNoCase))
        }
        var schema = target.schema
        schema.indexes.append(index)
        _ = try Catalogue.migrate(to: schema, in: tx)
        return changed
    }

    func drop(_ statement: DropIndexStatement, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> StatementOutcome
    {
        guard let owner = try statement.owner(catalogue) else { return StatementOutcome() }
        if owner.schema.keyIndex?.name == statement.name.name {
            throw statement.name.at.error(
                "\(statement.name.name) keeps the keys of \(owner.schema.name) apart without regard to case; it goes with the table"
            )
        }
        var schema = owner.schema
        schema.indexes.removeAll { $0.name == statement.name.name }
        _ = try Catalogue.migrate(to: schema, in: tx)
        return changed
    }
}

extension CreateIndexStatement {
    /// Returns the columns; for a spatial index of a coordinate, those of its parts.
    fileprivate func places(in table: TableHandle) -> [Part] {
        guard isSpatial, parts.count == 1, let part = parts.first, table.schema.column(named: part.column.name) == nil
        else { return parts }
        return ["_latitude", "_longitude"].map {
            Part(
                column: ColumnName(name: part.column.name + $0, at: part.column.at), descending: part.descending,
                collation: part.collation)
        }
    }
}

extension DropIndexStatement {
    /// The name of the index.
    package var index: String { name.name }

    /// Returns the table of the index; `nil` if there is none and IF EXISTS is given.
    ///
    /// - Throws: `syntax` if several tables have an index of that name, or none.
    package func owner(_ catalogue: Catalogue) throws(RecordError) -> TableHandle? {
        let tables: [TableHandle]
        if let table { tables = [try table.findWritable(in: catalogue)] } else { tables = catalogue.handles }
        let owners = tables.filter { $0.schema.indexes.contains { $0.name == name.name } }
        if owners.count > 1 {
            let names = owners.map(\.schema.name).joined(separator: ", ")
            throw name.at.error("several tables have an index \(name.name): \(names); say DROP INDEX … ON one of them")
        }
        if let owner = owners.first {
            if TableName.isReserved(owner.schema.name) {
                throw name.at.error("\(owner.schema.name) belongs to the keyed stores")
            }
            return owner
        }
        if allowsMissing { return nil }
        throw name.at.error(
            "there is no index \(name.name)",
            nearest: Spelling.nearest(to: name.name, in: tables.flatMap { $0.schema.indexes.map(\.name) }))
    }
}

extension CreateTableStatement {
    /// Returns the schema of the table.
    func schema(_ catalogue: Catalogue) throws(RecordError) -> EntitySchema {
        let keys = try keyNames()
        var rowID: Column?
        if keys.count == 1, let column = columns.first(where: { $0.name.name == keys[0] }), column.type == .integer,
            column.target == nil
        {
            rowID = column
        }
        var schema = EntitySchema(name: table.name, columns: [], key: .rowID(column: freeIDName()))
        if let rowID {
            schema.key = .rowID(column: rowID.name.name)
            if !rowID.defaultValue.isNull {
                throw rowID.defaultAt.error("ids are given by the table; they have no default")
            }
        } else if !keys.isEmpty {
            schema.key = .columns(keys)
        } else {
            schema.hidesID = true
        }
        for column in columns where column.name != rowID?.name {
            if schema.column(named: column.name.name) != nil {
                throw column.name.at.error("the table has a column \(column.name.name) already")
            }
            schema.columns.append(try self.schema(column, isKey: keys.contains(column.name.name), catalogue))
        }
        try addUniques(to: &schema, rowID)
        return schema
    }

    private func addUniques(to schema: inout EntitySchema, _ rowID: Column?) throws(RecordError) {
        func add(_ names: [ColumnName], _ at: SourcePosition) throws(RecordError) {
            var parts: [IndexColumn] = []
            for name in names {
                guard let column = columns.first(where: { $0.name.name == name.name }), name.name != rowID?.name.name
                else { throw name.at.error("the table has no column \(name.name) that could be unique") }
                parts.append(IndexColumn(name.name, noCase: column.noCase))
            }
            let name = parts.map(\.name).joined(separator: ",")
            if schema.indexes.contains(where: { $0.name == name }) { return }
            schema.indexes.append(IndexSchema(name, parts, isUnique: true))
        }
        for column in columns where column.isUnique && column.name != rowID?.name {
            try add([column.name], column.name.at)
        }
        for names in unique { try add(names, names[0].at) }
    }

    /// Returns the key columns; empty for a table with row ids.
    private func keyNames() throws(RecordError) -> [String] {
        let marked = columns.filter(\.isPrimaryKey)
        if let second = marked.dropFirst().first {
            throw second.name.at.error("a key of several columns is said behind them: PRIMARY KEY (a, b)")
        }
        if let first = marked.first {
            if let other = primaryKey.first { throw other.at.error("the table has a primary key already") }
            return [first.name.name]
        }
        for name in primaryKey where !columns.contains(where: { $0.name.name == name.name }) {
            throw name.at.error(
                "the table has no column \(name.name)",
                nearest: Spelling.nearest(to: name.name, in: columns.map(\.name.name)))
        }
        return primaryKey.map(\.name)
    }

    private func freeIDName() -> String {
        for name in ["id", "rowid", "_id"] where !columns.contains(where: { Folding.folded($0.name.name) == name }) {
            return name
        }
        return "mako_id"
    }

    private func schema(
        _ column: Column, isKey: Bool, _ catalogue: Catalogue
    ) throws(RecordError) -> ColumnSchema {
        var type = column.type ?? .reference
        var target = column.target
        if let spelled = target {
            // By its exact name, whatever the spelling in the statement, because references find the table by that.
            let named = TableName(name: name(of: spelled, catalogue), at: spelled.at)
            target = named
            let key = try targetKeyType(named, catalogue, mustExist: column.type == nil)
            // Row ids are integers; a reference also has their table.
            if column.type == nil { type = key ?? .reference }
            if column.type == .integer && (key ?? .reference) == .reference { type = .reference }
        }
        guard let value = type.coerced(column.defaultValue) else {
            throw column.defaultAt.error(
                "\(column.name.name) holds \(type.name), not \(column.defaultValue)"
                    + DateText.hint(expected: type.name, found: "\(column.defaultValue)"))
        }
        if column.noCase && type != .text {
            throw column.collationAt.error("\(column.name.name) holds \(type.name); only text has a collation")
        }
        return ColumnSchema(
            column.name.name, type, isOptional: !column.isRequired && !isKey, default: value,
            target: target?.name, isNoCase: column.noCase)
    }

    /// Returns the exact name of a table that a statement names, possibly the new one; as written if it does not exist
    /// yet.
    private func name(of target: TableName, _ catalogue: Catalogue) -> String {
        if target.name == table.name { return table.name }
        if let other = try? catalogue.requireTable(target.name) { return other.schema.name }
        return Folding.folded(target.name) == Folding.folded(table.name) ? table.name : target.name
    }

    /// Returns the type of references to a table; `nil` if it does not exist yet.
    private func targetKeyType(
        _ target: TableName, _ catalogue: Catalogue, mustExist: Bool
    ) throws(RecordError) -> ColumnType? {
        if target.name == table.name {
            return try keyNames().first.flatMap { name in columns.first { $0.name.name == name }?.type }
                .map { $0 == .integer ? .reference : $0 } ?? .reference
        }
        guard let other = catalogue.table(named: target.name) else {
            if mustExist { _ = try target.find(in: catalogue) }
            return nil
        }
        switch other.schema.key {
        case .rowID: return .reference
        case .columns(let names):
            guard names.count == 1, let column = other.schema.column(named: names[0]) else {
                throw target.at.error("\(target.name) has a key of several columns, which a column cannot refer to")
            }
            return column.type
        }
    }
}

extension EntitySchema {
    /// The result of `PRAGMA table_info`.
    var information: QueryRows {
        var rows: [[Value]] = []
        func add(_ name: String, _ type: String, _ required: Bool, _ standard: Value, _ key: Int) {
            rows.append([
                .integer(Int64(rows.count)), .text(name), .text(type), .integer(required ? 1 : 0),
                standard.isNull ? .null : .text(standard.description), .integer(Int64(key)),
            ])
        }
        if let idColumn, !hidesID { add(idColumn, "INTEGER", true, .null, 1) }
        var keys: [String] = []
        if case .columns(let names) = key { keys = names }
        for column in liveColumns {
            add(
                column.name, column.type.statementName, !column.isOptional, column.defaultValue,
                keys.firstIndex(of: column.name).map { $0 + 1 } ?? 0)
        }
        return QueryRows(columns: ["cid", "name", "type", "notnull", "dflt_value", "pk"], rows: rows)
    }
}

extension ColumnType {
    /// The name of the type in `CREATE TABLE`.
    public var statementName: String {
        switch self {
        case .bool: "BOOLEAN"
        case .integer, .reference: "INTEGER"
        case .unsigned: "UNSIGNED"
        case .double: "REAL"
        case .text: "TEXT"
        case .blob: "BLOB"
        case .keys: "KEYS"
        case .date: "DATE"
        case .uuid: "UUID"
        }
    }
}
