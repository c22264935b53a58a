#if OrderedCollections
    import MakoRecords
    public import OrderedCollections

    extension EntityCoding {
        /// An ordered set of objects: their keys in the order of the set, each once.
        ///
        /// Available with the package trait `OrderedCollections`.
        public enum OrderedSetForm<Element: ElementForm>: CollectionForm where Element.Value: Hashable {
            /// The empty set.
            public static var empty: OrderedSet<Element.Value> { [] }

            /// Visits the objects of the members, in order.
            public static func forEach(_ value: OrderedSet<Element.Value>, _ body: (Element.Target) -> Void) {
                for element in value { Element.forEach(element, body) }
            }
            /// Updates the members in order; members that become equal are merged.
            public static func update(
                _ value: inout OrderedSet<Element.Value>, _ body: (inout Element.Target) throws(MakoError) -> Void
            ) throws(MakoError) {
                var elements = value.elements
                try ArrayForm<Element>.update(&elements, body)
                value = OrderedSet(elements)
            }
            /// Returns the list of the members in order. Two objects of one row are one member, at the first position.
            public static func tree(_ value: OrderedSet<Element.Value>, _ key: (Element.Target) -> RowKey?) -> KeyTree?
            {
                var seen: Set<[UInt8]> = []
                return .list(value.compactMap { Element.tree($0, key) }.filter { seen.insert($0.encoded).inserted })
            }
            /// Returns the set for a list, without the members that have no object.
            public static func value(
                _ tree: KeyTree, _ object: (RowKey) -> Element.Target?
            ) throws(OtherForm) -> OrderedSet<Element.Value>? {
                try ArrayForm<Element>.value(tree, object).map { OrderedSet($0) }
            }
            /// Returns the ordered set of single objects.
            public static func value(of objects: [Element.Target]) -> OrderedSet<Element.Value>? {
                Element.elements(objects).map { OrderedSet($0) }
            }
        }
    }

    // Conditions treat ordered sets as arrays: `where(\.tags.count > 3)`.
    extension OrderedSet: ManyValues {
        public static var _$count: AnyKeyPath? { \Self.count }
        public static var _$isEmpty: AnyKeyPath? { \Self.isEmpty }
    }

    extension EntityCoding {
        /// Returns the collection codec for an ordered set of objects.
        @inlinable
        public static func collectionCodec<T: ObjectEntity & Hashable>(
            _: OrderedSet<T>.Type
        ) -> CollectionCodec<OrderedSetForm<ObjectForm<T>>>.Type {
            CollectionCodec<OrderedSetForm<ObjectForm<T>>>.self
        }
        /// Returns the collection codec for an optional ordered set of objects.
        @inlinable
        public static func collectionCodec<T: ObjectEntity & Hashable>(
            _: OrderedSet<T>?.Type
        ) -> CollectionCodec<OptionalForm<OrderedSetForm<ObjectForm<T>>>>.Type {
            CollectionCodec<OptionalForm<OrderedSetForm<ObjectForm<T>>>>.self
        }
        /// Returns the collection codec for an array of ordered sets of objects.
        @inlinable
        public static func collectionCodec<T: ObjectEntity & Hashable>(
            _: [OrderedSet<T>].Type
        ) -> CollectionCodec<ArrayForm<OrderedSetForm<ObjectForm<T>>>>.Type {
            CollectionCodec<ArrayForm<OrderedSetForm<ObjectForm<T>>>>.self
        }
        /// Returns the collection codec for a dictionary of ordered sets of objects.
        @inlinable
        public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: ObjectEntity & Hashable>(
            _: [K: OrderedSet<T>].Type
        ) -> CollectionCodec<DictionaryForm<K, OrderedSetForm<ObjectForm<T>>>>.Type {
            CollectionCodec<DictionaryForm<K, OrderedSetForm<ObjectForm<T>>>>.self
        }

        /// Returns the value codec for an ordered set of structs.
        @inlinable
        public static func valueCodec<T: Entity & Hashable>(
            _: OrderedSet<T>.Type
        ) -> ValueCollectionCodec<OrderedSetForm<ObjectForm<T>>>.Type where T._$Kind == EntityKind.Value {
            ValueCollectionCodec<OrderedSetForm<ObjectForm<T>>>.self
        }
        /// Returns the collection codec for an ordered set of structs.
        @inlinable
        public static func collectionCodec<T: Entity & Hashable>(
            _: OrderedSet<T>.Type
        ) -> ValueCollectionCodec<OrderedSetForm<ObjectForm<T>>>.Type where T._$Kind == EntityKind.Value {
            ValueCollectionCodec<OrderedSetForm<ObjectForm<T>>>.self
        }

        /// Unavailable: refuses an ordered set of objects at compile time.
        @available(
            *, unavailable, message: "write the type of a collection of objects out: 'OrderedSet<Song>', not its alias"
        )
        public static func codec<T: ObjectEntity>(_: OrderedSet<T>.Type) -> JSONCodec<String>.Type {
            JSONCodec<String>.self
        }
        /// Unavailable: refuses an ordered set of objects at compile time.
        @available(
            *, unavailable,
            message:
                "a struct holds no objects; make it a class, where 'OrderedSet<T>' is written out and not as an alias"
        )
        public static func valueCodec<T: ObjectEntity>(_: OrderedSet<T>.Type) -> RefusedCodec<OrderedSet<T>>.Type {
            RefusedCodec<OrderedSet<T>>.self
        }
    }
#endif
