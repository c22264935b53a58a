import CPlatform

/// Provides stack space for recursion: parsing, binding, compiling and evaluating nested expressions.
///
/// Thread stacks range from 128 KiB (musl) over 512 KiB (Dispatch on Apple platforms) to 8 MiB, and a level of nesting
/// takes up to 48 KiB in a debug build. A recursion that calls this before each level continues, on the same thread, on
/// a stack of 16 MiB when its own stack is nearly used up. The depth of the recursion must have a limit of its own.
/// Code that cannot call this before each level, as Foundation's coders, runs on the large stack from the start.
@usableFromInline
package enum StackGuard {
    /// The largest stack space of one level of nesting, with everything that it calls except the next level.
    @inlinable static var levelRoom: UInt64 { 128 << 10 }
    /// The largest stack space of calls that descend a deep tree without checks.
    @inlinable static var deepRoom: UInt64 { 2 << 20 }
    /// The largest number of levels of a shallow tree.
    @inlinable package static var shallowLevels: Int { 8 }

    /// Runs a closure with stack space for one level of nesting, or for a deep tree.
    ///
    /// - Parameters:
    ///   - isDeep: whether the closure descends a tree with more than ``shallowLevels`` levels.
    ///   - refuse: called instead if there is no such space.
    @inlinable @inline(__always)
    package static func run<R, E: Error>(
        isDeep: Bool, _ body: () throws(E) -> R, orElse refuse: () throws(E) -> R
    ) throws(E) -> R {
        if mako_stack_room() >= (isDeep ? deepRoom : levelRoom) { return try body() }
        return try onLargeStack(body, refuse)
    }

    /// Runs a closure on a stack of 16 MiB.
    ///
    /// - Parameter refuse: called instead if there is no such stack.
    @usableFromInline @inline(never)
    package static func onLargeStack<R, E: Error>(
        _ body: () throws(E) -> R, _ refuse: () throws(E) -> R
    ) throws(E) -> R {
        var result: Result<R, E>?
        withoutActuallyEscaping(body) { body in
            var call: () -> Void = {
                do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
            }
            withUnsafeMutablePointer(to: &call) { call in
                _ = mako_call_on_large_stack({ $0?.assumingMemoryBound(to: (() -> Void).self).pointee() }, call)
            }
        }
        guard let result else { return try refuse() }
        return try result.get()
    }
}
