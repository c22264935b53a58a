import MakoRecords

// The expected result of a migration that changes the key of a table, or the reason of its refusal.

extension RecordModel {
    /// - Parameter wanted: the table as it is, but for its key and what columns that refer to itself hold.
    mutating func rekey(to wanted: EntitySchema) throws(Refusal) {
        guard var table = tables[wanted.name] else { return }
        let keys = try table.keys(for: wanted.key)
        let move = Move(name: wanted.name, table: table, keys: keys, wanted: wanted.key, number: nextNumber)
        nextNumber += 1
        for name in names { try tables[name]?.follow(move) }
        table = tables[wanted.name] ?? table
        table.rekey(move)
        tables[wanted.name] = table
    }

    /// A table with another key.
    struct Move {
        let name: String
        let oldNumber: UInt32
        let number: UInt32
        let wasRowID: Bool
        let keys: [RowKey: RowKey]
        let wanted: KeySchema
        /// Of columns that refer to it; nil: none can.
        let type: ColumnType?

        init(name: String, table: ModelTable, keys: [RowKey: RowKey], wanted: KeySchema, number: UInt32) {
            self.name = name
            self.keys = keys
            self.wanted = wanted
            self.number = number
            oldNumber = table.number
            wasRowID = table.isRowID
            switch wanted {
            case .rowID: type = .reference
            case .columns(let names):
                type = names.count > 1 ? nil : table.schema.column(named: names[0])?.type
            }
        }

        /// The row that a column of another table refers to, under its new key; nil: there is none.
        fileprivate func row(_ value: Value) -> RowKey? {
            if !wasRowID { return keys[RowKey(values: [value])] }
            if case .integer(let id) = value { return keys[.rowID(id)] }
            return nil
        }

        /// A tree of keys without those of rows that are not there.
        fileprivate func followed(_ tree: KeyTree, isTarget: Bool) -> KeyTree? {
            switch tree {
            case .key(let key): isTarget ? keys[key].map { .key($0) } : tree
            case .foreign(let other, let key) where other == oldNumber:
                keys[key].map { isTarget ? .key($0) : .foreign(table: number, $0) }
            case .foreign(let other, let key): isTarget && other == number ? .key(key) : tree
            case .list(let trees): .list(trees.compactMap { followed($0, isTarget: isTarget) })
            case .named(let entries):
                .named(
                    entries.compactMap { entry in
                        followed(entry.tree, isTarget: isTarget).map { .init(name: entry.name, tree: $0) }
                    })
            }
        }
    }
}

extension ModelTable {
    /// The table as a migration is to make it that gives it another key.
    func schema(with key: KeySchema) -> EntitySchema {
        var wanted = schema
        wanted.key = key
        let move = RecordModel.Move(name: schema.name, table: self, keys: [:], wanted: key, number: 0)
        for place in wanted.columns.indices { wanted.columns[place].follow(move) }
        return wanted
    }

    fileprivate func keys(for key: KeySchema) throws(Refusal) -> [RowKey: RowKey] {
        var keys: [RowKey: RowKey] = [:]
        guard case .columns(let names) = key else {
            let places = keyPlaces
            let numbers = rows.map { row in
                if places.count == 1, case .integer(let id) = row.values[places[0]], id < .max {
                    id
                } else {
                    Int64?.none
                }
            }
            let areKept = numbers.allSatisfy { $0 != nil }
            for (place, row) in rows.enumerated() {
                keys[row.key] = .rowID(areKept ? numbers[place] ?? 0 : Int64(place) + 1)
            }
            return keys
        }
        let places = names.compactMap(place)
        var taken: Set<RowKey> = []
        for row in rows {
            let new = RowKey(values: places.map { row.values[$0] })
            if case .bytes(let bytes) = new, bytes.count > 900 { throw .conversion }
            if !taken.insert(new).inserted { throw .duplicateKey }
            keys[row.key] = new
        }
        return keys
    }

    /// Has what refers to rows of a table with another key refer to them under that.
    fileprivate mutating func follow(_ move: RecordModel.Move) throws(Refusal) {
        var schema = schema
        for place in schema.columns.indices { schema.columns[place].follow(move) }
        take(schema)
        try checkIndexes()
        for place in columns.indices {
            let old = columns[place]
            let isLive = live.contains(place)
            columns[place].follow(move)
            let type = columns[place].type
            if old.type != .keys && old.target != move.name { continue }
            try convert { (values) throws(Refusal) in
                let value = values[place]
                if value.isNull { return }
                if case .blob(let bytes) = value, old.type == .keys {
                    let tree = KeyTree(bytes).map { move.followed($0, isTarget: old.target == move.name) }
                    if let tree { values[place] = tree.map { .blob($0.encoded) } ?? .null }
                } else if let row = move.row(value) {
                    guard move.type != nil else { throw .migration }
                    values[place] = ModelTable.single(row, type)
                } else {
                    values[place] = .null
                }
                if values[place].isNull && !old.isOptional && isLive { throw .migration }
            }
        }
    }

    /// Words and letters of any case are of texts alone.
    private func checkIndexes() throws(Refusal) {
        for index in schema.indexes {
            for part in index.columns where part.noCase || index.fullText != nil {
                if schema.column(named: part.name)?.type != .text { throw .incompatible }
            }
        }
    }

    /// The value of a column that refers to a row.
    private static func single(_ key: RowKey, _ type: ColumnType) -> Value {
        if case .rowID(let id) = key { return .integer(id) }
        let schema = EntitySchema(name: "", columns: [ColumnSchema("k", type)], key: .columns(["k"]))
        do throws(RecordError) { return try key.values(in: schema)[0] } catch { return .null }
    }

    fileprivate mutating func rekey(_ move: RecordModel.Move) {
        var schema = schema
        schema.key = move.wanted
        take(schema)
        number = move.number
        let before = rows
        deleteAll()
        largestID = 0
        for row in before { if let key = move.keys[row.key] { put(row.values, for: key) } }
    }
}

extension ColumnSchema {
    fileprivate mutating func follow(_ move: RecordModel.Move) {
        guard target == move.name, type != .keys, let new = move.type, new != type else { return }
        type = new
        defaultValue = .null
    }
}
