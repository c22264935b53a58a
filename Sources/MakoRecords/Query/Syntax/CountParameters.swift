/// The parameters of a question that stand behind LIMIT and OFFSET.
struct CountParameters: Sendable, Hashable {
    var limit: Expr?
    var offset: Expr?
}
