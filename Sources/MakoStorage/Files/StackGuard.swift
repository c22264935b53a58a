import CPlatform

/// Room on the stack for what recurses: parsing, binding, compiling and evaluating what is nested.
///
/// Threads have stacks from 128 KiB (musl) over 512 KiB (Dispatch on Apple systems) to 8 MiB, and a level of nesting takes up to
/// 48 KiB in a debug build. A recursion that calls this before each level goes on, on the same thread, on a stack of 16 MiB when
/// the rest of its own is too small. Its depth must have a limit of its own. Code that cannot ask before each level, as Foundation's coders, runs
/// there from the beginning.
package enum StackGuard {
    /// What a level of nesting takes at most, with all that it calls besides the next one.
    @inlinable static var levelRoom: UInt64 { 128 << 10 }
    /// What calls that follow a deep tree to its end without asking take at most.
    @inlinable static var deepRoom: UInt64 { 2 << 20 }
    /// Trees with so many levels are shallow.
    @inlinable package static var shallowLevels: Int { 8 }

    /// Runs a closure with room for one level of nesting, or for a tree that is deep.
    ///
    /// - Parameters:
    ///   - isDeep: whether the closure follows a tree with more than ``shallowLevels`` levels.
    ///   - refuse: is called instead where there is no such room.
    @inlinable @inline(__always)
    package static func run<R, E: Error>(
        isDeep: Bool, _ body: () throws(E) -> R, orElse refuse: () throws(E) -> R
    ) throws(E) -> R {
        if mako_stack_room() >= (isDeep ? deepRoom : levelRoom) { return try body() }
        return try onLargeStack(body, refuse)
    }

    /// Runs a closure on a stack of 16 MiB, whatever room there is.
    ///
    /// - Parameter refuse: is called instead where there is no such stack.
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
