import CPlatform

/// Lets go of what objects hold at their end without a recursion as deep as a chain of objects is long: past some levels what they hold
/// waits in a list of the thread.
final class ReleasedObjects {
    /// How many ends may be nested: a chain as short as most ends without a list.
    private static var levels: Int32 { 32 }

    private var waiting: [any Sendable] = []

    /// Replaces a value that may hold the last reference to other objects.
    static func letGo<Value: Sendable>(of value: inout Value, leaving rest: Value) {
        let level = mako_get_release_level()
        if level < levels {
            mako_set_release_level(level + 1)
            replace(&value, rest)
            mako_set_release_level(level)
        } else {
            putOff(&value, rest)
        }
    }

    // None of these is inlined: the optimizer would let the old value end at the end of the caller, past what the level and the list say.

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

/// The slot of a class that has a `deinit` of its own, to which a macro cannot add: the slot lets go of its objects itself when its owner ends.
public struct SlotField<Slot: PropertySlot>: ~Copyable, Sendable {
    private var held: HeldSlot<Slot>

    public init(_ slot: Slot) { held = HeldSlot(slot: slot) }

    public var slot: Slot {
        get { held.slot }
        _modify { yield &held.slot }
    }

    deinit {
        // Taken out, so that nothing else holds the objects.
        var slot = held.take()
        slot.letGo()
    }
}

private struct HeldSlot<Slot: PropertySlot>: ~Copyable, Sendable {
    var slot: Slot

    @inline(never)
    consuming func take() -> Slot { slot }
}
