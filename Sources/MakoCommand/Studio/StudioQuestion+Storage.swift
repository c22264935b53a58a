import Foundation
import MakoRecords
import MakoStorage

extension StudioQuestion {
    /// The pages of the file, its trees, its log, and the holders of old pages.
    func storage() throws -> JSONValue {
        let store = database.file.store
        let stats = store.stats
        let files = DatabaseFile.files(of: database.file.path)
        let logs = files.dropFirst().reduce(0) { $0 + $1.bytes }
        let free = max(0, Int(clamping: stats.filePages) - stats.livePages)
        return try read { view, catalogue in
            let (sizes, names) = (StudioSizes(view, stats), StudioTreeNames(catalogue))
            let trees = view.trees.map { info in tree(info, sizes, names) }
            let pages: [JSONValue] = [
                .object([("kind", .string("in use")), ("count", .number(stats.livePages))]),
                .object([("kind", .string("waiting")), ("count", .number(stats.waitingPages))]),
                .object([("kind", .string("free")), ("count", .number(max(0, free - stats.waitingPages)))]),
            ]
            return .object([
                ("size", .number(files.first?.bytes ?? 0)), ("pageSize", .number(stats.pageBytes)),
                ("pages", .array(pages)), ("trees", .array(trees)),
                ("log", .object([("bytes", .number(logs)), ("files", .number(max(0, files.count - 1)))])),
                ("snapshots", snapshots(stats)), ("free", .number(free * stats.pageBytes)),
                ("commit", .number(stats.commitNumber)),
            ])
        }
    }

    private func tree(_ info: TreeInfo, _ sizes: StudioSizes, _ names: StudioTreeNames) -> JSONValue {
        let owner = names.owner(info.name)
        let isRows = owner.map { StudioSizes.rowsTree($0) == info.name } ?? false
        var members: [(key: String, value: JSONValue)] = [
            ("name", .string(names.shown(info.name))),
            ("kind", .string(owner == nil ? "other" : isRows ? "table" : "index")),
            ("bytes", .number(sizes.bytes(of: info.name))), ("entries", .number(info.count)),
            ("levels", .number(info.levels)), ("estimated", .bool(true)),
        ]
        if let owner { members.append(("table", .string(owner.schema.name))) }
        return .object(members)
    }

    private func snapshots(_ stats: StoreStats) -> JSONValue {
        // After another process has compacted the log, the pinned snapshot is of an earlier opening of the file,
        // which the statistics leave out.
        if let pin = database.pinned.withLock({ $0 }), pin.copy == nil {
            let oldest = stats.oldestSnapshot.map { stats.commitNumber - min($0.commits, stats.commitNumber) }
            guard let oldest, oldest < pin.view.commitNumber else {
                let own = [("holder", JSONValue.string("the pin of this page"))]
                guard case .object(let members) = pin.json else { return .object([]) }
                return .object([("oldest", .object(members + own.map { (key: $0.0, value: $0.1) }))])
            }
        }
        guard let oldest = stats.oldestSnapshot else { return .object([]) }
        var members: [(key: String, value: JSONValue)] = [
            ("commit", .number(stats.commitNumber - min(oldest.commits, stats.commitNumber))),
            ("heldBytes", .number(oldest.heldBytes)), ("holder", .string(oldest.label ?? "this process")),
        ]
        if let seconds = oldest.seconds { members.append(("age", .double(seconds))) }
        return .object([("oldest", .object(members))])
    }
}
