import Foundation
import MakoRecords
import MakoStorage

extension StudioQuestion {
    /// The tables with their columns, lists and indexes.
    func schema() throws -> JSONValue {
        let sizes = StudioSizes()
        return try read { view, catalogue in
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
            ("bytes", .number(sizes.bytes(of: StudioSizes.rowsTree(table.handle), in: view))),
            ("jumps", .bool(isByID)),
            ("indexes", .array(schema.indexes.map { index in described(index, table.handle, sizes, view) })),
            ("columns", .array(table.columns.map { described($0, schema) })),
            (
                "lists",
                .array(
                    table.lists.map { .object([("name", .string($0.name)), ("table", .string($0.table))]) })
            ),
        ])
    }

    private func described(
        _ index: IndexSchema, _ handle: TableHandle, _ sizes: StudioSizes, _ view: Snapshot
    ) -> JSONValue {
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

/// Estimates the size of trees from their first entries, because counting pages would read the whole file.
struct StudioSizes {
    private static let sampled = 64
    /// The assumed fill factor of a page.
    private static let fill = 0.8

    static func rowsTree(_ handle: TableHandle) -> String { "mako.rows.\(handle.number)" }

    /// The name prefix of the trees of a table's indexes.
    static func indexPrefix(_ handle: TableHandle) -> String { "mako.index.\(handle.number)." }

    func bytes(of name: String, in view: Snapshot) -> Int {
        guard let info = view.trees.first(where: { $0.name == name }) else { return 0 }
        return bytes(of: info, in: view)
    }

    func bytes(of info: TreeInfo, in view: Snapshot) -> Int {
        guard info.count > 0 else { return 0 }
        var bytes = 0
        var entries = 0
        do {
            var cursor = try view.cursor(in: info.tree)
            var isThere = try cursor.first()
            while isThere, entries < Self.sampled {
                bytes += 12 + (info.tree.keys == .bytes ? cursor.key.count : 8)
                bytes += try cursor.withValue { $0.count }
                entries += 1
                isThere = try cursor.next()
            }
        } catch { return 0 }
        let content = Double(bytes) / Double(max(entries, 1)) * Double(info.count) / Self.fill
        let pages = (content / Double(MakoStorage.pageBytes)).rounded(.up)
        return Int(pages) * MakoStorage.pageBytes
    }
}
