@_exported import MakoCore
import Observation

/// Makes a class or a struct an entity, whose objects can be stored, queried, changed and observed.
///
/// ```swift
/// @Entity final class Person {
///     var name: String = ""
///     var age: Int = 36
///     var department: Department?
/// }
/// let ada = Person(name: "Ada")
/// try ada.commit()
/// ```
///
/// Properties of a class need a default value or an optional type. The macro generates `init()`, an initializer with
/// all properties, one with a dictionary, `id`, and the code that reads and writes rows.
///
/// - Parameters:
///   - table: the table's name; the default is the type's name.
///   - raisesEvents: whether observers are notified of the type's objects.
///   - database: the name under which `Database.register(_:as:)` registered the database of the type; nil: the current
///     database.
///   - stamps: declares the dates `createdAt` and `updatedAt`, which each save sets; all objects saved by one
///     transaction get the same.
///   - partial: whether the type has some properties of another entity, whose table it names. Its objects are read and
///     observed like others, and never stored or deleted on their own.
///   - ignoringSuperclass: whether the table leaves out the properties of the superclass, which objects then have in
///     memory only.
@attached(
    member, conformances: ObjectEntity,
    names: named(init), named(deinit), named(id), named(_$state), named(_$value), named(entityModel), named(encode),
    named(adoptValues),
    named(keyValues), named(assignMissingKey), named(visitReferences), named(resolveReference), named(_$rowNumber),
    named(_$lazyProperties), named(_$encode), named(_$decode), named(_$hooks), named(_$call), named(forgetKey),
    named(takeKey), named(_$model), named(_$take), named(createdAt), named(updatedAt), named(_$stamp),
    prefixed(_$properties), prefixed(_$indexes), prefixed(_$base), prefixed(_$end), prefixed(_$defaults))
@attached(memberAttribute)
// The implied protocols are listed as well, so that a look-up of one of them finds the extension.
@attached(
    extension,
    conformances: ObjectEntity, Entity, Hashable, Identifiable, ConditionValue, CustomStringConvertible,
    Sendable)
public macro Entity(
    _ table: String? = nil, raisesEvents: Bool = true, database: String? = nil, stamps: Bool = false,
    partial: Bool = false, ignoringSuperclass: Bool = false
) = #externalMacro(module: "MakoMacros", type: "EntityMacro")

/// Makes a class an entity whose properties are observable, as by SwiftUI; see `ObservableEntity`.
///
/// ```swift
/// @Entity(observable: true) final class Gauge {
///     var level = 0
/// }
/// ```
///
/// The other options are those of `@Entity` without `observable`. Subclasses must have `observable: true` as well.
// A separate declaration: compiler 6.3 fails at subclasses if a macro may introduce a conformance and does not.
@attached(
    member, conformances: ObjectEntity, ObservableEntity,
    names: named(init), named(deinit), named(id), named(_$state), named(entityModel), named(encode), named(adoptValues),
    named(keyValues), named(assignMissingKey), named(visitReferences), named(resolveReference), named(_$rowNumber),
    named(_$lazyProperties), named(_$encode), named(_$decode), named(_$hooks), named(_$call), named(forgetKey),
    named(takeKey), named(_$model), named(_$take), named(createdAt), named(updatedAt), named(_$stamp),
    named(_$observation), named(_$notifyObservers),
    prefixed(_$properties), prefixed(_$indexes), prefixed(_$base), prefixed(_$end), prefixed(_$defaults))
@attached(memberAttribute)
@attached(
    extension,
    conformances: ObjectEntity, Entity, Hashable, Identifiable, ConditionValue, CustomStringConvertible,
    Sendable, ObservableEntity, Observable)
public macro Entity(
    _ table: String? = nil, raisesEvents: Bool = true, database: String? = nil, stamps: Bool = false,
    partial: Bool = false, observable: Bool, ignoringSuperclass: Bool = false
) = #externalMacro(module: "MakoMacros", type: "EntityMacro")

/// Options of a stored property, such as `@Attribute(.unique)` or `@Attribute(.column("pay"), .originalName("wage"))`.
@attached(peer)
public macro Attribute(_ options: AttributeOption...) = #externalMacro(module: "MakoMacros", type: "MarkerMacro")

/// The inverse and the delete rule of a to-many relationship, or options of a property that refers to objects.
///
/// ```swift
/// @Relationship(inverse: \Person.department, deleteRule: .nullify) var people: ToMany<Person>
/// @Relationship(.owned) var addresses: [Address] = []
/// @Relationship(.weak) var lastCaller: Person?
/// @Relationship(.subclasses) var owner: Animal?
/// @Relationship(.subclasses) var pets: [Animal] = []
/// ```
@attached(peer)
public macro Relationship(
    _ options: RelationshipOption..., inverse: AnyKeyPath? = nil, deleteRule: DeleteRule = .nullify
) = #externalMacro(module: "MakoMacros", type: "MarkerMacro")

/// Marks a property that is not stored.
@attached(peer)
public macro Transient() = #externalMacro(module: "MakoMacros", type: "MarkerMacro")

/// Indexes of an entity, one for each array: `#Index<Person>([\.name], [\.age, \.name])`.
///
/// A condition makes them partial indexes: they have only the objects for which it is true, and serve queries whose
/// conditions imply it: `#Index<Task>([\.due], where: "isDone = FALSE")`.
@freestanding(declaration)
public macro Index<T: Entity>(_ keys: [PartialKeyPath<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Indexes with an order or case-insensitive keys: `#Index<Person>([.descending(\.age), .ignoringCase(\.name)])`. Beside these the other
/// properties are `.ascending(\.city)`.
@freestanding(declaration)
public macro Index<T: Entity>(_ keys: [IndexKey<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Unique combinations of properties: `#Unique<Person>([\.firstName, \.lastName])`; with a condition, among the objects
/// for which it is true.
@freestanding(declaration)
public macro Unique<T: Entity>(_ keys: [PartialKeyPath<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Unique combinations of properties with an order or case-insensitive keys.
@freestanding(declaration)
public macro Unique<T: Entity>(_ keys: [IndexKey<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Full-text indexes of an entity, one for each array of text properties, for `MATCH`:
/// `#FullText<Article>([\.title, \.body])`.
///
/// A single property may be marked `@Attribute(.fullText)` instead.
@freestanding(declaration)
public macro FullText<T: Entity>(_ keys: [PartialKeyPath<T>]...) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Full-text indexes of word stems, so that "engines" finds "engine":
/// `#FullText<Article>([\.title, \.body], stemming: .english)`.
@freestanding(declaration)
public macro FullText<T: Entity>(_ keys: [PartialKeyPath<T>]..., stemming: Stemming) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Attached by `@Entity` to the stored properties of a class; not for use by hand.
@attached(accessor)
@attached(peer, names: prefixed(_))
public macro _Stored(
    _ column: Int, _ kind: StoredPropertyKind, keepsDefault: Bool = false, base: StaticString = "",
    observed: Bool = false, letsGo: Bool = false
) = #externalMacro(module: "MakoMacros", type: "StoredPropertyMacro")
