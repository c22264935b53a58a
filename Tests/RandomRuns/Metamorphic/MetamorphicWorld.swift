import MakoRecords
import MakoStorage
import MakoTestSupport

/// Two tables of random columns and rows, once without indexes and once with some: each query must have the same result
/// on both.
package struct MetamorphicWorld {
    package struct Column {
        package let name: String
        package let type: ColumnType
        package let isNoCase: Bool
    }

    package struct Side {
        package let store: Store
        package let catalogue: Catalogue
        package let view: Snapshot
    }

    /// `T` refers to rows of `U` by its column `r`.
    package static let names = ["T", "U"]

    let columns: [String: [Column]]
    package let plain: Side
    let indexed: Side
    private let accepts: @Sendable (Value) -> Bool

    /// - Parameter accepts: whether a value may be in a row or a condition.
    package init(_ random: inout SplitMix, accepts: @escaping @Sendable (Value) -> Bool = { _ in true }) throws {
        self.accepts = accepts
        var schemas: [EntitySchema] = []
        var columns: [String: [Column]] = [:]
        for name in MetamorphicWorld.names {
            var list = (0..<(3 + random.below(5))).map { place in
                let type = random.pick(MetamorphicWorld.types)
                return Column(name: "c\(place)", type: type, isNoCase: type == .text && random.chance(40))
            }
            list.append(Column(name: "w", type: .integer, isNoCase: false))
            if name == "T" { list.append(Column(name: "r", type: .reference, isNoCase: false)) }
            columns[name] = list
            schemas.append(
                EntitySchema(
                    name: name,
                    columns: list.map {
                        ColumnSchema(
                            $0.name, $0.type, isOptional: true, target: $0.type == .reference ? "U" : nil,
                            isNoCase: $0.isNoCase)
                    }))
        }
        self.columns = columns
        var rows: [String: [[Value]]] = [:]
        for name in MetamorphicWorld.names {
            let list = columns[name] ?? []
            rows[name] = (0..<random.below(50)).map { _ in
                list.map { random.chance(18) ? .null : MetamorphicWorld.value($0.type, &random, accepts) }
            }
        }
        plain = try MetamorphicWorld.side(schemas, rows)
        for place in schemas.indices {
            let list = columns[schemas[place].name] ?? []
            for number in 0..<(1 + random.below(4)) {
                var parts: [IndexColumn] = []
                for _ in 0..<(1 + random.below(3)) {
                    let column = random.pick(list)
                    if parts.contains(where: { $0.name == column.name }) { continue }
                    let noCase = column.type == .text && (column.isNoCase != random.chance(35))
                    parts.append(IndexColumn(column.name, descending: random.chance(30), noCase: noCase))
                }
                let condition = random.chance(20) ? "\(random.pick(list).name) IS NOT NULL" : nil
                schemas[place].indexes.append(IndexSchema("i\(number)", parts, where: condition))
            }
        }
        indexed = try MetamorphicWorld.side(schemas, rows)
    }

    /// One of few values of a type.
    func value(_ type: ColumnType, _ random: inout SplitMix) -> Value {
        MetamorphicWorld.value(type, &random, accepts)
    }

    private static func value(
        _ type: ColumnType, _ random: inout SplitMix, _ accepts: @Sendable (Value) -> Bool
    ) -> Value {
        let value = random.metamorphicValue(type)
        return accepts(value) ? value : .null
    }

    private static let types: [ColumnType] = [
        .bool, .integer, .integer, .unsigned, .double, .double, .text, .text, .text, .blob, .date, .uuid,
    ]

    private static func side(_ schemas: [EntitySchema], _ rows: [String: [[Value]]]) throws -> Side {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        try store.write { tx in for schema in schemas { _ = try Catalogue.migrate(to: schema, in: tx) } }
        let catalogue = try Catalogue.load(view: try store.snapshot())
        try store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            for (name, rows) in rows {
                let table = try catalogue.requireTable(name)
                for (number, row) in rows.enumerated() {
                    writer.begin(table.layout)
                    for (position, value) in row.enumerated() { writer.set(position, value) }
                    _ = try table.insert(
                        &writer, key: .rowID(Int64(number) + 1), in: tx, changes: &changes)
                }
            }
        }
        return Side(store: store, catalogue: catalogue, view: try store.snapshot())
    }
}

extension SplitMix {
    /// One of few values of a type, extremes and NaN among them.
    fileprivate mutating func metamorphicValue(_ type: ColumnType) -> Value {
        switch type {
        case .bool: .bool(chance(50))
        case .integer: .integer(pick([-3, -1, 0, 1, 2, 3, 5, 8, 9_007_199_254_740_993, .max, .min]))
        case .reference: .integer(Int64(1 + below(40)))
        case .unsigned: .unsignedInteger(pick([0, 1, 2, 3, 8, 1 << 63, .max]))
        case .double: .double(pick([.nan, -.infinity, -2.5, -0.0, 0, 0.5, 1, 3, 9_007_199_254_740_992, .infinity]))
        case .text: .text(pick(["", "a", "A", "ab", "Ab", "AB", "b", "B", "é", "É", "e\u{301}", "a\u{0}", "z_%"]))
        case .blob, .keys: .blob(pick([[], [0], [0, 1], [1], [255]]))
        case .date: .date(pick([.nan, -86_400, 0, 86_400, 1e9]))
        case .uuid: .uuid(7, UInt64(below(4)))
        }
    }
}
