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
        if level < levels || sabotaged("chainReleasedRecursively") {
            mako_set_release_level(level + 1)
            value = rest
            mako_set_release_level(level)
        } else if let list = mako_get_release_list() {
            Unmanaged<ReleasedObjects>.fromOpaque(list).takeUnretainedValue().waiting.append(value)
            value = rest
        } else {
            let list = ReleasedObjects()
            mako_set_release_list(Unmanaged.passUnretained(list).toOpaque())
            value = rest
            while let next = list.waiting.popLast() { withExtendedLifetime(next) {} }
            mako_set_release_list(nil)
        }
    }
}
