import MakoRecords

/// The mapping from input fields to columns.
struct ImportPlan {
    struct Column {
        /// The position in the input.
        var position: Int
        /// The name in the table.
        var name: String
        var type: ColumnType
        var isOptional: Bool
        /// The table that it refers to.
        var target: String?
    }

    let table: String
    let key: KeySchema
    /// The field with the row number, if any.
    let rowID: Column?
    /// The columns stored in the rows.
    private(set) var stored: [Column]
    let indexes: [IndexSchema]
    let renamed: [(from: String, to: String)]

    /// The plan for a new table.
    init(creating table: String, columns: [InferredColumn], options: TableImport.Options, source: String) throws {
        self.table = table
        let names = ColumnNames(columns.map(\.name))
        renamed = names.renamed
        var all = columns.indices.map { index in
            Column(
                position: index, name: names.names[index], type: columns[index].type,
                isOptional: columns[index].isOptional)
        }
        func find(_ name: String, _ option: String) throws -> Column {
            let match = all.first { $0.name == name } ?? all.first { columns[$0.position].name == name }
            guard let match else {
                throw Failure("\(source) has no column \(name) for \(option); it has \(names.list)", .usage)
            }
            return match
        }
        indexes = try options.indexes.map { name in
            let column = try find(name, "--index")
            return IndexSchema("\(table)_\(column.name)", [IndexColumn(column.name)])
        }
        let keys = try options.key.map { try $0.map { try find($0, "--key") } } ?? ImportPlan.naturalKey(all)
        for column in keys where column.isOptional {
            throw Failure("column \(column.name) is empty in some rows and cannot be the key", .badInput)
        }
        if keys.count == 1, keys[0].type == .integer {
            key = .rowID(column: keys[0].name)
            rowID = keys[0]
            all.removeAll { $0.position == keys[0].position }
        } else {
            let isTaken = all.contains { $0.name.lowercased() == "id" }
            key = keys.isEmpty ? .rowID(column: isTaken ? "rowid" : "id") : .columns(keys.map(\.name))
            rowID = nil
        }
        stored = all
    }

    /// The plan for a table that replaces another one: columns keep the references of the old columns with the same
    /// names.
    func replacing(_ old: EntitySchema?) -> ImportPlan {
        var plan = self
        plan.stored = stored.map { $0.referring(as: old?.column(named: $0.name)) }
        return plan
    }

    /// The plan for an existing table: columns are matched by name.
    init(into schema: EntitySchema, columns: [InferredColumn], source: String) throws {
        table = schema.name
        key = schema.key
        indexes = []
        let names = ColumnNames(columns.map(\.name))
        renamed = []
        var stored: [Column] = []
        var rowID: Column?
        for (position, name) in names.names.enumerated() {
            let given = columns[position].name
            func isMatch(_ column: String) -> Bool { column == given || column.lowercased() == name.lowercased() }
            if case .rowID(let column) = schema.key, isMatch(column) {
                rowID = Column(position: position, name: column, type: .integer, isOptional: false)
            } else if let column = schema.column(named: given) ?? schema.liveColumns.first(where: { isMatch($0.name) })
            {
                stored.append(
                    Column(position: position, name: column.name, type: column.type, isOptional: column.isOptional))
            } else {
                throw Failure(
                    "table \(schema.name) has no column \(given), which \(source) has; its columns are "
                        + schema.shownColumns.joined(separator: ", ")
                        + ". Import into another table, or --replace this one",
                    .badInput)
            }
        }
        let missing = schema.liveColumns.first { column in
            !column.isOptional && column.defaultValue.isNull && !stored.contains { $0.name == column.name }
        }
        if let missing {
            throw Failure("\(source) has no column \(missing.name), which table \(schema.name) needs", .badInput)
        }
        self.stored = stored
        self.rowID = rowID
    }

    /// The schema of a new table. Building the indexes after all rows are stored is many times faster.
    func schema(withIndexes: Bool) -> EntitySchema {
        EntitySchema(
            name: table,
            columns: stored.map { ColumnSchema($0.name, $0.type, isOptional: $0.isOptional, target: $0.target) },
            key: key, indexes: withIndexes ? indexes : [])
    }

    /// Whether the rows have keys that match those of a previous table.
    func keepsKeys(of old: EntitySchema) -> Bool {
        switch (key, old.key) {
        case (.rowID, .rowID): rowID != nil
        case (.columns(let names), .columns(let before)):
            names.map { name in stored.first { $0.name == name }?.type } == before.map { old.column(named: $0)?.type }
        default: false
        }
    }

    private static func naturalKey(_ columns: [Column]) -> [Column] {
        columns.filter { $0.name.lowercased() == "id" && $0.type == .integer && !$0.isOptional }
    }
}

extension ImportPlan.Column {
    /// The column with the reference of the column it replaces, if its values can be such keys.
    fileprivate func referring(as old: ColumnSchema?) -> ImportPlan.Column {
        guard let old, !old.isRetired, let target = old.target, old.type != .keys,
            old.type == type || (old.type == .reference && type == .integer)
        else { return self }
        var column = self
        (column.type, column.target) = (old.type, target)
        return column
    }
}

/// Column names that need no quotes in a query, derived from those of an input file.
struct ColumnNames {
    private(set) var names: [String] = []
    private(set) var renamed: [(from: String, to: String)] = []

    init(_ given: [String]) {
        var taken: Set<String> = []
        for name in given {
            let plain = ColumnNames.plain(name, otherwise: "column")
            var unique = plain
            var number = 2
            while !taken.insert(unique.lowercased()).inserted {
                unique = "\(plain)_\(number)"
                number += 1
            }
            names.append(unique)
            if unique != name { renamed.append((name, unique)) }
        }
    }

    var list: String { names.joined(separator: ", ") }

    /// The letters, digits and underscores of a name, with one underscore for each run of other characters.
    static func plain(_ name: String, otherwise: String) -> String {
        var result = ""
        var gap = false
        for scalar in name.unicodeScalars {
            if scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_" {
                if gap, !result.isEmpty { result += "_" }
                gap = false
                result.unicodeScalars.append(scalar)
            } else {
                gap = true
            }
        }
        guard let first = result.unicodeScalars.first else { return otherwise }
        return first.properties.numericType != nil ? "_" + result : result
    }
}
