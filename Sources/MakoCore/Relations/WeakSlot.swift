extension EntityCoding {
    /// The slot of a reference that does not retain its object: the object while other references retain it, else a key.
    ///
    /// An access after the object was deinitialized reads it from the file again. An object without a row is retained until
    /// its owner is saved, because nothing else leads to it.
    public struct WeakSlot<Address: ObjectAddress>: ObjectSlot {
        // Not `Address.Object?`, because only a variable of a class or of a protocol of classes can be weak.
        private weak var object: (any ObjectEntity)?
        /// An object that had no row when it was set, until its owner is saved.
        private var unsaved: (any ObjectEntity)?
        /// A loaded object until the caller retains it; nil in the slot of an owner.
        private var fresh: (any ObjectEntity)?
        private var key: RowKey?
        /// Whether the row of the key does not exist.
        private var isMissing = false

        /// Creates the slot of a reference that was set.
        public init(object: Address.Object?) {
            self.object = object.map(Address.object)
            key = object.flatMap(Address.key(of:))
            unsaved = key == nil ? loadedObject : nil
        }

        /// Creates the slot of a reference as a row holds it.
        public init(key: RowKey?) { self.key = key }

        /// The object; nil where it is not in memory.
        public var value: Address.Object? { loadedObject.flatMap(Address.member) }
        /// The object in memory; nil if there is none.
        public var loadedObject: (any ObjectEntity)? { fresh ?? object }
        /// Whether the reference needs no load: the object is in memory, or there is none.
        public var isSettled: Bool { key == nil || isMissing || loadedObject != nil }
        /// A copy of the slot that retains its object.
        public var held: Self {
            var copy = self
            copy.fresh = loadedObject
            return copy
        }
        /// The key that the row gets; nil: NULL.
        public var storedKey: RowKey? { key }

        /// Returns the slot with its object loaded; unchanged if the load failed.
        public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
            guard let key, !isSettled else { return self }
            do throws(MakoError) {
                var copy = self
                copy.fresh = try Address.object(key, of: owner).map(Address.object)
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
            object = loaded.loadedObject
            fresh = nil
            isMissing = loaded.isMissing
        }

        /// Sets the key that the object was saved under; releases an object that was deleted.
        public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
            guard loadedObject === object else { return }
            self.key = key.isRow ? Address.key(key, of: object) : nil
            unsaved = key == .unsaved ? loadedObject : nil
            if key.isRemoved { (self.object, fresh) = (nil, nil) }
        }

        /// Releases an object that was never saved, because the owner is deinitialized.
        public mutating func letGo() { if unsaved != nil { ReleasedObjects.release(&unsaved, leaving: nil) } }
    }
}
