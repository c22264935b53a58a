/// Which hooks a class of objects has.
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
/// - `willInsert`, `willUpdate`, `willDelete` are called in the transaction, before the object, and what it refers to, is written or
///   removed. They may change the object and save others. Answering false refuses: a lone `commit()` or `remove()` then answers false; in
///   a transaction, later ones answer false as well and the transaction ends with `MakoError.vetoed`. They may answer nothing at all.
/// - `didInsert`, `didUpdate`, `didDelete`, and after the first two `didSave`, are called when the transaction is complete, once for each
///   object by what became of it, and never for what was rolled back. They may begin transactions of their own.
/// - `didLoad` is called after an object was read, on the reading thread, and before whoever asked gets it.
public struct ObjectHooks: OptionSet, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let willInsert = ObjectHooks(rawValue: 1)
    public static let willUpdate = ObjectHooks(rawValue: 2)
    public static let willDelete = ObjectHooks(rawValue: 4)
    public static let didInsert = ObjectHooks(rawValue: 8)
    public static let didUpdate = ObjectHooks(rawValue: 16)
    public static let didDelete = ObjectHooks(rawValue: 32)
    public static let didSave = ObjectHooks(rawValue: 64)
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

/// What the hooks answer that a class did not write: generated code tells by this type that there is nothing to call.
public struct UnwrittenHook: Sendable {
    @inlinable init() {}
}

// A class's own method of the same name is preferred. A requirement of the protocol would not do: a subclass's hook would never be
// called through the witness of a superclass without one.
extension ObjectEntity {
    @_disfavoredOverload @inlinable public func willInsert() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func willUpdate() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func willDelete() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func didInsert() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func didUpdate() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func didDelete() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func didSave() -> UnwrittenHook { UnwrittenHook() }
    @_disfavoredOverload @inlinable public func didLoad() -> UnwrittenHook { UnwrittenHook() }
}

extension EntityCoding {
    /// Whether a class wrote a hook: `implements(Person.willInsert)`.
    @inlinable public static func implements<T>(_ hook: (T) -> () -> Bool) -> Bool { true }
    @inlinable public static func implements<T>(_ hook: (T) -> () -> Void) -> Bool { true }
    @_disfavoredOverload @inlinable
    public static func implements<T>(_ hook: (T) -> () -> UnwrittenHook) -> Bool { false }

    /// What a hook answered; one that answers nothing agrees.
    @inlinable public static func agrees(_ answer: Bool) -> Bool { answer }
    @inlinable public static func agrees(_ answer: Void) -> Bool { true }
    @_disfavoredOverload @inlinable public static func agrees(_ answer: UnwrittenHook) -> Bool { true }
}
