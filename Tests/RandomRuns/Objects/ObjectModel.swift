import MakoCore
import MakoRecords

/// The three classes of the random runs.
enum ObjectKind: CaseIterable {
    case club, member, badge

    var table: String {
        switch self {
        case .club: "Club"
        case .member: "Member"
        case .badge: "Badge"
        }
    }

    /// The places of the columns that refer to another row, and to what.
    var references: [(place: Int, target: ObjectKind)] {
        switch self {
        case .club: []
        case .member: [(3, .club), (4, .member)]
        case .badge: [(2, .member)]
        }
    }

    /// The references to rows of this class, in the order in which a removal handles them.
    var referrers: [(kind: ObjectKind, place: Int, rule: DeleteRule)] {
        switch self {
        case .club: [(.member, 3, .cascade)]
        case .member: [(.badge, 2, .deny), (.member, 4, .nullify)]
        case .badge: []
        }
    }
}

/// An object in memory as a plain value.
struct ModelObject: Equatable {
    struct Reference: Equatable {
        /// Which of the objects; nil: it was read from the file and not followed.
        var object: Int?
        /// The key that the row must have.
        var key: RowKey?
    }

    let kind: ObjectKind
    /// By the places of columns; references stand below.
    var values: [Value]
    var references: [Int: Reference] = [:]
    var key: RowKey?
    var exists = false
    var isRemoved = false
    /// The places of columns that differ from the row.
    var dirty: Set<Int>

    /// A new object.
    init(_ kind: ObjectKind, _ values: [Value]) {
        self.kind = kind
        self.values = values
        dirty = Set(values.indices)
    }

    /// An object of a row.
    init(_ kind: ObjectKind, _ row: ModelTable.Row) {
        self.kind = kind
        values = row.values
        key = row.key
        exists = true
        dirty = []
        for (place, _) in kind.references {
            if case .integer(let id) = row.values[place] { references[place] = Reference(key: .rowID(id)) }
            values[place] = .null
        }
    }

    /// The values that the row must have.
    var encoded: [Value] {
        var values = values
        for (place, reference) in references {
            if let id = reference.key?.rowID { values[place] = .integer(id) }
        }
        return values
    }
}

/// The file and the objects in memory as plain values.
struct ObjectModel {
    var file: RecordModel
    var objects: [ModelObject] = []
    /// The rows that the call under way needs: keys that new rows have from rows read before.
    private var needed: [(kind: ObjectKind, key: RowKey)] = []

    init(file: RecordModel) { self.file = file }

    /// The key that others note of an object.
    func storedKey(_ object: Int) -> RowKey? { objects[object].isRemoved ? nil : objects[object].key }

    mutating func set(_ value: Value, _ place: Int, of object: Int) {
        objects[object].values[place] = value
        objects[object].dirty.insert(place)
    }

    mutating func refer(_ object: Int, _ place: Int, to target: Int?) {
        objects[object].references[place] = target.map { .init(object: $0, key: storedKey($0)) }
        objects[object].dirty.insert(place)
    }

    // MARK: Saving

    /// At the end of each call: refuses what rows share that is to be unique, and keys of new rows without rows.
    mutating func checkEnd() throws(Refusal) {
        let isUnmatched = needed.contains { file.tables[$0.kind.table]?.row($0.key) == nil }
        needed = []
        do throws(Refusal) { for table in file.tables.values { try table.checkUnique() } } catch {
            throw isUnmatched ? .uniqueOrUnmatched : error
        }
        if isUnmatched { throw .unmatched }
    }

    /// Saves an object; `checkEnd` is the caller's to call.
    ///
    /// - Parameter newID: the id that a new row gets, or got.
    mutating func save(_ object: Int, inserts: Bool, newID: (Int) -> RowKey) throws -> Bool {
        if objects[object].isRemoved { throw Refusal.deleted }
        var saving: Set<Int> = []
        var unchanged: [Int] = []
        return try save(object, inserts, newID, &saving, &unchanged)
    }

    /// Saves new and changed objects that unchanged ones refer to.
    private mutating func saveBehind(
        _ unchanged: inout [Int], for first: Int, _ newID: (Int) -> RowKey, _ saving: inout Set<Int>
    ) throws {
        var visited: Set<Int> = []
        while let next = unchanged.popLast() {
            if objects[next].isRemoved || saving.contains(next) { continue }
            if !objects[next].exists || !objects[next].dirty.isEmpty {
                // It may lead back to the first one.
                if objects[first].kind != .badge, objects[first].key == nil { objects[first].key = newID(first) }
                _ = try save(next, false, newID, &saving, &unchanged)
            } else if visited.insert(next).inserted {
                unchanged += objects[next].kind.references.compactMap { objects[next].references[$0.0]?.object }
            }
        }
    }

    private mutating func save(
        _ object: Int, _ inserts: Bool, _ newID: (Int) -> RowKey, _ saving: inout Set<Int>, _ unchanged: inout [Int]
    ) throws -> Bool {
        if objects[object].isRemoved { return false }
        if saving.contains(object) { return true }
        saving.insert(object)
        var isWhole = writesWholeRow(object, inserts)
        while true {
            try saveReferences(of: object, isWhole, newID, &saving, &unchanged)
            if saving.count == 1 { try saveBehind(&unchanged, for: object, newID, &saving) }
            // An object to which it leads may have found that its row is gone: then its references count as set.
            if isWhole == writesWholeRow(object, inserts) { break }
            isWhole = true
        }
        try write(object, inserts, newID)
        saving.remove(object)
        return true
    }

    /// Saves the new and changed objects, and those whose rows are gone, that an object refers to.
    ///
    /// - Parameter isWhole: whether its row is written whole, so that each reference counts as set.
    private mutating func saveReferences(
        of object: Int, _ isWhole: Bool, _ newID: (Int) -> RowKey, _ saving: inout Set<Int>, _ unchanged: inout [Int]
    ) throws {
        for (place, _) in objects[object].kind.references {
            guard let child = objects[object].references[place]?.object else { continue }
            if objects[child].isRemoved {
                objects[object].references[place]?.key = nil
                continue
            }
            let isSet = isWhole || objects[object].dirty.contains(place)
            if isSet, hasLostItsRow(child) { objects[child].exists = false }
            if !objects[child].exists || !objects[child].dirty.isEmpty {
                // The child may lead back here: then it needs this object's key.
                if objects[object].kind != .badge, objects[object].key == nil { objects[object].key = newID(object) }
                if !saving.contains(child) { _ = try save(child, false, newID, &saving, &unchanged) }
            } else {
                unchanged.append(child)
            }
            let key = objects[child].key
            objects[object].references[place]?.key = key
        }
    }

    /// Whether the row of an object is new, has another key, or was deleted.
    private func writesWholeRow(_ object: Int, _ inserts: Bool) -> Bool {
        let known = objects[object]
        if inserts || !known.exists { return true }
        if known.dirty.isEmpty { return false }
        return known.kind == .badge && known.key != RowKey(values: [known.values[0]]) || !hasRow(object)
    }

    private func hasRow(_ object: Int) -> Bool {
        guard let key = objects[object].key else { return false }
        return file.tables[objects[object].kind.table]?.row(key) != nil
    }

    /// Whether an unchanged object's row was deleted, so that the object is stored again with the one that was set to
    /// refer to it.
    private func hasLostItsRow(_ object: Int) -> Bool {
        objects[object].exists && objects[object].dirty.isEmpty && !hasRow(object)
    }

    private mutating func write(_ object: Int, _ inserts: Bool, _ newID: (Int) -> RowKey) throws {
        let kind = objects[object].kind
        guard var table = file.tables[kind.table] else { return }
        let exists = objects[object].exists && !inserts
        if exists && objects[object].dirty.isEmpty { return }
        let old = objects[object].key
        var values = objects[object].encoded
        var key = kind == .badge ? RowKey(values: [values[0]]) : old
        if exists, key == old, let key, let row = table.row(key) {
            // Only what was changed is written.
            let changed = values
            values = row.values
            for place in objects[object].dirty { values[place] = changed[place] }
        }
        if inserts, let key, table.row(key) != nil { throw Refusal.duplicateKey }
        if writesWholeRow(object, inserts) {
            for (place, target) in kind.references {
                guard let reference = objects[object].references[place], reference.object == nil else { continue }
                if let key = reference.key { needed.append((target, key)) }
            }
        }
        let stored = key ?? newID(object)
        key = stored
        try table.checkNulls(values)
        table.put(values, for: stored)
        file.tables[kind.table] = table
        objects[object].key = stored
        objects[object].exists = true
        objects[object].dirty = []
    }

    /// Returns a reference of a row to one that is not there; nil if there is none.
    var danglingReference: String? {
        for kind in ObjectKind.allCases {
            for row in file.tables[kind.table]?.rows ?? [] {
                for (place, target) in kind.references {
                    guard case .integer(let id) = row.values[place] else { continue }
                    if file.tables[target.table]?.row(.rowID(id)) == nil {
                        return "\(kind) \(row.key) refers to \(target) \(id), which is not there"
                    }
                }
            }
        }
        return nil
    }

    // MARK: Removing

    mutating func remove(_ object: Int) throws -> Bool {
        guard !objects[object].isRemoved, objects[object].exists, let key = objects[object].key else { return false }
        let wasThere = try removeRow(objects[object].kind, key)
        objects[object].isRemoved = true
        objects[object].exists = false
        return wasThere
    }

    mutating func removeRow(_ kind: ObjectKind, _ key: RowKey) throws -> Bool {
        for (other, place, rule) in kind.referrers {
            guard let id = key.rowID, let table = file.tables[other.table] else { continue }
            // The row itself may refer to itself.
            let rows = table.rows.filter { $0.values[place] == .integer(id) && !(other == kind && $0.key == key) }
            for row in rows {
                switch rule {
                case .deny: throw Refusal.denied
                case .cascade: _ = try removeRow(other, row.key)
                case .nullify:
                    var values = row.values
                    values[place] = .null
                    file.tables[other.table]?.put(values, for: row.key)
                }
            }
        }
        return file.tables[kind.table]?.delete(key) ?? false
    }
}

extension Refusal {
    func matches(_ error: MakoError) -> Bool {
        switch (self, error) {
        case (.duplicateKey, .duplicate), (.unique, .duplicate), (.denied, .deniedByReference),
            (.null, .missingValue), (.notFound, .notFound), (.deleted, .deleted),
            (.unmatched, .danglingReference), (.uniqueOrUnmatched, .duplicate),
            (.uniqueOrUnmatched, .danglingReference):
            true
        default: false
        }
    }
}
