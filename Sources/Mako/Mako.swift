@_exported import MakoCore
import Observation

/// Makes a class or a struct an entity: objects of it can be stored, found, changed and watched.
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
/// Properties of a class need a default value or an optional type. The macro writes `init()`, an initialiser with all
/// properties, one that takes a dictionary, `id`, and the code that reads and writes rows.
///
/// - Parameters:
///   - table: the table's name, when it is to differ from the type's.
///   - raisesEvents: whether watchers are told of the type's objects.
///   - database: the name under which `Database.register(_:as:)` knows the database of its objects; nil: the current one.
///   - stamps: declares `createdAt` and `updatedAt`, dates that each save fills in: all objects saved by one transaction get the same.
///   - partial: the type shows some properties of another entity's table, which it names: it is read and watched like others, and never
///     stored or removed by itself.
///   - ignoringSuperclass: leaves the properties of the superclass out of the table; objects have them in memory only.
@attached(
    member, conformances: ObjectEntity,
    names: named(init), named(deinit), named(id), named(_$state), named(_$value), named(entityModel), named(encode),
    named(adoptValues),
    named(keyValues), named(assignMissingKey), named(visitReferences), named(resolveReference), named(rowNumber),
    named(_$lazyProperties), named(_$decode), named(_$hooks), named(_$call), named(forgetKey),
    named(takeKey), named(_$model), named(_$take), named(createdAt), named(updatedAt), named(_$stamp),
    prefixed(_$properties), prefixed(_$indexes), prefixed(_$base), prefixed(_$end))
@attached(memberAttribute)
// The implied protocols are listed too: a look-up of one of them must find the extension as well.
@attached(
    extension,
    conformances: ObjectEntity, Entity, Identifiable, ConditionValue, CustomStringConvertible, Sendable)
public macro Entity(
    _ table: String? = nil, raisesEvents: Bool = true, database: String? = nil, stamps: Bool = false,
    partial: Bool = false, ignoringSuperclass: Bool = false
) = #externalMacro(module: "MakoMacros", type: "EntityMacro")

/// Makes a class an entity whose properties can be followed, as SwiftUI does; see ``ObservableEntity``.
///
/// ```swift
/// @Entity(observable: true) final class Gauge {
///     var level = 0
/// }
/// ```
///
/// The other options are those of `@Entity` without `observable`. Subclasses say `observable: true` as well.
// A declaration of its own: a macro that may introduce a conformance and does not has the compiler (6.3) fail at subclasses.
@attached(
    member, conformances: ObjectEntity, ObservableEntity,
    names: named(init), named(deinit), named(id), named(_$state), named(entityModel), named(encode), named(adoptValues),
    named(keyValues), named(assignMissingKey), named(visitReferences), named(resolveReference), named(rowNumber),
    named(_$lazyProperties), named(_$decode), named(_$hooks), named(_$call), named(forgetKey),
    named(takeKey), named(_$model), named(_$take), named(createdAt), named(updatedAt), named(_$stamp),
    named(_$observation), named(_$tellObservers),
    prefixed(_$properties), prefixed(_$indexes), prefixed(_$base), prefixed(_$end))
@attached(memberAttribute)
@attached(
    extension,
    conformances: ObjectEntity, Entity, Identifiable, ConditionValue, CustomStringConvertible, Sendable,
    ObservableEntity, Observable)
public macro Entity(
    _ table: String? = nil, raisesEvents: Bool = true, database: String? = nil, stamps: Bool = false,
    partial: Bool = false, observable: Bool, ignoringSuperclass: Bool = false
) = #externalMacro(module: "MakoMacros", type: "EntityMacro")

/// Options of a stored property, such as `@Attribute(.unique)` or `@Attribute(.column("pay"), .originalName("wage"))`.
@attached(peer)
public macro Attribute(_ options: AttributeOption...) = #externalMacro(module: "MakoMacros", type: "MarkerMacro")

/// The other side of a to-many relationship and what happens to it when the object goes; or how a property holds its objects.
///
/// ```swift
/// @Relationship(inverse: \Person.department, deleteRule: .nullify) var people: ToMany<Person>
/// @Relationship(.owned) var addresses: [Address] = []
/// @Relationship(.weak) var lastCaller: Person?
/// @Relationship(.subclasses) var owner: Animal?
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
/// With a condition they hold only the objects for which it is true, and answer questions from which it follows:
/// `#Index<Task>([\.due], where: "isDone = FALSE")`.
@freestanding(declaration)
public macro Index<T: Entity>(_ keys: [PartialKeyPath<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Indexes with an order or without regard to case: `#Index<Person>([.descending(\.age), .ignoringCase(\.name)])`.
@freestanding(declaration)
public macro Index<T: Entity>(_ keys: [IndexKey<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Combinations of properties that no two objects share: `#Unique<Person>([\.firstName, \.lastName])`; with a condition, no two of those for
/// which it is true.
@freestanding(declaration)
public macro Unique<T: Entity>(_ keys: [PartialKeyPath<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Unique combinations with an order or without regard to case.
@freestanding(declaration)
public macro Unique<T: Entity>(_ keys: [IndexKey<T>]..., where condition: String? = nil) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Full-text indexes of an entity, one for each array of text properties, which `MATCH` asks: `#FullText<Article>([\.title, \.body])`.
///
/// A single property may be marked `@Attribute(.fullText)` instead.
@freestanding(declaration)
public macro FullText<T: Entity>(_ keys: [PartialKeyPath<T>]...) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Full-text indexes by the stems of words, so that "engines" finds "engine": `#FullText<Article>([\.title, \.body], stemming: .english)`.
@freestanding(declaration)
public macro FullText<T: Entity>(_ keys: [PartialKeyPath<T>]..., stemming: Stemming) =
    #externalMacro(module: "MakoMacros", type: "DeclarationMarkerMacro")

/// Written by `@Entity` on the stored properties of a class; not meant to be written by hand.
@attached(accessor)
@attached(peer, names: prefixed(_))
public macro _Stored(
    _ column: Int, _ kind: StoredPropertyKind, keepsDefault: Bool = false, base: StaticString = "",
    observed: Bool = false, letsGo: Bool = false
) = #externalMacro(module: "MakoMacros", type: "StoredPropertyMacro")
