import MakoRecords

/// What happens to the objects of a to-many relationship when their owner is removed.
public enum DeleteRule: Sendable, Hashable {
    /// Their reference becomes nil.
    case nullify
    /// They are removed as well.
    case cascade
    /// The removal is refused while there are any.
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

    /// The property is the key, or a part of it.
    public static let primaryKey = AttributeOption(kind: .primaryKey)
    /// No two objects share a value; nil never conflicts.
    public static let unique = AttributeOption(kind: .unique)
    /// All properties marked so identify an object together: committing a new object that has the values of a stored one changes that
    /// one. Nil identifies nothing.
    public static let identity = AttributeOption(kind: .identity)
    /// An index finds objects by the property.
    public static let indexed = AttributeOption(kind: .indexed)
    /// The column's name, when it is to differ from the property's.
    public static func column(_ name: String) -> AttributeOption { AttributeOption(kind: .column(name)) }
    /// The property's former name: its values are taken over.
    public static func originalName(_ name: String) -> AttributeOption { AttributeOption(kind: .originalName(name)) }

    /// The row keeps the first value: commits of later ones leave it alone. The object in memory holds what it was given, until it is
    /// refreshed.
    public static let writeOnce = AttributeOption(kind: .writeOnce)
    /// Committing nil leaves the stored value alone.
    public static let keepWhenNil = AttributeOption(kind: .keepWhenNil)

    /// The value is stored as one text of JSON, whatever its type: objects that it holds belong to it and have no rows of their own. Their
    /// class must be `Codable`.
    public static let serialized = AttributeOption(kind: .serialized)
    /// The value is nil until the object is refreshed, which reads it; for what is large and seldom wanted. Committing nil leaves the stored
    /// value alone, as with ``keepWhenNil``.
    public static let loadOnRefresh = AttributeOption(kind: .loadOnRefresh)

    /// The value stands encrypted in the file, under ``DatabaseOptions/propertyKey``. Conditions can only ask whether it is nil.
    public static let encrypted = AttributeOption(kind: .encrypted)

    /// A spatial index finds objects by where the coordinate is: within a distance or a box, or the nearest ones. For ``Coordinate``.
    public static let spatial = AttributeOption(kind: .spatial)

    /// The words of the text are indexed, so that `MATCH` finds objects by them: `where("bio MATCH 'steam AND eng*'")`. Several
    /// properties share an index by `#FullText`.
    public static let fullText = AttributeOption(kind: .fullText(.none))
    /// The words of the text are indexed by their stems: "engines" finds "engine".
    public static func fullText(_ stemming: Stemming) -> AttributeOption { AttributeOption(kind: .fullText(stemming)) }
}

/// Options of `@Relationship`, for properties that hold objects.
public enum RelationshipOption: Sendable, Hashable {
    /// The object has the ones it holds to itself: one that it lets go of, and all when it is removed itself, are removed at the end of the
    /// transaction, unless another object owns them then. Objects that own each
    /// other in a circle keep each other.
    case owned
    /// The objects are not committed along with the one that refers to them, new ones neither: a reference to one that has no row yet is
    /// stored by a later commit. Once it is saved, a reference to a single object does not keep it alive either: whoever reads it
    /// when nobody else holds the object gets it from the file again, if it has a row. Collections hold what they have loaded.
    case weak
    /// The reference takes objects of subclasses as well, which come back as what they are. What is stored is a table and a key, as for
    /// `(any ObjectEntity)?`: no path leads on from the property in conditions. The subclasses must be in use when their objects are loaded.
    case subclasses
}

/// How generated code keeps a property; an argument of `@_Stored`.
public enum StoredPropertyKind: Sendable { case value, scalar, lazy, slot, rowNumber, many }
