import MakoRecords
import MakoTestSupport

// Random schemas, values and names for the runs of the record layer.

extension SplitMix {
    /// A number that no other name has, for practical purposes.
    mutating func name(_ letter: String) -> String { "\(letter)\(below(1_000_000_000))" }

    /// A value of a type: half of the time one of few, so that rows have equal values.
    ///
    /// - Parameter isKey: whether it must be short enough for the key of a row.
    mutating func value(_ type: ColumnType, isKey: Bool = false) -> Value {
        let isNarrow = chance(50)
        switch type {
        case .bool: return .bool(chance(50))
        case .integer: return .integer(isNarrow ? Int64(below(12)) - 4 : Int64(bitPattern: next()))
        case .reference: return .integer(Int64(below(14)))
        case .unsigned: return .unsignedInteger(isNarrow ? UInt64(below(6)) : next())
        case .double:
            return .double(isNarrow ? pick([0, -0.0, 1, 1.5, -2, .nan, .infinity, 3]) : Double(below(1 << 30)) / 8)
        case .text: return .text(text(isNarrow, isKey: isKey))
        case .blob:
            if isNarrow { return .blob(pick([[], [0], [0, 1], [1], [255], [0xC3, 0xA9]])) }
            let count = isKey ? 9 : chance(4) ? 3000 + below(9000) : 4 + below(40)
            return .blob((0..<count).map { _ in UInt8(truncatingIfNeeded: next()) })
        case .date: return .date(isNarrow ? Double(below(5)) * 86_400 : Double(below(1 << 30)) / 4)
        case .uuid: return .uuid(isNarrow ? 7 : next(), isNarrow ? UInt64(below(5)) : next())
        case .keys: return .blob(keys(depth: 0).encoded)
        }
    }

    private mutating func keys(depth: Int) -> KeyTree {
        switch below(depth == 0 ? 6 : 9) {
        case 0...3 where depth < 3: .list((0..<below(5)).map { _ in keys(depth: depth + 1) })
        case 4 where depth < 3:
            .named((0..<below(4)).map { KeyTree.Entry(name: .integer(Int64($0)), tree: keys(depth: depth + 1)) })
        case 5: .foreign(table: UInt32(1 + below(3)), .rowID(Int64(below(14))))
        case 6: .key(.bytes(Array(repeating: UInt8(below(3)), count: chance(10) ? 698 + below(6) : below(9))))
        default: .key(.rowID(Int64(below(14)) - 2))
        }
    }

    private mutating func text(_ isNarrow: Bool, isKey: Bool) -> String {
        if isNarrow { return pick(["", "a", "A", "b", "ab", "Ab", "é", "É", "7", "12", "a\u{0}", "a\u{1}b", "true"]) }
        // Long enough for an index to cut them, and alike until far behind the cut.
        if !isKey, chance(8) {
            return String(repeating: "long ", count: 170) + pick(["x", "X", "y", "\(below(1000))"])
        }
        return "\(next() >> UInt64(below(60)))"
    }

    /// A new table.
    mutating func schema(named name: String) -> EntitySchema {
        var schema = EntitySchema(name: name, columns: (0..<(2 + below(5))).map { _ in column(tables: [name]) })
        if chance(35) {
            let types: [ColumnType] = [.integer, .text, .uuid, .unsigned, .blob, .date]
            var names: [String] = []
            for _ in 0..<(1 + below(2)) {
                let column = ColumnSchema(self.name("k"), pick(types))
                names.append(column.name)
                schema.columns.insert(column, at: below(schema.columns.count + 1))
            }
            schema.key = .columns(names)
        }
        for _ in 0..<below(4) { if let index = index(of: schema) { schema.indexes.append(index) } }
        indexKeys(&schema)
        return schema
    }

    mutating func column(tables: [String]) -> ColumnSchema {
        let type = pick(ColumnType.allCases)
        let isOptional = chance(55)
        let hasDefault = chance(isOptional ? 30 : 90)
        return ColumnSchema(
            name("c"), type, isOptional: isOptional, default: hasDefault ? value(type) : .null,
            target: type == .reference || type == .keys ? pick(tables) : nil)
    }

    /// Gives each column of keys the index that it must have.
    private mutating func indexKeys(_ schema: inout EntitySchema) {
        for column in schema.columns where column.type == .keys {
            if schema.indexes.contains(where: { $0.columns.contains { $0.name == column.name } }) { continue }
            schema.indexes.append(IndexSchema(name("i"), [IndexColumn(column.name)]))
        }
    }

    /// An index over columns that do not hold keys, if there is one.
    mutating func index(of schema: EntitySchema) -> IndexSchema? {
        let columns = schema.columns.filter { $0.type != .keys }
        if columns.isEmpty { return nil }
        let texts = columns.filter { $0.type == .text }
        if chance(20), !texts.isEmpty {
            let names = texts.prefix(1 + below(texts.count)).map { IndexColumn($0.name) }
            return IndexSchema(name("i"), names, fullText: FullTextOptions(stemming: chance(30) ? .english : .none))
        }
        let doubles = columns.filter { $0.type == .double }.prefix(2)
        if chance(50), doubles.count == 2 {
            return IndexSchema(name("i"), doubles.map { IndexColumn($0.name) }, isSpatial: true)
        }
        var parts: [IndexColumn] = []
        for _ in 0..<(1 + below(3)) {
            let column = pick(columns)
            if parts.contains(where: { $0.name == column.name }) { continue }
            parts.append(
                IndexColumn(column.name, descending: chance(35), noCase: column.type == .text && chance(35)))
        }
        // IS NULL is valid whatever type the column gets later.
        let condition = chance(25) ? "\(pick(columns).name) IS \(pick(["NOT NULL", "NULL"]))" : nil
        return IndexSchema(name("i"), parts, isUnique: chance(35), where: condition)
    }

    // MARK: Migrations

    /// The table as it should be from now on.
    mutating func migration(of table: ModelTable, tables: [String]) -> EntitySchema {
        var wanted = table.schema
        for _ in 0..<(1 + below(3)) {
            let place = below(wanted.columns.count)
            var isKey = false
            if case .columns(let names) = wanted.key { isKey = names.contains(wanted.columns[place].name) }
            switch below(12) {
            case 0, 1: wanted.columns.insert(column(tables: tables), at: below(wanted.columns.count + 1))
            case 2 where !isKey && wanted.columns.count > 1:
                // Two retired columns with one name would be ambiguous.
                let name = wanted.columns[place].name
                if table.retired.contains(where: { $0.name == name }) { continue }
                wanted.columns.remove(at: place)
                wanted.indexes.removeAll { index in
                    index.columns.contains { $0.name == name } || index.conditionColumn == name
                }
            case 3:
                guard let column = table.retired.randomElement(using: &self) else { continue }
                if wanted.columns.contains(where: { $0.name == column.name }) { continue }
                wanted.columns.append(column)
            case 4, 5: rename(place, &wanted, table)
            case 6 where !isKey: convert(place, &wanted)
            case 7 where !isKey:
                wanted.columns[place].isOptional.toggle()
                if chance(60) { wanted.columns[place].defaultValue = value(wanted.columns[place].type) }
            case 8, 9: if let index = index(of: wanted) { wanted.indexes.append(index) }
            case 10 where !wanted.indexes.isEmpty: wanted.indexes.remove(at: below(wanted.indexes.count))
            default: wanted.columns.shuffle(using: &self)
            }
        }
        indexKeys(&wanted)
        if chance(8) {
            wanted.originalName = wanted.name
            wanted.name = name("T")
        }
        return wanted
    }

    /// Gives a column another name, now and then one that a retired column has.
    private mutating func rename(_ place: Int, _ wanted: inout EntitySchema, _ table: ModelTable) {
        let old = wanted.columns[place].name
        guard wanted.columns[place].originalName == nil, table.place(old) != nil,
            !wanted.columns.contains(where: { $0.originalName == old })
        else { return }
        var new = name("c")
        if chance(15), let retired = table.retired.randomElement(using: &self) { new = retired.name }
        if wanted.columns.contains(where: { $0.name == new }) { return }
        let others = wanted.columns.indices.filter { other in
            let name = wanted.columns[other].name
            return other != place && wanted.columns[other].originalName == nil && table.place(name) != nil
                && !wanted.columns.contains { $0.originalName == name }
        }
        if chance(25), let other = others.randomElement(using: &self) {
            // A chain: the other one gives its name up.
            new = wanted.columns[other].name
            rename(other, to: name("c"), &wanted)
        }
        rename(place, to: new, &wanted)
        if chance(25) {
            // The name is at once another column's.
            wanted.columns.append(ColumnSchema(old, pick([.integer, .text]), isOptional: true))
        }
    }

    private func rename(_ place: Int, to new: String, _ wanted: inout EntitySchema) {
        let old = wanted.columns[place].name
        wanted.columns[place].originalName = old
        wanted.columns[place].name = new
        if case .columns(let names) = wanted.key { wanted.key = .columns(names.map { $0 == old ? new : $0 }) }
        for index in wanted.indexes.indices {
            for part in wanted.indexes[index].columns.indices where wanted.indexes[index].columns[part].name == old {
                wanted.indexes[index].columns[part].name = new
            }
            if wanted.indexes[index].conditionColumn == old {
                wanted.indexes[index].condition = wanted.indexes[index].condition.map { new + $0.dropFirst(old.count) }
            }
        }
    }

    private mutating func convert(_ place: Int, _ wanted: inout EntitySchema) {
        let conversions: [ColumnType: [ColumnType]] = [
            .integer: [.text, .double, .unsigned, .bool, .reference], .unsigned: [.integer, .text, .double],
            .double: [.integer, .text, .date], .text: [.blob, .integer, .double, .bool, .unsigned],
            .blob: [.text], .bool: [.integer, .text, .double], .date: [.double], .reference: [.integer, .text],
        ]
        let name = wanted.columns[place].name
        guard let type = conversions[wanted.columns[place].type].map({ pick($0) }) else { return }
        wanted.columns[place].type = type
        wanted.columns[place].target = type == .reference ? wanted.name : nil
        wanted.columns[place].defaultValue = chance(50) ? value(type) : .null
        wanted.indexes.removeAll { index in
            (index.fullText != nil || index.isSpatial) && index.columns.contains { $0.name == name }
        }
        for index in wanted.indexes.indices {
            for part in wanted.indexes[index].columns.indices where wanted.indexes[index].columns[part].name == name {
                wanted.indexes[index].columns[part].noCase = false
            }
        }
    }
}

extension IndexSchema {
    /// The column whose NULLs a partial index of a random run is about.
    fileprivate var conditionColumn: String? { condition.map { String($0.prefix { $0 != " " }) } }
}
