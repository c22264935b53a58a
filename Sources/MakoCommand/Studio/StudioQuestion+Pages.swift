import MakoRecords
import MakoStorage

extension StudioQuestion {
    /// The number of pages that one request counts: 16 MiB.
    private static let counted: UInt64 = 4096

    /// Counts the pages of a part of the file by kind and tree. The page requests part after part, so that it can show
    /// the progress and stop.
    func pages() throws -> JSONValue {
        let inspection = try PageInspection(path: database.file.path, encryption: database.encryption)
        let first = try number("from") ?? 0
        let census = try inspection.census(from: first, count: Self.counted)
        let end = min(first.addingReportingOverflow(Self.counted).partialValue, inspection.pageCount)
        let counts = try read { view, catalogue in
            let names = StudioTreeNames(catalogue)
            return census.counts.sorted { $0.value.pages > $1.value.pages }.map { group, count -> JSONValue in
                var members: [(key: String, value: JSONValue)] = [
                    ("kind", .string(group.kind.rawValue)), ("pages", .number(count.pages)),
                ]
                if let tree = group.tree { members.append(("tree", .string(names.shown(tree)))) }
                if [.leaf, .inner].contains(group.kind) { members.append(("used", .number(count.usedBytes))) }
                return .object(members)
            }
        }
        return .object([
            ("counts", .array(counts)), ("next", .number(end)), ("total", .number(inspection.pageCount)),
            ("end", .bool(end >= inspection.pageCount)),
        ])
    }
}

/// The names of trees as the storage view shows them.
struct StudioTreeNames {
    private let handles: [TableHandle]

    init(_ catalogue: Catalogue) { handles = catalogue.handles }

    /// The table of a tree; nil for a tree of none.
    func owner(_ name: String) -> TableHandle? {
        handles.first { handle in
            name == StudioSizes.rowsTree(handle) || name.hasPrefix(StudioSizes.indexPrefix(handle))
        }
    }

    func shown(_ name: String) -> String {
        guard let owner = owner(name) else { return name }
        let isRows = StudioSizes.rowsTree(owner) == name
        return isRows ? owner.schema.name : "\(owner.schema.name) \(name)"
    }
}
