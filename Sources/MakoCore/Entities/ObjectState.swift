import MakoRecords

/// What the library notes in each object: few words, no allocation until something rare happens.
@frozen
public struct ObjectState: Sendable {
    /// The key of a row numbered by the database; 0: none yet.
    public var rowID: Int64 = 0
    /// Which properties differ from the stored row, bit 0 being the first column.
    public var dirty: UInt64 = .max
    /// Which properties the running transaction wrote last.
    @usableFromInline var written: UInt64 = 0
    /// The database the object belongs to; 0: none yet.
    @usableFromInline var database: UInt32 = 0
    @usableFromInline var flags: Flags = []
    /// Where the row that the object was made from stands in its chunk, see ``LazyRow``. It never changes.
    @usableFromInline var rowOffset: UInt16 = 0
    @usableFromInline var extra: ObjectExtra?

    public init() {}

    @inlinable @inline(__always)
    init(of row: EntityRow) {
        rowID = row.rowID
        dirty = 0
        database = row.database
        flags = .exists
        rowOffset = row.offset
        extra = row.extra
    }

    @frozen @usableFromInline
    struct Flags: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt16
        @inlinable @inline(__always) init(rawValue: UInt16) { self.rawValue = rawValue }
        /// The row was read or written by this object.
        @inlinable static var exists: Flags { Flags(rawValue: 1) }
        /// Removed: commits answer false.
        @inlinable static var sterile: Flags { Flags(rawValue: 2) }
        /// Being saved: a circle of references ends here.
        @inlinable static var saving: Flags { Flags(rawValue: 4) }
        /// Being asked whether it may be removed.
        @inlinable static var removing: Flags { Flags(rawValue: 8) }
    }
}

/// What only some objects need. Objects of one fetch may share it.
@usableFromInline
final class ObjectExtra: Sendable {
    /// The fetch the object came with: within one there is one object per row.
    let context: FetchContext?
    /// The key of a row that is keyed by properties, as it was stored.
    let key: RowKey?
    /// Why the last lazy load failed.
    let loadError: MakoError?
    /// How the object is committed; nil: as objects are.
    let options: CommitOptions?
    /// The properties of joined objects.
    let joined: [String: StoredValue]?
    /// What queries have loaded of its to-many relationships, by the columns that refer to it.
    let prefetched: [String: PrefetchedMany]?

    @usableFromInline
    convenience init(context: FetchContext? = nil, key: RowKey? = nil) {
        self.init(context: context, key: key, loadError: nil, options: nil, joined: nil, prefetched: nil)
    }

    fileprivate init(
        context: FetchContext?, key: RowKey?, loadError: MakoError?, options: CommitOptions?,
        joined: [String: StoredValue]?, prefetched: [String: PrefetchedMany]?
    ) {
        self.context = context
        self.key = key
        self.loadError = loadError
        self.options = options
        self.joined = joined
        self.prefetched = prefetched
    }

    /// Nil when there is nothing to note.
    @usableFromInline
    convenience init?(context: FetchContext?) {
        guard let context else { return nil }
        self.init(context: context, key: nil)
    }
}

extension ObjectState {
    /// The key under which the row is stored.
    var key: RowKey? {
        if let key = extra?.key { return key }
        return rowID == 0 ? nil : .rowID(rowID)
    }

    /// The fetch the object came with; made when there is none.
    mutating func requireContext() -> FetchContext {
        if let context = extra?.context { return context }
        let context = FetchContext()
        extra = ObjectExtra(
            context: context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: extra?.joined, prefetched: extra?.prefetched)
        return context
    }

    /// Notes why a lazy load failed, or that none did.
    mutating func setLoadError(_ error: MakoError?) {
        if extra?.loadError == nil && error == nil { return }
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: error, options: extra?.options, joined: extra?.joined,
            prefetched: extra?.prefetched)
    }

    /// Notes how the object is to be committed; nil: as objects are.
    mutating func setOptions(_ options: CommitOptions?) {
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: options,
            joined: extra?.joined, prefetched: extra?.prefetched)
    }

    /// Notes the properties of joined objects.
    mutating func setJoined(_ joined: [String: StoredValue]) {
        extra = ObjectExtra(
            context: extra?.context, key: extra?.key, loadError: extra?.loadError, options: extra?.options,
            joined: joined, prefetched: extra?.prefetched)
    }

    /// Notes what was loaded of the objects that refer to this one by a column of theirs.
    mutating func setPrefetched(_ many: PrefetchedMany, for column: String, of model: EntityModel) {
        var prefetched = extra?.prefetched ?? [:]
        prefetched["\(model.number) \(column)"] = many
        setPrefetched(prefetched)
    }

    /// Takes what was loaded of the objects that refer to this one by a column of theirs: it is for the first who asks.
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
            joined: extra?.joined, prefetched: prefetched)
    }

    /// Notes a key; integer keys stay inline.
    mutating func setKey(_ key: RowKey) {
        switch key {
        case .rowID(let id): rowID = id
        case .bytes:
            extra = ObjectExtra(
                context: extra?.context, key: key, loadError: extra?.loadError, options: extra?.options,
                joined: extra?.joined, prefetched: extra?.prefetched)
        }
    }
}

/// What the library notes in each struct.
public struct ValueState: Sendable, Hashable, Codable {
    var rowID: Int64 = 0
    var database: UInt32 = 0

    public init() {}

    init(rowID: Int64, database: UInt32) {
        self.rowID = rowID
        self.database = database
    }

    /// The number of the row; nil before the first save.
    public var id: Int? { rowID == 0 ? nil : Int(rowID) }

    // Two values are equal by their row, wherever it is open.
    public static func == (left: ValueState, right: ValueState) -> Bool { left.rowID == right.rowID }
    public func hash(into hasher: inout Hasher) { hasher.combine(rowID) }

    public init(from decoder: any Decoder) throws { rowID = try decoder.singleValueContainer().decode(Int64.self) }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rowID)
    }
}

extension ObjectEntity {
    /// Works on the object's notes under its lock.
    func lockedState<R>(_ body: (inout ObjectState) -> R) -> R {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        return body(&_$state)
    }
}

/// What a write to a property must do besides storing the value.
@frozen
public struct WriteMark: Sendable {
    @usableFromInline let property: Int32
    /// 0: nothing, 1: undo, the property was clean, 2: undo, it was dirty.
    @usableFromInline let kind: UInt8

    @usableFromInline
    init(property: Int, kind: UInt8) {
        self.property = Int32(truncatingIfNeeded: property)
        self.kind = kind
    }

    @inlinable public var needsUndo: Bool { kind != 0 }
}

extension EntityCoding {
    /// Notes that a property is being written. Called under the object's lock.
    public static func noteWrite(_ state: inout ObjectState, of object: AnyObject, property: Int) -> WriteMark {
        let bit: UInt64 = 1 << UInt64(property)
        let wasDirty = state.dirty & bit != 0
        state.dirty |= bit
        guard RunningTransactions.any else { return WriteMark(property: property, kind: 0) }
        guard let transaction = ThreadScope.transaction else {
            // Another thread overwrote what a transaction may have written: its rollback leaves this value alone.
            state.written &= ~bit
            return WriteMark(property: property, kind: 0)
        }
        state.written |= bit
        guard transaction.undo.wants(object, property: property) else { return WriteMark(property: property, kind: 0) }
        return WriteMark(property: property, kind: wasDirty ? 2 : 1)
    }

    /// Keeps how to restore a property, should the running transaction roll back.
    public static func recordUndo<T: ObjectEntity>(_ mark: WriteMark, of object: T, _ restore: @escaping (T) -> Void) {
        let bit: UInt64 = 1 << UInt64(mark.property)
        let wasClean = mark.kind == 1
        ThreadScope.transaction?.undo.record(object) {
            let lock = ObjectLock(object)
            lock.lock()
            defer { lock.unlock() }
            guard object._$state.written & bit != 0 else { return }
            restore(object)
            if wasClean { object._$state.dirty &= ~bit }
        }
    }
}
