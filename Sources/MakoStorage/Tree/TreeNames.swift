/// The names of the trees of a version, shared between versions until a tree is created, renamed or dropped.
///
/// Consecutive versions differ in few names. Changes are stored apart from the base table until there are as many as
/// the square root of its size, so creating n trees one after the other takes time in the order of n to the power of
/// 1.5.
final class TreeNames: Sendable {
    /// The names of an earlier version.
    private let base: Table
    /// The changes since the base; nil for names and ids without a tree.
    private let changedIDs: [String: UInt32?]
    private let changedNames: [UInt32: String?]
    /// The number of names.
    let count: Int

    private final class Table: Sendable {
        let ids: [String: UInt32]
        let names: [UInt32: String]

        init(_ ids: [String: UInt32]) {
            self.ids = ids
            names = Dictionary(ids.map { ($1, $0) }, uniquingKeysWith: min)
        }
    }

    init(_ ids: [String: UInt32] = [:]) {
        base = Table(ids)
        changedIDs = [:]
        changedNames = [:]
        count = ids.count
    }

    private init(_ base: Table, _ ids: [String: UInt32?], _ names: [UInt32: String?], count: Int) {
        self.base = base
        changedIDs = ids
        changedNames = names
        self.count = count
    }

    func id(of name: String) -> UInt32? {
        if let changed = changedIDs[name] { return changed }
        return base.ids[name]
    }

    func name(of id: UInt32) -> String? {
        if let changed = changedNames[id] { return changed }
        return base.names[id]
    }

    /// All names with the ids of their trees.
    var all: [String: UInt32] {
        var all = base.ids
        for (name, id) in changedIDs { all[name] = id }
        return all
    }

    /// The name of each tree.
    var byID: [UInt32: String] { Dictionary(all.map { ($1, $0) }, uniquingKeysWith: min) }

    /// Returns the names after a tree was created or renamed. No other tree may have the name.
    func naming(_ id: UInt32, _ name: String) -> TreeNames {
        let old = self.name(of: id)
        var (ids, names) = (changedIDs, changedNames)
        if let old { ids[old] = .some(nil) }
        ids[name] = id
        names[id] = name
        return changed(ids, names, count: count + (old == nil ? 1 : 0))
    }

    /// Returns the names after a tree was dropped.
    func removing(_ id: UInt32) -> TreeNames {
        guard let old = name(of: id) else { return self }
        var (ids, names) = (changedIDs, changedNames)
        ids[old] = .some(nil)
        names[id] = .some(nil)
        return changed(ids, names, count: count - 1)
    }

    private func changed(_ ids: [String: UInt32?], _ names: [UInt32: String?], count: Int) -> TreeNames {
        let changed = TreeNames(base, ids, names, count: count)
        let isMuch = ids.count > 16 && ids.count * ids.count > base.ids.count
        return isMuch ? TreeNames(changed.all) : changed
    }
}
