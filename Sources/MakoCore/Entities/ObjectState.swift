import MakoRecords

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
        /// The object was removed: commits return false.
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
    /// The properties whose dirty flags are in `bits`.
    private static var nearProperties: UInt64 { 1 << 13 - 1 }

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
    public var dirty: UInt64 {
        get {
            if isMarked(.allDirty) { return .max }
            return UInt64(bits >> ObjectState.dirtyShift) | farDirty
        }
        set {
            let near = UInt32(truncatingIfNeeded: newValue & ObjectState.nearProperties) << ObjectState.dirtyShift
            bits = bits & (1 << ObjectState.dirtyShift - 1) | near
            mark(.allDirty, newValue == .max)
            let far = newValue == .max ? 0 : newValue & ~ObjectState.nearProperties
            if far != farDirty { hold(extra, rows, far, overwritten) }
        }
    }

    /// The dirty flags of the other properties.
    private var farDirty: UInt64 { if case .more(let more) = held { more.dirty } else { 0 } }
    /// The properties that another thread wrote after a transaction did.
    private var overwritten: UInt64 { if case .more(let more) = held { more.overwritten } else { 0 } }

    /// Records that the running transaction wrote properties, which its rollback may restore.
    mutating func noteWritten(_ properties: UInt64) {
        mark(.written, true)
        if overwritten & properties != 0 { hold(extra, rows, farDirty, overwritten & ~properties) }
    }

    /// Records that another thread wrote properties, which the rollback of a transaction then does not restore.
    mutating func noteOverwritten(_ properties: UInt64) {
        guard isMarked(.written), properties & ~overwritten != 0 else {
            return
        }
        hold(extra, rows, farDirty, overwritten | properties)
    }

    func isOverwritten(_ properties: UInt64) -> Bool { overwritten & properties != 0 }

    /// Turns the state into that of a copy: no transaction wrote to it, and the row stays with the original.
    mutating func becomeCopy() {
        flags.subtract([.saving, .removing])
        mark([.written, .inRow], false)
        hold(extra?.withoutMembers, nil, farDirty, 0)
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
    mutating func plainChanges(in number: UInt32) -> (properties: UInt64, id: Int64) {
        let isOwn = database == number
        guard isOwn, rowID != 0, flags == .exists else { return (0, 0) }
        switch held {
        case .nothing: return (dirty, rowID)
        case .rows(let rows): return (rows.companion == nil ? dirty : 0, rowID)
        case .extra, .more: return (0, rowID)
        }
    }

    private mutating func hold(
        _ extra: ObjectExtra?, _ rows: RowArenaChunk?, _ dirty: UInt64, _ overwritten: UInt64
    ) {
        // An `extra` with the old row must not retain it.
        let extra = rows == nil && extra?.rows != nil ? extra?.withoutRows : extra
        if dirty | overwritten != 0 {
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
    let dirty: UInt64
    let overwritten: UInt64

    init(_ extra: ObjectExtra?, _ rows: RowArenaChunk?, dirty: UInt64 = 0, overwritten: UInt64 = 0) {
        self.extra = extra
        self.rows = rows
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

    fileprivate init(
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
    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var next = 0
    }
    private let state = Protected(State())

    func add(_ object: any ObjectEntity, hasLeft: Bool = false) {
        state.with { state in
            state.entries[ObjectIdentifier(object)] = Entry(object: object, order: state.next, hasLeft: hasLeft)
            state.next += 1
        }
    }

    /// Removes an object. False when it was not there.
    @discardableResult
    func remove(_ object: any ObjectEntity) -> Bool {
        state.with { $0.entries.removeValue(forKey: ObjectIdentifier(object)) != nil }
    }

    /// The objects in the order in which they were added, each with whether it left the owner.
    var all: [(object: any ObjectEntity, hasLeft: Bool)] {
        state.with { $0.entries.values.sorted { $0.order < $1.order }.map { ($0.object, $0.hasLeft) } }
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

/// What a property write must do besides storing the value.
@frozen
public struct WriteMark: Sendable {
    @usableFromInline let property: Int32
    /// 0: nothing; 1: undo, the property was clean; 2: undo, it was dirty.
    @usableFromInline let kind: UInt8

    @usableFromInline
    init(property: Int, kind: UInt8) {
        self.property = Int32(truncatingIfNeeded: property)
        self.kind = kind
    }

    /// Whether the write must be recorded for a rollback.
    @inlinable public var needsUndo: Bool { kind != 0 }
}

extension EntityCoding {
    /// Records that a property is being written. The caller holds the object's lock.
    public static func noteWrite(_ state: inout ObjectState, of object: AnyObject, property: Int) -> WriteMark {
        let bit: UInt64 = 1 << UInt64(property)
        let dirty = state.dirty
        let wasDirty = dirty & bit != 0
        if !wasDirty { state.dirty = dirty | bit }
        guard RunningTransactions.any else { return WriteMark(property: property, kind: 0) }
        guard let transaction = ThreadScope.transaction else {
            state.noteOverwritten(bit)
            return WriteMark(property: property, kind: 0)
        }
        state.noteWritten(bit)
        guard transaction.undo.wants(object, property: property) else { return WriteMark(property: property, kind: 0) }
        return WriteMark(property: property, kind: wasDirty ? 2 : 1)
    }

    /// Records how a rollback of the running transaction restores a property.
    public static func recordUndo<T: ObjectEntity>(_ mark: WriteMark, of object: T, _ restore: @escaping (T) -> Void) {
        let bit: UInt64 = 1 << UInt64(mark.property)
        let wasClean = mark.kind == 1
        ThreadScope.transaction?.undo.record(object) {
            let lock = ObjectLock(object)
            lock.lock()
            defer { lock.unlock() }
            guard !object._$state.isOverwritten(bit) else { return }
            restore(object)
            if wasClean { object._$state.dirty &= ~bit }
        }
    }
}
