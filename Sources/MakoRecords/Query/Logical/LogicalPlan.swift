/// The logical plan of a query: names are resolved, and nothing is chosen yet.
///
/// Its leaves are the rows of one table (``BoundSelection``: filter, order, limit) or of a join (``BoundJoin``), whose
/// tables may be queries; above them are groups, outputs, DISTINCT and limits (``BoundSelect``), and compounds. The
/// rows of UPDATE and DELETE are a selection.
package enum LogicalPlan: Sendable {
    case select(BoundSelect)
    case compound(CompoundSelect<BoundSelect>)

    /// The SELECT that determines the columns.
    package var first: BoundSelect {
        switch self {
        case .select(let select): select
        case .compound(let compound): compound.first
        }
    }

    var collations: [Collation?] {
        switch self {
        case .select(let select): select.collations
        case .compound(let compound): compound.collations
        }
    }

    /// The tables of the file that the result depends on.
    package var tables: Set<String> {
        switch self {
        case .select(let select): select.tables
        case .compound(let compound): compound.parts.reduce(into: []) { $0.formUnion($1.tables) }
        }
    }
}
