import Foundation
import MakoRecords
import MakoStorage

extension StudioQuestion {
    /// The tables with their columns, lists and indexes.
    func schema() throws -> JSONValue {
        let stats = database.file.store.stats
        return try read { view, catalogue in
            let sizes = StudioSizes(view, stats)
            let tables = try catalogue.handles.map { handle in
                try described(StudioTable(handle, catalogue), sizes, view)
            }
            return .object([
                ("file", .string(FilePath.name(of: database.file.path))), ("path", .string(database.file.path)),
                ("writable", .bool(database.isWritable)),
                ("encrypted", .bool(database.isEncrypted)),
                ("history", .bool(try StoredHistory.head(in: view)?.isKept == true)),
                ("commit", .number(view.commitNumber)), ("tables", .array(tables)),
                ("pin", database.pinned.withLock { $0?.json } ?? .null),
            ])
        }
    }

    private func described(_ table: StudioTable, _ sizes: StudioSizes, _ view: Snapshot) throws -> JSONValue {
        let schema = table.handle.schema
        var isByID = false
        if case .rowID = schema.key { isByID = true }
        return .object([
            ("name", .string(schema.name)), ("rows", .number(try table.handle.count(in: view))),
            ("exact", .bool(true)),
            ("bytes", .number(sizes.bytes(of: StudioSizes.rowsTree(table.handle)))),
            ("jumps", .bool(isByID)),
            ("indexes", .array(schema.indexes.map { index in described(index) })),
            ("columns", .array(table.columns.map { described($0, schema) })),
            (
                "lists",
                .array(
                    table.lists.map { .object([("name", .string($0.name)), ("table", .string($0.table))]) })
            ),
        ])
    }

    private func described(_ index: IndexSchema) -> JSONValue {
        .object([
            ("name", .string(index.name)), ("columns", .texts(index.columns.map(\.name))),
            ("unique", .bool(index.isUnique)),
        ])
    }

    private func described(_ column: StudioColumn, _ schema: EntitySchema) -> JSONValue {
        let isKey = schema.keyColumns.contains(column.name)
        let isUnique = schema.indexes.contains { $0.isUnique && $0.columns.map(\.name) == [column.name] }
        return .object([
            ("name", .string(column.name)), ("kind", .string(column.kind)),
            ("detail", .string(column.type.name)),
            ("numeric", .bool(column.kind == "int" || column.kind == "real")),
            ("nullable", .bool(column.schema?.isOptional ?? false)), ("key", .bool(isKey)),
            ("unique", .bool(isUnique)), ("target", column.schema?.target.map(JSONValue.string) ?? .null),
            ("sealed", .bool(column.schema?.sealedType != nil)),
        ])
    }

    /// Completions of the word at the caret from the names of the schema.
    func words() throws -> JSONValue {
        let text = optional("text") ?? ""
        let units = Array(text.utf16)
        let caret = min(Int(clamping: try number("caret") ?? UInt64(units.count)), units.count)
        var from = caret
        while from > 0, Self.isWord(units[from - 1]) { from -= 1 }
        let begun = String(decoding: units[from..<caret], as: UTF16.self).lowercased()
        return try read { _, catalogue in
            var words: [(text: String, kind: String)] = []
            let tables = try optional("table").map { [try catalogue.requireTable($0)] } ?? catalogue.handles
            for handle in tables {
                words += StudioTable(handle, catalogue).columns.map { ($0.name, "column") }
            }
            if optional("table") == nil { words += catalogue.handles.map { ($0.schema.name, "table") } }
            var seen: Set<String> = []
            let fitting = words.filter { $0.text.lowercased().hasPrefix(begun) && seen.insert($0.text).inserted }
            return .object([
                ("from", .number(from)),
                (
                    "words",
                    .array(
                        fitting.prefix(50).map {
                            .object([("text", .string($0.text)), ("kind", .string($0.kind))])
                        })
                ),
            ])
        }
    }

    private static func isWord(_ unit: UInt16) -> Bool {
        guard let scalar = Unicode.Scalar(unit) else { return true }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_"
    }
}

/// Estimates the sizes of the trees from their first entries, because counting pages would read the whole file.
struct StudioSizes {
    private static let sampled = 64
    /// The assumed fill factor of a page.
    private static let fill = 0.8

    /// The bytes of each tree.
    private let estimates: [TextKey: Double]
    /// At most 1: all trees together take no more than the pages in use.
    private let scale: Double

    init(_ view: Snapshot, _ stats: StoreStats) {
        let trees = view.trees.map { (TextKey($0.name), Self.estimate($0, view)) }
        estimates = Dictionary(trees) { first, _ in first }
        let total = estimates.values.reduce(0, +)
        scale = min(1, Double(stats.livePages * stats.pageBytes) / max(total, 1))
    }

    static func rowsTree(_ handle: TableHandle) -> String { "mako.rows.\(handle.number)" }

    /// The name prefix of the trees of a table's indexes.
    static func indexPrefix(_ handle: TableHandle) -> String { "mako.index.\(handle.number)." }

    /// The bytes of whole pages; 0 for an empty tree or one that cannot be read.
    func bytes(of name: String) -> Int {
        let pages = (estimates[TextKey(name)] ?? 0) * scale / Double(MakoStorage.pageBytes)
        return Int(pages.rounded(.up)) * MakoStorage.pageBytes
    }

    private static func estimate(_ info: TreeInfo, _ view: Snapshot) -> Double {
        guard info.count > 0 else { return 0 }
        var bytes = 0
        var entries = 0
        do {
            var cursor = try view.cursor(in: info.tree)
            var isThere = try cursor.first()
            while isThere, entries < sampled {
                bytes += 12 + (info.tree.keys == .bytes ? cursor.key.count : 8)
                bytes += try cursor.withValue { $0.count }
                entries += 1
                isThere = try cursor.next()
            }
        } catch { return 0 }
        return Double(bytes) / Double(max(entries, 1)) * Double(info.count) / fill
    }
}
