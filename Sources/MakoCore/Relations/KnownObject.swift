import CPlatform

#if canImport(ObjectiveC)
    import ObjectiveC
#endif

/// A reference that does not retain its object: it gives the object as long as other references retain it.
///
/// It works like `weak`, except that it keeps the memory of a deinitialized object allocated until ``forget()``. A
/// `weak` reference moves an object's counts to a side table for good, after which each retain takes several times as
/// long. An `unowned` reference is counted in the object itself, but accessing a deinitialized object through it is a
/// fatal error. This one is counted like `unowned`, and obtains the object by a runtime call that may fail.
enum KnownObject {
    case counted(Unmanaged<AnyObject>)
    case weak(WeakObject)

    /// The owner must call ``forget()`` exactly once when it drops the reference.
    init(_ object: AnyObject) {
        guard Self.swiftCounts(type(of: object)) else {
            self = .weak(WeakObject(object))
            return
        }
        let reference = Unmanaged.passUnretained(object)
        mako_hold_memory(reference.toOpaque())
        self = .counted(reference)
    }

    /// The object; nil once its deinitialization has begun.
    var object: AnyObject? {
        switch self {
        case .counted(let reference):
            mako_try_retain(reference.toOpaque()).map { Unmanaged.fromOpaque($0).takeRetainedValue() }
        case .weak(let weak): weak.object
        }
    }

    /// Whether the object's deinitialization is known to have begun. Does not retain the object, because the caller
    /// could then be the last to release it.
    var hasEnded: Bool {
        if case .counted(let reference) = self { mako_has_ended(reference.toOpaque()) } else { false }
    }

    /// Releases the object's memory.
    func forget() {
        guard case .counted(let reference) = self else { return }
        mako_release_memory(reference.toOpaque())
    }

    #if canImport(ObjectiveC)
        private static let swiftRoot: AnyClass = root(of: WeakObject.self)

        private static func root(of type: AnyClass) -> AnyClass {
            var root: AnyClass = type
            while let next: AnyClass = class_getSuperclass(root) { root = next }
            return root
        }

        /// False for the classes of Objective-C and their subclasses, whose objects have other reference counts.
        private static func swiftCounts(_ type: AnyClass) -> Bool { root(of: type) == swiftRoot }
    #else
        private static func swiftCounts(_: AnyClass) -> Bool { true }
    #endif
}

/// A weak reference in a class, so that it is copied without access to its object.
final class WeakObject {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) { self.object = object }
}
