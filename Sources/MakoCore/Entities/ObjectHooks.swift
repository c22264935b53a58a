/// The hooks that a class has.
///
/// A hook is a method of one of these names, written in the class or in an extension of it:
///
/// ```swift
/// @Entity final class Invoice {
///     var total = 0.0
///     func willInsert() -> Bool { total > 0 }
///     func didSave() { print("invoice over \(total) is stored") }
/// }
/// ```
///
/// - `willInsert`, `willUpdate`, `willDelete` are called in the transaction, before the object and the objects it
///   refers to are written or removed. They may change the object and save others. Returning false refuses: the call,
///   of one object or of many, throws `MakoError.vetoed`; in a transaction later calls throw too, and the transaction
///   ends with that error. They may also return Void.
/// - `didInsert`, `didUpdate`, `didDelete`, and `didSave` after the first two, are called when the transaction is
///   complete: once per object, for its final outcome, and never after a rollback. They may start transactions.
/// - `didLoad` is called after an object was read, on the reading thread, before the caller receives it.
public struct ObjectHooks: OptionSet, Sendable {
    /// The bits of the hooks.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Called before an object is inserted.
    public static let willInsert = ObjectHooks(rawValue: 1)
    /// Called before an object is updated.
    public static let willUpdate = ObjectHooks(rawValue: 2)
    /// Called before an object is removed.
    public static let willDelete = ObjectHooks(rawValue: 4)
    /// Called after an insert is committed.
    public static let didInsert = ObjectHooks(rawValue: 8)
    /// Called after an update is committed.
    public static let didUpdate = ObjectHooks(rawValue: 16)
    /// Called after a removal is committed.
    public static let didDelete = ObjectHooks(rawValue: 32)
    /// Called after an insert or an update is committed.
    public static let didSave = ObjectHooks(rawValue: 64)
    /// Called after an object was read or refreshed.
    public static let didLoad = ObjectHooks(rawValue: 128)

    static let beforeWriting: ObjectHooks = [.willInsert, .willUpdate]
    static let afterCommit: ObjectHooks = [.didInsert, .didUpdate, .didDelete, .didSave]
    static let aboutRemoval: ObjectHooks = [.willDelete, .didDelete]

    /// The name of a single hook.
    var name: String {
        switch self {
        case .willInsert: "willInsert"
        case .willUpdate: "willUpdate"
        case .willDelete: "willDelete"
        case .didInsert: "didInsert"
        case .didUpdate: "didUpdate"
        case .didDelete: "didDelete"
        case .didSave: "didSave"
        default: "didLoad"
        }
    }
}

extension EntityCoding {
    /// The result of hooks that a class does not implement. Generated code detects by this type that there is no hook to
    /// call.
    public struct UnwrittenHook: Sendable {
        @inlinable init() {}
    }
}

// The class's own method is preferred. A protocol requirement would not work: a subclass's hook would not be called
// through the witness of a superclass without one.
extension ObjectEntity {
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func willInsert() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func willUpdate() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func willDelete() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func didInsert() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func didUpdate() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func didDelete() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func didSave() -> EntityCoding.UnwrittenHook { .init() }
    /// Marks the hook as not implemented.
    @_disfavoredOverload @inlinable public func didLoad() -> EntityCoding.UnwrittenHook { .init() }
}

extension EntityCoding {
    /// Returns whether a class implements a hook: `implements(Person.willInsert)`.
    @inlinable public static func implements<T>(_ hook: (T) -> () -> Bool) -> Bool { true }
    /// Returns true: the class implements the hook, without a result.
    @inlinable public static func implements<T>(_ hook: (T) -> () -> Void) -> Bool { true }
    /// Returns false: the class does not implement the hook.
    @_disfavoredOverload @inlinable
    public static func implements<T>(_ hook: (T) -> () -> UnwrittenHook) -> Bool { false }

    /// Returns the result of a hook as a Bool; Void agrees.
    @inlinable public static func agrees(_ answer: Bool) -> Bool { answer }
    /// Returns true: a hook without a result agrees.
    @inlinable public static func agrees(_ answer: Void) -> Bool { true }
    /// Returns true: a hook that is not implemented agrees.
    @_disfavoredOverload @inlinable public static func agrees(_ answer: UnwrittenHook) -> Bool { true }
}
