import MakoRecords
import MakoStorage

extension EntityCoding {
    /// The slot of an object's structs with rows of their own, one or a collection: their keys until the first access, then
    /// the structs. What is assigned is saved before the object.
    public struct HeldValueSlot<Form: CollectionForm>: PropertySlot
    where Form.Target: Entity, Form.Target._$Kind == EntityKind.Value {
        fileprivate enum Content: Sendable {
            case stored(KeyTree)
            case held(HeldProperty<Form>)
        }

        /// Nil: ``EntityCoding/CollectionForm/empty``.
        private var content: Content?
        /// The error of the last load, also of the slot that this one replaced.
        private var failure: LoadFailure?

        init(_ value: Form.Value) { content = .held(HeldProperty(value, savedIn: nil)) }

        /// The keys that a row holds; nil: NULL.
        init(stored: KeyTree?) { content = stored.map { .stored($0) } }

        /// The structs; none before they are loaded.
        public var value: Form.Value { held?.value ?? Form.empty }
        /// Whether the structs are in memory.
        public var isSettled: Bool {
            if case .stored = content { false } else { true }
        }
        /// Nil: a struct is no object.
        public var loadedObject: (any ObjectEntity)? { nil }

        /// What was assigned, or loaded; nil: nothing.
        var held: HeldProperty<Form>? {
            if case .held(let held) = content { held } else { nil }
        }

        /// The keys for the row; nil: NULL.
        var tree: KeyTree? {
            switch content {
            case nil: nil
            case .stored(let tree): tree
            case .held(let held): Form.tree(held.value) { $0.storedValueKey }
            }
        }

        /// Returns the slot with its structs loaded; unchanged if the load failed.
        public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
            guard case .stored(let tree) = content else { return self }
            do throws(MakoError) {
                let database = try Database.resolve(
                    number: owner.lockedState { $0.database }, for: Form.Target.entityModel)
                database.metricsCounters.lazyLoads.withLock { $0 += 1 }
                let found = try database.values(Form.Target.self, tree.rowKeys)
                var copy = self
                do throws(OtherForm) {
                    let value = try Form.value(tree) { found[$0] } ?? Form.empty
                    copy.content = .held(HeldProperty(value, savedIn: database.number))
                } catch { throw .otherForm(Form.self, owner, property) }
                copy.failure = nil
                return copy
            } catch {
                LazyLoad.failed(error, owner: owner)
                var copy = self
                copy.failure = LoadFailure(error)
                return copy
            }
        }

        /// Takes over the loaded slot, unless the property was set since `before` was read.
        public mutating func settle(_ loaded: Self, replacing before: Self) {
            guard case .stored(let tree) = content, case .stored(tree) = before.content else { return }
            if loaded.isSettled { self = loaded } else { failure = loaded.failure }
        }

        /// Takes over the load error of the slot that this one replaces.
        public mutating func takePlace(of old: Self) { failure = old.failure }

        /// Throws the load error if the collection was set after a failed load: storing it would overwrite keys that were
        /// not read.
        fileprivate func requireRead() throws(MakoError) {
            if isSettled, let failure { throw failure.error }
        }

        /// Does nothing: structs get their keys when they are saved.
        public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {}

        /// Releases the structs, which may hold objects, because the owner is deinitialized.
        public mutating func letGo() {
            if content != nil { ReleasedObjects.release(&content, leaving: nil) }
        }
    }
}

/// What a property was set to, or what was loaded for it. Another assignment makes another one, so that the keys of
/// saved structs never replace what another thread has assigned meanwhile.
final class HeldProperty<Form: EntityCoding.CollectionForm>: HeldContent where Form.Target: Entity {
    private struct State {
        var value: Form.Value
        /// The number of the database that has the rows; nil: none, or there are no structs.
        var database: UInt32?
    }

    private let state: Guarded<State>

    init(_ value: Form.Value, savedIn database: UInt32?) {
        state = Guarded(State(value: value, database: database))
    }

    var value: Form.Value { state.withLock { $0.value } }

    /// Whether it holds structs that this database does not have. A clone of an object that was never saved shares what
    /// it holds with it, and may go to another database, which refuses structs of the first.
    func needsSave(in database: UInt32) -> Bool {
        state.withLock { state in
            if state.database == database { return false }
            var holdsAny = false
            Form.forEach(state.value) { _ in holdsAny = true }
            return holdsAny
        }
    }

    func save(for object: any ObjectEntity, in transaction: Transaction) throws(MakoError) {
        let before = state.withLock { $0 }
        var value = before.value
        try Form.update(&value) { (held) throws(MakoError) in try transaction.saveValue(&held) }
        transaction.undo.record(object) { self.state.withLock { $0 = before } }
        state.withLock { $0 = State(value: value, database: transaction.database.number) }
    }
}

extension EntityCoding.HeldValueSlot {
    /// Notes structs that are not saved yet, if an object is being encoded whose save can wait: its transaction then
    /// saves them, and encodes the row again.
    fileprivate func noteUnsaved() {
        guard let held, let transaction = ThreadScope.transaction, transaction.held.isInObject else { return }
        if held.needsSave(in: transaction.database.number) { transaction.held.unsaved.append(held) }
    }
}

extension EntityCoding {
    /// One struct or nil.
    public enum ReferenceForm<Target: Entity>: CollectionForm {
        /// Nil.
        public static var empty: Target? { nil }
        /// True: nil is a value.
        public static var isOptional: Bool { true }
        /// Visits the struct.
        public static func forEach(_ value: Target?, _ body: (Target) -> Void) { if let value { body(value) } }
        /// Updates the struct in place.
        public static func update(
            _ value: inout Target?, _ body: (inout Target) throws(MakoError) -> Void
        ) throws(MakoError) {
            guard var held = value else { return }
            try body(&held)
            value = held
        }
        /// Returns the key of the struct; nil for nil.
        public static func tree(_ value: Target?, _ key: (Target) -> RowKey?) -> KeyTree? {
            value.flatMap { key($0) }.map { .key($0) }
        }
        /// Returns the struct for a key; throws for a list.
        public static func value(_ tree: KeyTree, _ object: (RowKey) -> Target?) throws(OtherForm) -> Target?? {
            .some(try ObjectForm<Target>.value(tree, object))
        }
    }
}

extension EntityCoding.ValueReferenceCodec: EntityCoding.SlotCodec {
    /// The slot of the struct.
    public typealias Slot = EntityCoding.HeldValueSlot<EntityCoding.ReferenceForm<Target>>

    /// The slot of nil.
    public static var emptySlot: Slot { Slot(stored: nil) }
    /// Returns the slot of a struct.
    public static func slot(_ value: Target?) -> Slot { Slot(value) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        if stored.isNull { return emptySlot }
        return ReferenceKeys.key(stored, of: Target.entityModel).map { Slot(stored: .key($0)) }
    }
    /// Reads the slot, with the key of the struct, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(stored: ReferenceKeys.read(row.reader, position, of: Target.entityModel).map { .key($0) })
    }
    /// Writes the key of the struct to a row.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        slot.noteUnsaved()
        var key: RowKey?
        if case .key(let stored) = slot.tree { key = stored }
        ReferenceKeys.write(key, of: Target.entityModel, &writer, position)
    }
}

extension EntityCoding.ValueCollectionCodec: EntityCoding.SlotCodec {
    /// The slot of the collection.
    public typealias Slot = EntityCoding.HeldValueSlot<Form>

    /// The slot of an empty collection; of nil where the collection is optional.
    public static var emptySlot: Slot { Slot(stored: nil) }
    /// Returns the slot of a collection.
    public static func slot(_ value: Property) -> Slot { Slot(value) }
    /// Returns the slot of stored keys; nil if the value holds none.
    public static func slot(stored: StoredValue) -> Slot? {
        if stored.isNull { return isOptional ? emptySlot : nil }
        guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return nil }
        return Slot(stored: tree)
    }
    /// Reads the slot, with the keys of the structs, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        if row.reader.isNull(position) { return emptySlot }
        guard let tree = KeyTree(row.reader.blob(position)) else {
            throw EntityCoding.mismatch(row, position, Property.self)
        }
        return Slot(stored: tree)
    }
    /// Writes the keys of the structs to a row.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        try slot.requireRead()
        slot.noteUnsaved()
        // An empty collection that is not optional is a list without keys, not NULL.
        guard let bytes = (slot.tree ?? (isOptional ? nil : Form.tree(Form.empty) { _ in nil }))?.encoded else {
            return writer.setNull(position)
        }
        try Form.write(bytes, &writer, position)
    }
}
