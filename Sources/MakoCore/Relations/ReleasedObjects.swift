import CPlatform

/// Releases the objects that a deinitialized object holds, without recursion along a chain of objects: beyond some
/// levels they wait in a list of the thread.
final class ReleasedObjects {
    /// The limit of nested releases: most chains are shorter and need no list.
    private static var levels: Int32 { 32 }

    private var waiting: [any Sendable] = []

    /// Replaces a value that may hold the last reference to other objects.
    static func release<Value: Sendable>(_ value: inout Value, leaving rest: Value) {
        let level = mako_get_release_level()
        if level < levels {
            mako_set_release_level(level + 1)
            replace(&value, rest)
            mako_set_release_level(level)
        } else {
            putOff(&value, rest)
        }
    }

    // Not inlined: the optimizer would move the release of the old value to the end of the caller, beyond the level and
    // the list.

    @inline(never)
    private static func replace<Value: Sendable>(_ value: inout Value, _ rest: Value) { value = rest }

    @inline(never)
    private static func putOff<Value: Sendable>(_ value: inout Value, _ rest: Value) {
        if let list = mako_get_release_list() {
            return Unmanaged<ReleasedObjects>.fromOpaque(list).takeUnretainedValue().keep(&value, rest)
        }
        let list = ReleasedObjects()
        mako_set_release_list(Unmanaged.passUnretained(list).toOpaque())
        replace(&value, rest)
        while let next = list.next() { end(next) }
        mako_set_release_list(nil)
    }

    @inline(never)
    private func keep<Value: Sendable>(_ value: inout Value, _ rest: Value) {
        waiting.append(value)
        value = rest
    }

    @inline(never)
    private func next() -> (any Sendable)? { waiting.popLast() }

    @inline(never)
    private static func end(_ value: consuming any Sendable) {}
}

extension EntityCoding {
    /// The slot field of a class with a `deinit` of its own, which a macro cannot extend: the field releases its objects
    /// when its owner is deinitialized.
    public struct SlotField<Slot: EntityCoding.PropertySlot>: ~Copyable, Sendable {
        private var held: HeldSlot<Slot>

        /// Creates a field with a slot.
        public init(_ slot: Slot) { held = HeldSlot(slot: slot) }

        /// The slot.
        public var slot: Slot {
            get { held.slot }
            _modify { yield &held.slot }
        }

        deinit {
            // Moved out, so that no other reference holds the objects.
            var slot = held.take()
            slot.letGo()
        }
    }
}

private struct HeldSlot<Slot: EntityCoding.PropertySlot>: ~Copyable, Sendable {
    var slot: Slot

    @inline(never)
    consuming func take() -> Slot { slot }
}
