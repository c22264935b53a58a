import MakoRecords

extension EntityCoding {
    /// The slot of a collection of objects: their keys until the first access, then the objects.
    public struct MemberSlot<Form: CollectionForm, Address: ObjectAddress>: PropertySlot
    where Form.Target == Address.Object {
        private var content: Form.Value
        /// The keys as the row holds them, until they are loaded.
        private var stored: [UInt8]?
        /// The objects that have a key, mostly in the order of the content.
        private var known = OrderedPlaces<ObjectIdentifier>()
        /// The keys under which they were saved; ``RowKey/noRow``: none.
        private var keys: [RowKey] = []
        /// Deleted objects, which are removed from the content together with the last of them.
        private var leaving: Set<ObjectIdentifier> = []
        /// The error of the last load, also of the slot that this one replaced.
        private var failure: LoadFailure?

        /// A collection that was set. Locks each object, so the caller must hold no object lock.
        init(_ value: Form.Value) {
            content = value
            var known = OrderedPlaces<ObjectIdentifier>()
            var keys: [RowKey] = []
            Form.forEach(value) { object in
                guard let key = Address.key(of: object) else { return }
                known.append(Address.identity(of: object))
                keys.append(key)
            }
            (self.known, self.keys) = (known, keys)
        }

        /// The keys that a row holds.
        init(stored: [UInt8]) {
            content = Form.empty
            self.stored = stored
        }

        /// The collection; empty before it is loaded.
        public var value: Form.Value { content }
        /// Whether the collection is in memory.
        public var isSettled: Bool { stored == nil }
        /// Nil: a collection has no single object.
        public var loadedObject: (any ObjectEntity)? { nil }

        /// Visits the objects in memory, each as often as it occurs.
        public func visitObjects(_ visit: (any ObjectEntity) -> Void) {
            Form.forEach(content) { visit(Address.object($0)) }
        }

        /// The content of the column; nil for NULL. Objects without a row are left out.
        var encoded: [UInt8]? {
            if let stored { return stored }
            var known = known
            return Form.tree(content) { object in
                guard let place = known.place(of: Address.identity(of: object)), keys[place] != .noRow else {
                    return nil
                }
                return keys[place]
            }?.encoded
        }

        /// Returns the slot with its objects loaded; with the error if the load failed.
        public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
            guard let stored else { return self }
            do throws(MakoError) {
                guard let tree = KeyTree(stored) else { throw .otherForm(Form.self, owner, property) }
                let listed = tree.listedKeys
                let keys = listed ?? tree.keys
                let loaded = try Address.objects(keys, of: owner, property)
                var copy = self
                let objects = copy.note(loaded, keys)
                if listed != nil, let content = Form.value(of: objects) {
                    copy.content = content
                } else {
                    var places = OrderedPlaces(Array(copy.keys.suffix(objects.count)))
                    do throws(OtherForm) {
                        copy.content =
                            try Form.value(tree) { key in places.place(of: key).map { objects[$0] } } ?? Form.empty
                    } catch { throw .otherForm(Form.self, owner, property) }
                }
                copy.stored = nil
                copy.failure = nil
                return copy
            } catch {
                LazyLoad.failed(error, owner: owner)
                var copy = self
                copy.failure = LoadFailure(error)
                return copy
            }
        }

        /// Adds the objects that were found for keys, in their order, and returns them.
        private mutating func note(_ loaded: [Form.Target?], _ wanted: [RowKey]) -> [Form.Target] {
            var objects: [Form.Target] = []
            objects.reserveCapacity(loaded.count)
            keys.reserveCapacity(loaded.count)
            // Not `enumerated()`: outside a specialised function its pairs cost as much as reading the rows.
            for place in loaded.indices {
                guard let object = loaded[place] else { continue }
                known.append(Address.identity(of: object))
                keys.append(wanted[place])
                objects.append(object)
            }
            return objects
        }

        /// Takes over the loaded slot, unless the collection was set since `before` was read.
        public mutating func settle(_ loaded: Self, replacing before: Self) {
            guard let stored, stored == before.stored else { return }
            if loaded.isSettled { self = loaded } else { failure = loaded.failure }
        }

        /// Takes over the load error of the slot that this one replaces.
        public mutating func takePlace(of old: Self) { failure = old.failure }

        /// Throws the load error if the collection was set after a failed load: storing it would overwrite keys that were
        /// not read.
        func requireRead() throws(MakoError) {
            if isSettled, let failure { throw failure.error }
        }

        /// Sets the key that an object was saved under; removes an object that was deleted.
        public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
            // An object may occur several times in the content: its first place has its key from now on.
            let place = known.firstPlace(of: ObjectIdentifier(object))
            let stored = key.isRow ? Address.key(key, of: object) : .noRow
            if let place { keys[place] = stored }
            guard key.isRemoved else {
                if place == nil {
                    known.append(ObjectIdentifier(object))
                    keys.append(stored)
                }
                return
            }
            leaving.insert(ObjectIdentifier(object))
            if key == .removed { return }
            content = MemberCodec<Form, Address>.mapped(content) { leaving.contains(ObjectIdentifier($0)) ? nil : $0 }
            leaving = []
        }

        /// Releases the objects, because the owner is deinitialized.
        public mutating func letGo() {
            if stored == nil { ReleasedObjects.release(&content, leaving: Form.empty) }
        }
    }
}

extension MakoError {
    /// The keys of a property have another form than its type.
    static func otherForm<Form: EntityCoding.CollectionForm>(
        _: Form.Type, _ owner: some ObjectEntity, _ property: Int
    ) -> MakoError {
        let model = type(of: owner).entityModel
        return .typeMismatch(
            entity: model.name, property: model.columns[property].name, expected: "\(Form.Value.self)",
            found: "keys in another form")
    }
}

/// The error of a load, in the slot of the property that was not loaded.
final class LoadFailure: Sendable {
    let error: MakoError
    init(_ error: MakoError) { self.error = error }
}

extension EntityCoding {
    /// The slot of a collection of objects of one class.
    public typealias CollectionSlot<Form: CollectionForm> = MemberSlot<Form, ClassAddress<Form.Target>>
    where Form.Target: ObjectEntity

    /// The codec of a collection of objects of one class.
    public typealias CollectionCodec<Form: CollectionForm> = MemberCodec<Form, ClassAddress<Form.Target>>
    where Form.Target: ObjectEntity

    /// The codec of arrays, sets and dictionaries of objects, which are stored as the keys of their rows, in order or by
    /// name.
    public enum MemberCodec<Form: CollectionForm, Address: ObjectAddress>: SlotCodec
    where Form.Target == Address.Object {
        /// The type of the property: a collection of objects.
        public typealias Property = Form.Value
        /// The slot of the collection.
        public typealias Slot = MemberSlot<Form, Address>

        /// The column type: keys of other rows.
        public static var columnType: ColumnType { .keys }
        /// Whether the column may be NULL.
        public static var isOptional: Bool { Form.isOptional }
        /// The class of the objects; nil: they may have several classes.
        public static var target: (any Entity.Type)? { Address.target }
        /// Whether the keys name the tables of the objects.
        public static var refersToAny: Bool { Address.target == nil }
        /// The class whose objects, or those of its subclasses, the collection holds; nil: any class, or ``target``.
        public static var superclass: (any Entity.Type)? { Address.superclass }

        /// Returns the keys of the objects as the column holds them; NULL for nil.
        public static func stored(_ value: Property) -> StoredValue {
            Form.tree(value) { Address.key(of: $0) }.map { .blob($0.encoded) } ?? .null
        }

        /// Returns the collection with the objects that the closure returns; without those for which it returns nil.
        public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
            // Encodes the value with numbers in place of keys, and decodes it with the other objects.
            var objects: [RowKey: Form.Target] = [:]
            let tree = Form.tree(value) { object in
                guard let other = map(Address.object(object)).flatMap({ Address.member($0) }) else { return nil }
                let number = RowKey.rowID(Int64(objects.count))
                objects[number] = other
                return number
            }
            guard let tree else { return Form.empty }
            return (try? Form.value(tree) { objects[$0] }) ?? Form.empty
        }

        /// Returns the collection for a value without keys; else nil: collections with keys are read as slots.
        public static func value(_ stored: StoredValue) -> Property? { Form.keylessValue(stored) }

        private static var name: String {
            Address.name(orAny: Address.acceptsValues ? "objects of any entity and values" : "objects of any entity")
        }

        /// Throws: classes read collections through slots.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            throw .unsupported("a collection of \(name) outside a slot")
        }
        /// Throws: classes write collections through slots.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            throw .unsupported("a collection of \(name) outside a slot")
        }

        /// The slot of an empty collection; of nil where the collection is optional.
        public static var emptySlot: Slot { Slot(Form.empty) }
        /// Returns the slot of a collection.
        public static func slot(_ value: Property) -> Slot { Slot(value) }
        /// Returns the slot of stored keys; nil if the value holds none.
        public static func slot(stored: StoredValue) -> Slot? {
            if stored.isNull { return isOptional ? emptySlot : nil }
            guard case .blob(let bytes) = stored, KeyTree(bytes) != nil else { return nil }
            return Slot(stored: bytes)
        }
        /// Reads the slot, with the keys of the objects, from a row.
        public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
            row.reader.isNull(position) ? emptySlot : Slot(stored: row.reader.blob(position))
        }
        /// Writes the keys of the objects to a row.
        public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            try slot.requireRead()
            guard let bytes = slot.encoded else { return writer.setNull(position) }
            try Form.write(bytes, &writer, position)
        }
    }
}

extension EntityCoding.CollectionForm {
    /// The collection for a stored value without keys.
    static func keylessValue(_ stored: StoredValue) -> Value? {
        if stored.isNull { return isOptional ? empty : nil }
        guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return nil }
        // Values among objects need no row, so they are no keys here.
        var hasKeys = false
        let value = try? value(tree) { _ in
            hasKeys = true
            return nil
        }
        return hasKeys ? nil : value
    }

    /// Writes a tree after checking that its names can be read again.
    static func write(_ bytes: [UInt8], _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        if hasNames, !areNamesReadable(bytes) {
            throw EntityCoding.unstorable(writer, position, "one of its keys could not be read again")
        }
        writer.set(position, bytes)
    }

    private static func areNamesReadable(_ bytes: [UInt8]) -> Bool {
        guard let tree = KeyTree(bytes) else { return false }
        do throws(EntityCoding.OtherForm) { _ = try value(tree) { _ in nil } } catch { return false }
        return true
    }

    // A form decodes only trees of its own form.
    fileprivate static var isPlainList: Bool {
        do throws(EntityCoding.OtherForm) {
            return try value(.list([.key(.rowID(0))]), { _ in nil }) != nil
        } catch { return false }
    }
}

/// A codec of collections that distinguishes plain lists from forms with names or nested lists.
protocol ObjectListing {
    static var listsObjects: Bool { get }
    /// Whether the collection holds values among objects.
    static var listsValues: Bool { get }
}

extension EntityCoding.MemberCodec: ObjectListing {
    static var listsObjects: Bool { Form.isPlainList }
    static var listsValues: Bool { Address.acceptsValues }
}

extension EntityCoding.ValueCollectionCodec: ObjectListing {
    static var listsObjects: Bool { Form.isPlainList }
    static var listsValues: Bool { false }
}
