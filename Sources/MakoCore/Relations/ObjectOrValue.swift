import MakoRecords

/// An element of a collection that holds objects and values: an object of any class, or a value of any column type.
///
/// ```swift
/// @Entity final class Basket {
///     var items: [ObjectOrValue] = []
///     var byName: [String: ObjectOrValue] = [:]
/// }
///
/// basket.items = [ObjectOrValue(apple), "ripe", 5, 2.5, true, ObjectOrValue(Date.now)]
/// for item in basket.items {
///     if let apple = item.object as? Apple { print(apple.name) }
///     if let number = item.value(as: Int.self) { print(number) }
/// }
/// ```
///
/// Two elements are equal if they hold the same object, or equal values of the same type.
public enum ObjectOrValue: Sendable {
    /// An object of a class that is an entity. It is saved with the owner of the collection; a deleted object leaves the
    /// collection.
    case object(any ObjectEntity)
    /// A value, which comes back with its type.
    case value(StoredValue)

    /// Makes an element of an object.
    public init(_ object: some ObjectEntity) { self = .object(object) }

    /// Makes an element of a value of any column type.
    public init(_ value: StoredValue) { self = .value(value) }

    /// Makes an element of a value as a column holds it: a `Decimal` is a text, an enumeration its raw value.
    public init(_ value: some StorableValue) {
        // As a column, a value of any type is a blob.
        self = .value(value as? StoredValue ?? value.stored)
    }

    /// The object; nil for a value.
    public var object: (any ObjectEntity)? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The value; nil for an object.
    public var value: StoredValue? {
        if case .value(let value) = self { value } else { nil }
    }

    /// Returns the value as a storable type; nil for an object, and for a value of another type.
    public func value<T: StorableValue>(as type: T.Type) -> T? {
        value.flatMap { $0 as? T ?? T(stored: $0) }
    }
}

extension ObjectOrValue: Hashable {
    /// Compares objects by identity, values exactly.
    public static func == (left: ObjectOrValue, right: ObjectOrValue) -> Bool {
        switch (left, right) {
        case (.object(let a), .object(let b)): a === b
        case (.value(let a), .value(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .object(let object): hasher.combine(ObjectIdentifier(object))
        case .value(let value): hasher.combine(value)
        }
    }
}

extension ObjectOrValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral
{
    /// Makes an element of a text.
    public init(stringLiteral text: String) { self = .value(.text(text)) }
    /// Makes an element of an integer.
    public init(integerLiteral number: Int64) { self = .value(.integer(number)) }
    /// Makes an element of a double.
    public init(floatLiteral number: Double) { self = .value(.double(number)) }
    /// Makes an element of a boolean.
    public init(booleanLiteral flag: Bool) { self = .value(.bool(flag)) }
}

extension ObjectOrValue: CustomStringConvertible {
    /// The description of the object, or the value as a literal of the where language.
    public var description: String {
        switch self {
        case .object(let object): "\(object)"
        case .value(let value): value.description
        }
    }
}

// MARK: - The column

extension EntityCoding {
    /// An object or a value: the only element that may hold no object.
    public enum ObjectOrValueForm: ElementForm {
        /// Visits the object, if it is one.
        public static func forEach(_ value: ObjectOrValue, _ body: (any ObjectEntity) -> Void) {
            if case .object(let object) = value { body(object) }
        }
        /// Updates the object in place, if it is one.
        public static func update(
            _ value: inout ObjectOrValue, _ body: (inout any ObjectEntity) throws(MakoError) -> Void
        ) throws(MakoError) {
            guard case .object(var object) = value else { return }
            try body(&object)
            value = .object(object)
        }
        /// Returns the key of the object, nil if the closure returns none; for a value the key that encodes it.
        public static func tree(_ value: ObjectOrValue, _ key: (any ObjectEntity) -> RowKey?) -> KeyTree? {
            switch value {
            case .object(let object): key(object).map { .key($0) }
            case .value(let value): .key(RowKey(elementOf: value))
            }
        }
        /// Returns the value that a key encodes, or the object for it; throws for a list.
        public static func value(
            _ tree: KeyTree, _ object: (RowKey) -> (any ObjectEntity)?
        ) throws(OtherForm) -> ObjectOrValue? {
            guard case .key(let key) = tree else { throw OtherForm() }
            if let value = key.elementValue { return .value(value) }
            return object(key).map { .object($0) }
        }
    }

    /// Objects of any class among values, by the table and the key of their rows.
    public enum ObjectOrValueAddress: ObjectAddress {
        /// The type of the objects.
        public typealias Object = any ObjectEntity

        /// True: the elements may be values.
        public static var acceptsValues: Bool { true }
        /// Returns the objects with these tables and keys; nil for values, which have no row.
        public static func objects(
            _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
        ) throws(MakoError) -> [(any ObjectEntity)?] {
            let places = keys.indices.filter { keys[$0].elementValue == nil }
            let loaded = try AnyAddress.objects(places.map { keys[$0] }, of: owner, property)
            var objects: [(any ObjectEntity)?] = Array(repeating: nil, count: keys.count)
            for (place, object) in zip(places, loaded) { objects[place] = object }
            return objects
        }
    }
}
