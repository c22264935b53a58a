import MakoRecords

extension EntityCoding {
    /// The form of objects, or structs with rows of their own, in a collection property: alone, in arrays, sets and
    /// dictionaries, and nested. Forms are types without values; ``EntityCoding`` composes them from a property's type.
    public protocol ElementForm: Sendable {
        /// The type of the element or collection.
        associatedtype Value: Sendable
        /// The entity of the objects; `any ObjectEntity` where they may have several.
        associatedtype Target: Sendable

        /// Whether the objects have names, which are values of their own type.
        static var hasNames: Bool { get }
        /// Visits each object, as often as it occurs.
        static func forEach(_ value: Value, _ body: (Target) -> Void)
        /// Updates each object in place, in the order of the tree.
        static func update(_ value: inout Value, _ body: (inout Target) throws(MakoError) -> Void) throws(MakoError)
        /// Returns the value as a column holds it, without objects for which the closure returns nil.
        static func tree(_ value: Value, _ key: (Target) -> RowKey?) -> KeyTree?
        /// Returns the value for a tree; nil when the closure has no object for a required place.
        static func value(_ tree: KeyTree, _ object: (RowKey) -> Target?) throws(OtherForm) -> Value?
        /// Returns the objects as elements; nil if an element is not a single object.
        static func elements(_ objects: [Target]) -> [Value]?
    }
}

extension EntityCoding.ElementForm {
    /// False: a form has no names unless its type says otherwise.
    public static var hasNames: Bool { false }
    /// Nil: an element is not a single object unless its type says otherwise.
    public static func elements(_ objects: [Target]) -> [Value]? { nil }
}

extension EntityCoding {
    /// The form of a property, as opposed to that of an element.
    public protocol CollectionForm: ElementForm {
        /// The value without objects; nil for an optional form.
        static var empty: Value { get }
        /// Whether nil is a value.
        static var isOptional: Bool { get }
        /// Returns the collection of these elements, without a call for each as for a tree; nil for a form of other elements.
        static func value(of objects: [Target]) -> Value?
    }
}

extension EntityCoding.CollectionForm {
    /// False: nil is no value unless the type says otherwise.
    public static var isOptional: Bool { false }
    /// Nil: the elements have names unless the type says otherwise.
    public static func value(of objects: [Target]) -> Value? { nil }
}

extension EntityCoding {
    /// Thrown for a stored tree of another form, which was written when the property had another type.
    public struct OtherForm: Error {}

    /// A single object.
    public enum ObjectForm<Target: Sendable>: ElementForm {
        /// Visits the object.
        public static func forEach(_ value: Target, _ body: (Target) -> Void) { body(value) }
        /// Updates the object in place.
        public static func update(
            _ value: inout Target, _ body: (inout Target) throws(MakoError) -> Void
        ) throws(MakoError) { try body(&value) }
        /// Returns the key of the object; nil if the closure returns none.
        public static func tree(_ value: Target, _ key: (Target) -> RowKey?) -> KeyTree? { key(value).map { .key($0) } }
        /// Returns the object for a key; throws for a list.
        public static func value(_ tree: KeyTree, _ object: (RowKey) -> Target?) throws(OtherForm) -> Target? {
            guard case .key(let key) = tree else { throw OtherForm() }
            return object(key)
        }
        /// Returns the objects.
        public static func elements(_ objects: [Target]) -> [Target]? { objects }
    }

    /// An array: a list of its elements.
    public enum ArrayForm<Element: ElementForm>: CollectionForm {
        /// The empty array.
        public static var empty: [Element.Value] { [] }
        /// Whether the elements have names.
        public static var hasNames: Bool { Element.hasNames }

        /// Visits the objects of the elements, in order.
        public static func forEach(_ value: [Element.Value], _ body: (Element.Target) -> Void) {
            for element in value { Element.forEach(element, body) }
        }
        /// Updates the elements in place, in order.
        public static func update(
            _ value: inout [Element.Value], _ body: (inout Element.Target) throws(MakoError) -> Void
        ) throws(MakoError) {
            for place in value.indices { try Element.update(&value[place], body) }
        }
        /// Returns the list of the elements, in order.
        public static func tree(_ value: [Element.Value], _ key: (Element.Target) -> RowKey?) -> KeyTree? {
            .list(value.compactMap { Element.tree($0, key) })
        }
        /// Returns the array for a list, without the elements that have no object.
        public static func value(
            _ tree: KeyTree, _ object: (RowKey) -> Element.Target?
        ) throws(OtherForm) -> [Element.Value]? {
            guard case .list(let trees) = tree else { throw OtherForm() }
            var value: [Element.Value] = []
            value.reserveCapacity(trees.count)
            for tree in trees { if let element = try Element.value(tree, object) { value.append(element) } }
            return value
        }
        /// Returns the array of single objects.
        public static func value(of objects: [Element.Target]) -> [Element.Value]? { Element.elements(objects) }
    }

    /// A set: a list of its members, sorted by their encoded keys.
    public enum SetForm<Element: ElementForm>: CollectionForm where Element.Value: Hashable {
        /// The empty set.
        public static var empty: Set<Element.Value> { [] }

        /// Visits the objects of the members, in no order.
        public static func forEach(_ value: Set<Element.Value>, _ body: (Element.Target) -> Void) {
            for element in value { Element.forEach(element, body) }
        }
        /// Updates the members; members that become equal are merged.
        public static func update(
            _ value: inout Set<Element.Value>, _ body: (inout Element.Target) throws(MakoError) -> Void
        ) throws(MakoError) {
            var elements = Array(value)
            try ArrayForm<Element>.update(&elements, body)
            value = Set(elements)
        }
        /// Returns the list of the members in the order of their encoded keys, so that equal sets have equal bytes.
        public static func tree(_ value: Set<Element.Value>, _ key: (Element.Target) -> RowKey?) -> KeyTree? {
            let trees = value.compactMap { Element.tree($0, key) }.map { (tree: $0, bytes: $0.encoded) }
            let sorted = trees.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            // Two objects of one row are one member.
            let members = sorted.indices.filter {
                $0 == 0 || sorted[$0].bytes != sorted[$0 - 1].bytes
            }
            return .list(members.map { sorted[$0].tree })
        }
        /// Returns the set for a list, without the members that have no object.
        public static func value(
            _ tree: KeyTree, _ object: (RowKey) -> Element.Target?
        ) throws(OtherForm) -> Set<Element.Value>? {
            try ArrayForm<Element>.value(tree, object).map { Set($0) }
        }
        /// Returns the set of single objects.
        public static func value(of objects: [Element.Target]) -> Set<Element.Value>? {
            Element.elements(objects).map { Set($0) }
        }
    }

    /// A dictionary: the trees of its values by name.
    public enum DictionaryForm<Key: StorableValue & Hashable & Sendable, Element: ElementForm>: CollectionForm {
        /// The empty dictionary.
        public static var empty: [Key: Element.Value] { [:] }
        /// True: the keys of the dictionary are the names.
        public static var hasNames: Bool { true }

        /// Visits the objects of the values, in no order.
        public static func forEach(_ value: [Key: Element.Value], _ body: (Element.Target) -> Void) {
            for element in value.values { Element.forEach(element, body) }
        }
        /// Updates the values in the order of their names.
        public static func update(
            _ value: inout [Key: Element.Value], _ body: (inout Element.Target) throws(MakoError) -> Void
        ) throws(MakoError) {
            for (name, element) in value.sorted(by: { ($0.key.stored.compare($1.key.stored) ?? 0) < 0 }) {
                var element = element
                try Element.update(&element, body)
                value[name] = element
            }
        }
        /// Returns the named trees in the order of their names, so that equal dictionaries have equal bytes.
        public static func tree(_ value: [Key: Element.Value], _ key: (Element.Target) -> RowKey?) -> KeyTree? {
            var entries: [KeyTree.Entry] = []
            for (name, element) in value {
                if let tree = Element.tree(element, key) {
                    entries.append(KeyTree.Entry(name: name.stored, tree: tree))
                }
            }
            return .named(entries.sorted { ($0.name.compare($1.name) ?? 0) < 0 })
        }
        /// Returns the dictionary for named trees, without the values that have no object.
        public static func value(
            _ tree: KeyTree, _ object: (RowKey) -> Element.Target?
        ) throws(OtherForm) -> [Key: Element.Value]? {
            guard case .named(let entries) = tree else { throw OtherForm() }
            var value: [Key: Element.Value] = [:]
            for entry in entries {
                guard let name = Key(stored: entry.name) else { throw OtherForm() }
                if let element = try Element.value(entry.tree, object) { value[name] = element }
            }
            return value
        }
    }

    /// An optional collection; nil has no tree.
    public enum OptionalForm<Some: CollectionForm>: CollectionForm {
        /// Nil.
        public static var empty: Some.Value? { nil }
        /// Whether the wrapped form has names.
        public static var hasNames: Bool { Some.hasNames }
        /// True: nil is a value.
        public static var isOptional: Bool { true }

        /// Visits the objects of the wrapped value.
        public static func forEach(_ value: Some.Value?, _ body: (Some.Target) -> Void) {
            if let value { Some.forEach(value, body) }
        }
        /// Updates the wrapped value in place.
        public static func update(
            _ value: inout Some.Value?, _ body: (inout Some.Target) throws(MakoError) -> Void
        ) throws(MakoError) {
            guard var some = value else { return }
            try Some.update(&some, body)
            value = some
        }
        /// Returns the tree of the wrapped value; nil for nil.
        public static func tree(_ value: Some.Value?, _ key: (Some.Target) -> RowKey?) -> KeyTree? {
            value.flatMap { Some.tree($0, key) }
        }
        /// Returns the wrapped value for a tree.
        public static func value(_ tree: KeyTree, _ object: (RowKey) -> Some.Target?) throws(OtherForm) -> Some.Value??
        {
            try Some.value(tree, object).map { .some($0) }
        }
        /// Returns the wrapped collection of the objects.
        public static func value(of objects: [Some.Target]) -> Some.Value?? {
            Some.value(of: objects).map { .some($0) }
        }
    }
}
