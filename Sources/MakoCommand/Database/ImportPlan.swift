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
        let named = NamedColumns(columns: all, given: columns.map(\.name), list: names.list, source: source)
        let indexed = try named.find(options.indexes, "--index")
        indexes = indexed.map { IndexSchema("\(table)_\($0.name)", [IndexColumn($0.name)]) }
        let keys = try options.key.map { try named.find($0, "--key") } ?? ImportPlan.naturalKey(all)
        for column in keys where column.isOptional {
            throw Failure("column \(column.name) is empty in some rows and cannot be the key", .badInput)
        }
        if keys.count == 1, keys[0].type == .integer {
            if indexed.contains(where: { $0.position == keys[0].position }) {
                throw Failure("column \(keys[0].name) is the key, which needs no index; leave its --index out", .usage)
            }
            key = .rowID(column: keys[0].name)
            rowID = keys[0]
            all.removeAll { $0.position == keys[0].position }
        } else {
            key = keys.isEmpty ? .rowID(column: ImportPlan.freeID(beside: all)) : .columns(keys.map(\.name))
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
        renamed = []
        var stored: [Column] = []
        var rowID: Column?
        let matches = try ColumnMatches(columns.map(\.name), in: schema, source: source)
        for (position, name) in matches.columns.enumerated() {
            if case .rowID(name) = schema.key {
                rowID = Column(position: position, name: name, type: .integer, isOptional: false)
            } else if let column = schema.column(named: name) {
                stored.append(
                    Column(position: position, name: name, type: column.type, isOptional: column.isOptional))
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

    /// A name for the row number that no column has.
    private static func freeID(beside columns: [Column]) -> String {
        let taken = Set(columns.map { $0.name.lowercased() })
        for name in ["id", "rowid", "_id"] where !taken.contains(name) { return name }
        var number = 2
        while taken.contains("id_\(number)") { number += 1 }
        return "id_\(number)"
    }

    private static func naturalKey(_ columns: [Column]) -> [Column] {
        columns.filter { $0.name.lowercased() == "id" && $0.type == .integer && !$0.isOptional }
    }
}

/// The columns of a new table, to be found by the names in options.
private struct NamedColumns {
    let columns: [ImportPlan.Column]
    /// The names in the input.
    let given: [String]
    /// All names, for messages.
    let list: String
    let source: String

    /// The columns of an option, each once.
    func find(_ names: [String], _ option: String) throws -> [ImportPlan.Column] {
        var found: [ImportPlan.Column] = []
        for name in names {
            let match = columns.first { $0.name == name } ?? columns.first { given[$0.position] == name }
            guard let match else {
                throw Failure("\(source) has no column \(name) for \(option); it has \(list)", .usage)
            }
            if !found.contains(where: { $0.position == match.position }) { found.append(match) }
        }
        return found
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

/// Column names that need no quotes in a query, derived from those of an input file. A name that needs no change stays,
/// also behind one that would become the same.
struct ColumnNames {
    private(set) var names: [String] = []
    private(set) var renamed: [(from: String, to: String)] = []

    init(_ given: [String]) {
        let plain = given.map { ColumnNames.plain($0, otherwise: "column") }
        var taken: Set<String> = []
        let stays = zip(given, plain).map { $0 == $1 && taken.insert($1.lowercased()).inserted }
        for (position, name) in given.enumerated() {
            var unique = plain[position]
            var number = 2
            while !stays[position], !taken.insert(unique.lowercased()).inserted {
                unique = "\(plain[position])_\(number)"
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
