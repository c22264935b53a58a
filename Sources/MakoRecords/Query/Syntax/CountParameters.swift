/// The parameters of LIMIT and OFFSET.
struct CountParameters: Sendable, Hashable {
    var limit: Expr?
    var offset: Expr?
}
