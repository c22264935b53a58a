/// What a query is, with names resolved, before anything is chosen.
///
/// Its leaves are the rows of one table (``BoundSelection``: filter, order, limit) or of several (``BoundJoin``), some of which are queries
/// again; above them are groups, outputs, DISTINCT and limits (``BoundSelect``), and sets of these. Rows that a statement changes are a selection.
enum LogicalPlan: Sendable {
    case select(BoundSelect)
    case compound(CompoundSelect<BoundSelect>)

    /// The one that says what the columns are.
    var first: BoundSelect {
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

    var tables: Set<String> {
        switch self {
        case .select(let select): select.tables
        case .compound(let compound): compound.parts.reduce(into: []) { $0.formUnion($1.tables) }
        }
    }
}
