import MakoRecords

/// The slot of a class's to-one reference that does not retain its object: the object while other references retain it,
/// else a key.
///
/// An access after the object was deinitialized reads it from the file again. An object without a row is retained until
/// its owner is saved, because nothing else leads to it.
public struct WeakReferenceSlot<Target: ObjectEntity>: PropertySlot {
    private weak var object: Target?
    /// An object that had no row when it was set, until its owner is saved.
    private var unsaved: Target?
    /// A loaded object until the caller retains it; nil in the slot of an owner.
    private var fresh: Target?
    private var key: RowKey?
    /// Whether the row of the key does not exist.
    private var isMissing = false

    /// A reference that was set.
    init(object: Target?) {
        self.object = object
        key = object?.storedKey
        unsaved = key == nil ? object : nil
    }

    /// A reference as a row holds it.
    init(key: RowKey?) { self.key = key }

    /// The object; nil where it is not in memory.
    public var value: Target? { fresh ?? object }
    /// Whether the reference needs no load: the object is in memory, or there is none.
    public var isSettled: Bool { key == nil || isMissing || value != nil }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { value }
    /// A copy of the slot that retains its object.
    public var held: Self {
        var copy = self
        copy.fresh = value
        return copy
    }
    /// The key that the row gets.
    var storedKey: RowKey? { key }

    /// Returns the slot with its object loaded; unchanged if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        guard let key, !isSettled else { return self }
        do throws(MakoError) {
            var copy = self
            copy.fresh = try LazyLoad.object(Target.self, key: key, for: owner)
            copy.isMissing = copy.fresh == nil
            return copy
        } catch {
            LazyLoad.failed(error, owner: owner)
            return self
        }
    }

    /// Takes over the loaded slot, unless the reference was set since `before` was read.
    public mutating func settle(_ loaded: Self, replacing before: Self) {
        guard loaded.isSettled, !isSettled, key == before.key else { return }
        object = loaded.value
        fresh = nil
        isMissing = loaded.isMissing
    }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard value === object else { return }
        self.key = key.isRow ? key : nil
        unsaved = key == .unsaved ? value : nil
        if key.isRemoved { (self.object, fresh) = (nil, nil) }
    }

    /// Releases an object that was never saved, because the owner is deinitialized.
    public mutating func letGo() { if unsaved != nil { ReleasedObjects.release(&unsaved, leaving: nil) } }
}

/// The codec of references marked `@Relationship(.weak)`.
public enum WeakReferenceCodec<Target: ObjectEntity>: WeakCodec {
    /// The codec of the same reference without `.weak`.
    public typealias Strong = ReferenceCodec<Target>
    /// The slot of the weak reference.
    public typealias Slot = WeakReferenceSlot<Target>

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(key: nil) }
    /// Returns the slot of a weak reference to an object.
    public static func slot(_ value: Target?) -> Slot { Slot(object: value) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        ReferenceKeys.key(stored, of: Target.entityModel).map { Slot(key: $0) }
    }
    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(key: ReferenceKeys.read(row.reader, position, of: Target.entityModel))
    }
    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        ReferenceKeys.write(slot.storedKey, of: Target.entityModel, &writer, position)
    }
}

extension EntityCoding {
    /// Returns the weak codec for a reference to an object.
    public static func weakCodec<Target: ObjectEntity>(_: Target?.Type) -> WeakReferenceCodec<Target>.Type {
        WeakReferenceCodec<Target>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable,
        message: "a single .weak property refers to an object of a class: 'var reader: Reader?'; remove .weak"
    )
    public static func weakCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }
}
