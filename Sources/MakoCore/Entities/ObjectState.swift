import MakoRecords
import MakoStorage

/// The metadata of an object: three words, and separate memory only in rare cases.
@frozen
public struct ObjectState: Sendable {
    /// The row number; 0: none yet.
    public var rowID: Int64 = 0
    /// The number of the object's database; 0: none yet.
    @usableFromInline var database: UInt32 = 0
    // Bits 0 to 3: `flags`; 4 to 6: `marks`; 8 to 18: the offset of the row in its chunk, in units of 8 bytes, which
    // never changes; 19 to 31: the dirty flags of the first 13 properties.
    @usableFromInline var bits = Marks.allDirty.rawValue
    @usableFromInline var held = Held.nothing

    /// The metadata of a new object: all properties are dirty.
    public init() {}

    @inlinable @inline(__always)
    init(of row: EntityRow) {
        rowID = row.rowID
        database = row.database
        guard row.pending != 0, let rows = row.rows.chunk else {
            bits = Flags.exists.rawValue
            held = if let extra = row.extra { .extra(extra) } else { .nothing }
            return
        }
        rows.setPending(row.pending, at: row.offset)
        bits = Flags.exists.rawValue | Marks.inRow.rawValue | UInt32(row.offset >> 3) << ObjectState.offsetShift
        // Most rows have none, which avoids a retain.
        held = if row.hasExtra, let extra = row.extra { Held(rows, extra) } else { .rows(rows) }
    }

    @frozen @usableFromInline
    struct Flags: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt32
        @inlinable @inline(__always) init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The object has a row.
        @inlinable static var exists: Flags { Flags(rawValue: 1) }
        /// The object was removed: it cannot be saved.
        @inlinable static var removed: Flags { Flags(rawValue: 2) }
        /// The object is being saved, which ends cycles of references.
        @inlinable static var saving: Flags { Flags(rawValue: 4) }
        /// The removal hook of the object is running.
        @inlinable static var removing: Flags { Flags(rawValue: 8) }
        static var all: Flags { Flags(rawValue: 15) }
    }

    /// Facts about the state itself.
    @frozen @usableFromInline
    struct Marks: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt32
        @inlinable @inline(__always) init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Some properties are not decoded from the row yet.
        @inlinable static var inRow: Marks { Marks(rawValue: 16) }
        /// Every property is dirty, whatever the single dirty flags are.
        @inlinable static var allDirty: Marks { Marks(rawValue: 32) }
        /// A transaction wrote a property.
        @inlinable static var written: Marks { Marks(rawValue: 64) }
    }

    @inlinable static var offsetShift: UInt32 { 8 }
    @inlinable static var offsetMask: UInt32 { 1 << 11 - 1 }
    private static var dirtyShift: UInt32 { 19 }
    /// The number of properties whose dirty flags are in `bits`, and the properties themselves.
    private static var nearCount: Int { 13 }
    private static var nearProperties: UInt64 { 1 << UInt64(nearCount) - 1 }

    @usableFromInline var flags: Flags {
        get { Flags(rawValue: bits & Flags.all.rawValue) }
        set { bits = bits & ~Flags.all.rawValue | newValue.rawValue }
    }

    private func isMarked(_ mark: Marks) -> Bool { bits & mark.rawValue != 0 }
    private mutating func mark(_ mark: Marks, _ isSet: Bool) {
        bits = isSet ? bits | mark.rawValue : bits & ~mark.rawValue
    }
}

extension ObjectState {
    /// The properties that differ from the stored row; bit 0 is the first column.
    public internal(set) var dirty: EntityCoding.PropertySet {
        get {
            if isMarked(.allDirty) { return .all }
            let near = PropertySet(first: UInt64(bits >> ObjectState.dirtyShift))
            if case .more(let more) = held { return near.union(more.dirty) }
            return near
        }
        set {
            let near = UInt32(truncatingIfNeeded: newValue.first & ObjectState.nearProperties) << ObjectState.dirtyShift
            bits = bits & (1 << ObjectState.dirtyShift - 1) | near
            mark(.allDirty, newValue.isAll)
            let isNear = newValue.first & ~ObjectState.nearProperties == 0 && newValue.rest == nil || newValue.isAll
            if isNear { if case .more = held { setFar(.none) } } else { setFar(newValue) }
        }
    }

    // Not inlined, and so not in the way of what most objects do.
    @inline(never)
    private mutating func setFar(_ dirty: PropertySet) {
        let far = dirty.subtracting(PropertySet(first: ObjectState.nearProperties))
        if far != farDirty { hold(extra, rows, far, overwritten) }
    }

    /// The dirty flags of the other properties.
    private var farDirty: PropertySet { if case .more(let more) = held { more.dirty } else { .none } }
    /// The properties that another thread wrote after a transaction did.
    private var overwritten: PropertySet { if case .more(let more) = held { more.overwritten } else { .none } }

    /// Marks a property as dirty. Returns whether it was.
    @inline(__always)
    mutating func markDirty(_ property: Int) -> Bool {
        if property >= ObjectState.nearCount { return markFar(property) }
        let flag: UInt32 = 1 &<< (ObjectState.dirtyShift + UInt32(truncatingIfNeeded: property))
        if bits & (flag | Marks.allDirty.rawValue) != 0 { return true }
        bits |= flag
        return false
    }

    @inline(never)
    private mutating func markFar(_ property: Int) -> Bool {
        if isMarked(.allDirty) { return true }
        var far = farDirty
        if far.contains(property) { return true }
        far.insert(property)
        hold(extra, rows, far, overwritten)
        return false
    }

    /// Records that the running transaction wrote a property, which its rollback may restore. Returns whether one wrote
    /// to the object before.
    mutating func noteWritten(_ property: Int) -> Bool {
        let wasWritten = isMarked(.written)
        mark(.written, true)
        if case .more = held { noteOwn(property) }
        return wasWritten
    }

    @inline(never)
    private mutating func noteOwn(_ property: Int) {
        var others = overwritten
        if !others.contains(property) { return }
        others.remove(property)
        hold(extra, rows, farDirty, others)
    }

    /// Records that another thread wrote a property, which the rollback of a transaction then does not restore.
    mutating func noteOverwritten(_ property: Int) {
        guard isMarked(.written), !isOverwritten(property) else { return }
        hold(extra, rows, farDirty, overwritten.union(PropertySet(property)))
    }

    func isOverwritten(_ property: Int) -> Bool { overwritten.contains(property) }

    /// Turns the state into that of a copy: no transaction wrote to it, and the row stays with the original.
    mutating func becomeCopy() {
        flags.subtract([.saving, .removing])
        mark([.written, .inRow], false)
        hold(extra?.withoutMembers, nil, farDirty, .none)
    }

    var extra: ObjectExtra? {
        get {
            switch held {
            case .nothing: nil
            case .rows(let rows): rows.companion as? ObjectExtra
            case .extra(let extra): extra
            case .more(let more): more.extra
            }
        }
        set { hold(newValue, rows, farDirty, overwritten) }
    }

    /// The chunk with the object's row, while properties are not decoded.
    @usableFromInline var rows: RowArenaChunk? {
        guard isMarked(.inRow) else { return nil }
        switch held {
        case .nothing: return nil
        case .rows(let rows): return rows
        case .extra(let extra): return extra.rows
        case .more(let more): return more.rows
        }
    }

    /// Releases the row after every property was decoded.
    @usableFromInline
    mutating func releaseRow() {
        mark(.inRow, false)
        hold(extra, nil, farDirty, overwritten)
    }

    /// The changes of an object in the plain case: it has a row in this database under a number, and saving changes
    /// only its dirty flags. No properties: it has no changes, or is not such an object.
    mutating func plainChanges(in number: UInt32) -> (properties: PropertySet, id: Int64) {
        guard database == number, rowID != 0, flags == .exists else { return (.none, 0) }
        switch held {
        case .nothing: return (dirty, rowID)
        case .rows(let rows): return (rows.companion == nil ? dirty : .none, rowID)
        case .extra, .more: return (.none, rowID)
        }
    }

    private mutating func hold(
        _ extra: ObjectExtra?, _ rows: RowArenaChunk?, _ dirty: PropertySet, _ overwritten: PropertySet
    ) {
        // An `extra` with the old row must not retain it.
        let extra = rows == nil && extra?.rows != nil ? extra?.withoutRows : extra
        if !dirty.isEmpty || !overwritten.isEmpty {
            held = .more(ObjectMore(extra, rows, dirty: dirty, overwritten: overwritten))
        } else if let rows {
            held =
                if let extra { Held(rows, extra) } else if rows.companion == nil { .rows(rows) } else {
                    .more(ObjectMore(nil, rows))
                }
        } else if let extra {
            held = .extra(extra)
        } else {
            held = .nothing
        }
    }
}

/// The object's reference to further data: a single word.
@frozen @usableFromInline
enum Held: Sendable {
    case nothing
    /// The row, in a chunk whose companion is the object's ``ObjectExtra``, if it has one.
    case rows(RowArenaChunk)
    /// The extra data, possibly with the row.
    case extra(ObjectExtra)
    case more(ObjectMore)

    @usableFromInline
    init(_ rows: RowArenaChunk, _ extra: ObjectExtra) {
        self =
            if rows.companion === extra { .rows(rows) } else if extra.rows === rows { .extra(extra) } else {
                .more(ObjectMore(extra, rows))
            }
    }
}

/// Metadata that does not fit the state. Immutable, because copies of a state share it.
@usableFromInline
final class ObjectMore: Sendable {
    let extra: ObjectExtra?
    let rows: RowArenaChunk?
    private let firstDirty: UInt64
    private let firstOverwritten: UInt64
    /// Both sets, if one is more than a word. In memory of its own, so that entities with few properties, which have
    /// such sets in rare cases only, do not pay for them.
    private let further: FurtherFlags?

    var dirty: PropertySet { further?.dirty ?? PropertySet(first: firstDirty) }
    var overwritten: PropertySet { further?.overwritten ?? PropertySet(first: firstOverwritten) }

    init(
        _ extra: ObjectExtra?, _ rows: RowArenaChunk?, dirty: PropertySet = .none, overwritten: PropertySet = .none
    ) {
        self.extra = extra
        self.rows = rows
        firstDirty = dirty.first
        firstOverwritten = overwritten.first
        further = dirty.rest == nil && overwritten.rest == nil ? nil : FurtherFlags(dirty, overwritten)
    }
}

/// The flags of an object with more than 64 properties.
private final class FurtherFlags: Sendable {
    let dirty: PropertySet
    let overwritten: PropertySet

    init(_ dirty: PropertySet, _ overwritten: PropertySet) {
        self.dirty = dirty
        self.overwritten = overwritten
    }
}

/// Data that few objects need. Objects of one fetch may share it.
@usableFromInline
final class ObjectExtra: Sendable {
    /// The fetch the object belongs to, within which each row has one object.
    let context: FetchContext?
    /// The stored key of a row with key properties.
    let key: RowKey?
    /// The error of the last lazy load.
    let loadError: MakoError?
    /// The commit options; nil: the defaults.
    let options: CommitOptions?
    /// The columns of joined objects.
    let joined: [String: StoredValue]?
    /// The prefetched to-many relationships, by the columns that refer to the object.
    let prefetched: [String: PrefetchedMany]?
    /// The objects that a save of this one stores.
    let members: PendingMembers?
    /// The chunk with the row, while properties are not decoded.
    let rows: RowArenaChunk?

    @usableFromInline
    convenience init(context: FetchContext? = nil, key: RowKey? = nil, rows: RowArenaChunk? = nil) {
        self.init(
            context: context, key: key, loadError: nil, options: nil, joined: nil, prefetched: nil, members: nil,
            rows: rows)
    }

    init(
        context: FetchContext?, key: RowKey?, loadError: MakoError?, options: CommitOptions?,
        joined: [String: StoredValue]?, prefetched: [String: PrefetchedMany]?, members: PendingMembers?,
        rows: RowArenaChunk? = nil
    ) {
        self.rows = rows
        self.members = members
        self.context = context
        self.key = key
        self.loadError = loadError
        self.options = options
        self.joined = joined
        self.prefetched = prefetched
    }

    /// nil when there is no context.
    @usableFromInline
    convenience init?(context: FetchContext?) {
        guard let context else { return nil }
        self.init(context: context, key: nil)
    }

    fileprivate var withoutRows: ObjectExtra {
        ObjectExtra(
            context: context, key: key, loadError: loadError, options: options, joined: joined, prefetched: prefetched,
            members: members)
    }

    /// The data of a copy, to which no object was given.
    fileprivate var withoutMembers: ObjectExtra {
        members == nil
            ? self
            : ObjectExtra(
                context: context, key: key, loadError: loadError, options: options, joined: joined,
                prefetched: prefetched, members: nil, rows: rows)
    }
}

/// The objects whose reference to an owner was set or removed, in that order, until a save stores them: `jo.commit()`
/// saves the dogs whose `owner` became `jo`.
///
/// Retains the objects, because a program may have no other reference to a dog that it gave to `jo`.
final class PendingMembers: Sendable {
    private struct Entry {
        let object: any ObjectEntity
        let order: Int
        /// Whether the object left the owner, so that it no longer refers to it.
        let hasLeft: Bool
    }
    private let state = Guarded<(entries: [ObjectIdentifier: Entry], next: Int)>(([:], 0))

    func add(_ object: any ObjectEntity, hasLeft: Bool = false) {
        state.withLock { state in
            state.entries[ObjectIdentifier(object)] = Entry(object: object, order: state.next, hasLeft: hasLeft)
            state.next += 1
        }
    }

    /// Removes an object. False when it was not there.
    @discardableResult
    func remove(_ object: any ObjectEntity) -> Bool {
        state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(object)) != nil }
    }

    /// The objects in the order in which they were added, each with whether it left the owner.
    var all: [(object: any ObjectEntity, hasLeft: Bool)] {
        state.withLock { $0.entries.values.sorted { $0.order < $1.order }.map { ($0.object, $0.hasLeft) } }
    }
}

extension ObjectState {
    /// The key of the stored row.
    var key: RowKey? {
        if let key = extra?.key { return key }
        return rowID == 0 ? nil : .rowID(rowID)
    }

    /// The fetch the object belongs to; created if there is none.
    mutating func requireContext() -> FetchContext {
        if case .extra(let extra) = held, let context = extra.context { return context }
        if let context = extra?.context { return context }
        let context = FetchContext()
        extra = ObjectExtra(
            context: context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: extra?.joined, prefetched: extra?.prefetched, members: extra?.members)
        return context
    }

    /// Sets or clears the error of the last lazy load.
    mutating func setLoadError(_ error: MakoError?) {
        if extra?.loadError == nil && error == nil { return }
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: error, options: extra?.options, joined: extra?.joined,
            prefetched: extra?.prefetched, members: extra?.members)
    }

    /// Sets the commit options; nil: the defaults.
    mutating func setOptions(_ options: CommitOptions?) {
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: options,
            joined: extra?.joined, prefetched: extra?.prefetched, members: extra?.members)
    }

    /// Sets the columns of joined objects.
    mutating func setJoined(_ joined: [String: StoredValue]) {
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: joined, prefetched: extra?.prefetched, members: extra?.members)
    }

    /// Sets the prefetched objects that refer to this one through a column.
    mutating func setPrefetched(_ many: PrefetchedMany, for column: String, of model: EntityModel) {
        var prefetched = extra?.prefetched ?? [:]
        prefetched["\(model.number) \(column)"] = many
        setPrefetched(prefetched)
    }

    /// Removes and returns the prefetched objects that refer to this one through a column; the first access uses them
    /// up.
    mutating func takePrefetched(for column: String, of model: EntityModel) -> PrefetchedMany? {
        guard var prefetched = extra?.prefetched,
            let many = prefetched.removeValue(forKey: "\(model.number) \(column)")
        else { return nil }
        setPrefetched(prefetched.isEmpty ? nil : prefetched)
        return many
    }

    private mutating func setPrefetched(_ prefetched: [String: PrefetchedMany]?) {
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: extra?.joined, prefetched: prefetched, members: extra?.members)
    }

    /// The objects that a save of this one stores; created if there are none.
    mutating func requireMembers() -> PendingMembers {
        if let members = extra?.members { return members }
        let members = PendingMembers()
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: extra?.joined, prefetched: extra?.prefetched, members: members)
        return members
    }

    /// Sets the key; integer keys are stored inline.
    mutating func setKey(_ key: RowKey) {
        switch key {
        case .rowID(let id): rowID = id
        case .bytes:
            if extra?.key == key { return }
            extra = ObjectExtra(
                context: extra?.context, key: key, loadError: extra?.loadError, options: extra?.options,
                joined: extra?.joined, prefetched: extra?.prefetched, members: extra?.members)
        }
    }
}

/// The metadata of a struct.
public struct ValueState: Sendable, Hashable, Codable {
    var rowID: Int64 = 0
    var database: UInt32 = 0

    /// The metadata of a struct without a row.
    public init() {}

    init(rowID: Int64, database: UInt32) {
        self.rowID = rowID
        self.database = database
    }

    /// The row number; nil before the first save.
    public var id: Int? { rowID == 0 ? nil : Int(rowID) }

    /// Compares the rows only, not the databases.
    public static func == (left: ValueState, right: ValueState) -> Bool { left.rowID == right.rowID }
    public func hash(into hasher: inout Hasher) { hasher.combine(rowID) }

    /// Decodes a row number.
    public init(from decoder: any Decoder) throws { rowID = try decoder.singleValueContainer().decode(Int64.self) }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rowID)
    }
}

extension ObjectEntity {
    /// Accesses the object's metadata under its lock.
    func lockedState<R>(_ body: (inout ObjectState) -> R) -> R {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        return body(&_$state)
    }
}
