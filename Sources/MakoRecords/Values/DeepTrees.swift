import MakoStorage

// Room on the stack for what follows trees, see ``StackGuard``.

/// Whether a tree of so many levels needs a large stack.
func isDeepTree(_ levels: Int) -> Bool { levels > StackGuard.shallowLevels }

/// Runs calls that follow a tree to its end; on the stack as it is where there is no other.
func withDeepRoom<R>(_ isDeep: Bool, _ body: () -> R) -> R { StackGuard.run(isDeep: isDeep, body, orElse: body) }

/// Runs calls that follow a tree to its end, with as much stack as they take.
@inline(__always)
func followingTree<R>(_ isDeep: Bool, _ body: () throws(RecordError) -> R) throws(RecordError) -> R {
    try StackGuard.run(isDeep: isDeep, body) { () throws(RecordError) in throw .tooDeepForStack }
}

extension RecordError {
    /// There is no large stack to be had, and no room on that of the thread.
    static var tooDeepForStack: RecordError {
        .syntax(QueryError(text: "", offset: 0, message: "this is nested too deeply for the stack of this thread"))
    }
}
