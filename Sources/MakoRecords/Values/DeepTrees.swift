import MakoStorage

// Stack space for the traversal of trees, see ``StackGuard``.

/// Returns whether a tree of this depth needs a large stack.
func isDeepTree(_ levels: Int) -> Bool { levels > StackGuard.shallowLevels }

/// Runs a traversal of a tree on a large stack; on the present one if there is no other.
func withDeepRoom<R>(_ isDeep: Bool, _ body: () -> R) -> R { StackGuard.run(isDeep: isDeep, body, orElse: body) }

/// Runs a traversal of a tree, with a large stack if necessary.
@inline(__always)
func followingTree<R>(_ isDeep: Bool, _ body: () throws(RecordError) -> R) throws(RecordError) -> R {
    try StackGuard.run(isDeep: isDeep, body) { () throws(RecordError) in throw .tooDeepForStack }
}

extension RecordError {
    /// The error if a traversal needs a larger stack, and none can be had.
    static var tooDeepForStack: RecordError {
        .syntax(QueryError(text: "", offset: 0, message: "this is nested too deeply for the stack of this thread"))
    }
}
