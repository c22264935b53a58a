/// The names of the trees of a version. Shared between versions until a tree is created, renamed or dropped.
///
/// A version differs from the one before it by few names: those are kept apart from the tables of most, until there are as many as the root of
/// those. So creating n trees, one after the other, takes time that grows with n to the power of 1.5.
final class TreeNames: Sendable {
    /// The names of a version of before.
    private let base: Table
    /// What has changed since: nil where there is no such tree any more.
    private let changedIDs: [String: UInt32?]
    private let changedNames: [UInt32: String?]
    /// How many names there are.
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

    /// All names with their numbers.
    var all: [String: UInt32] {
        var all = base.ids
        for (name, id) in changedIDs { all[name] = id }
        return all
    }

    /// The name of each tree.
    var byID: [UInt32: String] { Dictionary(all.map { ($1, $0) }, uniquingKeysWith: min) }

    /// The names after a tree got one, which no other tree has, in the place of the one it had.
    func naming(_ id: UInt32, _ name: String) -> TreeNames {
        let old = self.name(of: id)
        var (ids, names) = (changedIDs, changedNames)
        if let old { ids[old] = .some(nil) }
        ids[name] = id
        names[id] = name
        return changed(ids, names, count: count + (old == nil ? 1 : 0))
    }

    /// The names after a tree was dropped.
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
