/// The values of an outer row that a correlated statement with joins, groups or compounds reads.
///
/// They are the only row of a table, with which each of its SELECTs that reads them joins its own tables. So the
/// statement is planned once, and looks up rows by outer values as it does by those of any other table.
struct OuterRow: Sendable {
    /// The name of the table; no text can contain it.
    let name: String
    let table: TableHandle

    init(_ name: String, _ columns: [(name: String, column: DerivedColumn, isNoCase: Bool)]) {
        self.name = name
        var schemas: [ColumnSchema] = []
        var decimals: Set<String> = []
        for (name, column, isNoCase) in columns {
            if column.isDecimal { decimals.insert(name) }
            schemas.append(
                ColumnSchema(name, column.type, isOptional: true, target: column.target, isNoCase: isNoCase))
        }
        table = .derived("outer row", schemas, decimals: decimals)
    }

    private static let mark = "\u{0}outer "

    static func name(_ number: Int) -> String { mark + "\(number)" }

    static func isName(_ name: String) -> Bool { name.hasPrefix(mark) }

    /// Returns the value of a column as a correlated parameter, for what is computed once for a group: without rows,
    /// a group has no row of the table.
    func value(_ column: String) -> BoundExpr? {
        guard let found = table.columns.firstIndex(where: { $0.name == column }) else { return nil }
        let schema = table.columns[found]
        let isDecimal = table.derivedDecimals?.contains(column) == true
        return .outer(
            OuterValue(
                index: found, kind: isDecimal ? .decimal : ValueKind(schema.type), path: column,
                collation: schema.isNoCase ? Collation(isNoCase: true, isExplicit: false) : nil))
    }
}
