/// The collation that an expression brings to a comparison, an order, a group or a set of different values.
///
/// A collation never changes a value: it says how texts are compared. `COLLATE` behind an expression counts before the collation that a
/// column is declared with, and what stands on the left before what stands on the right, as in SQLite.
struct Collation: Sendable, Hashable {
    let isNoCase: Bool
    /// Whether `COLLATE` says it; else it is that of a column.
    let isExplicit: Bool

    /// The collation under which two operands are compared.
    static func ofComparison(_ left: Collation?, _ right: Collation?) -> Collation? {
        guard let left else { return right }
        return right?.isExplicit == true && !left.isExplicit ? right : left
    }
}
