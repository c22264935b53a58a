/// The collation of an expression in a comparison, an order, a group or DISTINCT.
///
/// A collation compares texts and never changes a value. `COLLATE` has precedence over the collation of a column, and
/// the left operand over the right one, as in SQLite.
package struct Collation: Sendable, Hashable {
    package let isNoCase: Bool
    /// Whether it comes from `COLLATE`, not from a column.
    let isExplicit: Bool

    /// Returns the collation of a comparison.
    static func ofComparison(_ left: Collation?, _ right: Collation?) -> Collation? {
        guard let left else { return right }
        return right?.isExplicit == true && !left.isExplicit ? right : left
    }
}
