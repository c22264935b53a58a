import CPlatform

#if canImport(ObjectiveC)
    import ObjectiveC
#endif

/// A reference that keeps no object: the object, as long as somebody else keeps it.
///
/// It is what Swift calls `weak`, except that it keeps the memory of the object, which may have ended, and has to be told to let go of that. A weak
/// reference moves an object's counts to a table beside it for good, and whoever counts a reference from then on takes several times
/// as long; an unowned one is counted in the object itself, but stops the program where the object has ended. This one is counted so, and
/// asks the runtime for the object in a way that may be answered with no.
enum KnownObject {
    case counted(Unmanaged<AnyObject>)
    case weak(WeakObject)

    /// Whoever makes one calls ``forget()`` at its end, once.
    init(_ object: AnyObject) {
        guard Self.swiftCounts(type(of: object)) else {
            self = .weak(WeakObject(object))
            return
        }
        let reference = Unmanaged.passUnretained(object)
        mako_hold_memory(reference.toOpaque())
        self = .counted(reference)
    }

    /// The object, unless its end has begun.
    var object: AnyObject? {
        switch self {
        case .counted(let reference):
            mako_try_retain(reference.toOpaque()).map { Unmanaged.fromOpaque($0).takeRetainedValue() }
        case .weak(let weak): weak.object
        }
    }

    /// Whether the object's end is known to have begun. Does not ask for the object: whoever does may be the last to let go of it.
    var hasEnded: Bool {
        if case .counted(let reference) = self { mako_has_ended(reference.toOpaque()) } else { false }
    }

    /// Lets go of the object's memory.
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

        /// False for the classes of Objective-C and their subclasses, whose objects are counted in another way.
        private static func swiftCounts(_ type: AnyClass) -> Bool { root(of: type) == swiftRoot }
    #else
        private static func swiftCounts(_: AnyClass) -> Bool { true }
    #endif
}

/// A weak reference that is copied without being followed.
final class WeakObject {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) { self.object = object }
}
