import MakoRecords

/// What removing an object does with the objects of a to-many relationship.
public enum DeleteRule: Sendable, Hashable {
    /// Sets their reference to nil.
    case nullify
    /// Removes them too.
    case cascade
    /// Refuses the removal while there are any.
    case deny
}

/// Options of `@Attribute`.
public struct AttributeOption: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case primaryKey, unique, identity, indexed, column(String), originalName(String), writeOnce, keepWhenNil
        case serialized, loadOnRefresh, encrypted, spatial
        case fullText(Stemming)
    }
    let kind: Kind

    /// Makes the property the key, or a part of it.
    public static let primaryKey = AttributeOption(kind: .primaryKey)
    /// Makes the property unique: no two objects have the same value, except nil.
    public static let unique = AttributeOption(kind: .unique)
    /// Makes the property part of the object's identity. Committing a new object with the identity of a stored one
    /// updates that one. nil identifies no object.
    public static let identity = AttributeOption(kind: .identity)
    /// Adds an index on the property.
    public static let indexed = AttributeOption(kind: .indexed)
    /// Sets the column's name, if it differs from the property's.
    public static func column(_ name: String) -> AttributeOption { AttributeOption(kind: .column(name)) }
    /// Names the property's former name, whose values the migration takes over.
    public static func originalName(_ name: String) -> AttributeOption { AttributeOption(kind: .originalName(name)) }

    /// Keeps the first stored value: later commits do not change it. The object in memory keeps its assigned value
    /// until it is refreshed.
    public static let writeOnce = AttributeOption(kind: .writeOnce)
    /// Keeps the stored value when nil is committed.
    public static let keepWhenNil = AttributeOption(kind: .keepWhenNil)

    /// Stores the value as JSON, whatever its type. Objects in it have no rows of their own; their class must be
    /// `Codable`.
    public static let serialized = AttributeOption(kind: .serialized)
    /// Loads the value only on refresh, for large and rarely used values; until then it is nil. Committing nil keeps
    /// the stored value, as ``keepWhenNil`` does.
    public static let loadOnRefresh = AttributeOption(kind: .loadOnRefresh)

    /// Encrypts the stored value with ``DatabaseOptions/propertyKey``. Conditions can only test it for nil.
    public static let encrypted = AttributeOption(kind: .encrypted)

    /// Adds a spatial index, for queries by distance, box or nearest neighbours. For ``Coordinate``.
    public static let spatial = AttributeOption(kind: .spatial)

    /// Adds a full-text index on the text's words, for `MATCH`: `where("bio MATCH 'steam AND eng*'")`. `#FullText`
    /// indexes several properties together.
    public static let fullText = AttributeOption(kind: .fullText(.none))
    /// Adds a full-text index on the stems of the text's words: "engines" finds "engine".
    public static func fullText(_ stemming: Stemming) -> AttributeOption { AttributeOption(kind: .fullText(stemming)) }
}

/// Options of `@Relationship`, for properties that hold objects.
public enum RelationshipOption: Sendable, Hashable {
    /// The object owns the objects it holds. Those that it releases, and all when it is removed, are removed at the end
    /// of the transaction, unless another object owns them then. Objects that own each other in a cycle are not
    /// removed.
    case owned
    /// The objects are not committed with the one that refers to them. A reference to an object without a row is stored
    /// by a later commit. After a save, a reference to a single object does not retain it: a later read loads it again
    /// if it was released, provided it has a row. Collections retain the objects they have loaded.
    case weak
    /// The reference, or the collection, also takes objects of subclasses, which load as their own class. The column
    /// stores tables and keys, as for `(any ObjectEntity)?`: conditions cannot follow the property. The subclasses must
    /// be in use when their objects are loaded.
    case subclasses
}

/// How generated code stores a property; an argument of `@_Stored`.
public enum StoredPropertyKind: Sendable { case value, scalar, lazy, slot, rowNumber, many }
