import MakoStorage

// The planner's interface. Other folders call no other function of the planner.
extension Planner {
    /// Plans the rows of one table.
    ///
    /// - Parameters:
    ///   - expressions: the expressions computed from the rows, besides the orders; `nil` for whole rows.
    ///   - view: the snapshot that sizes are estimated from; `nil` if there is none.
    static func plan(
        _ rows: BoundSelection, reading expressions: [BoundExpr]? = nil, in view: Snapshot? = nil
    ) -> Plan {
        var input = Input(rows, .known(rows.table, view))
        input.reads = expressions.flatMap {
            Input.reads($0 + rows.orders.map(\.expr), rows.table, rows.joins)
        }
        return choice(input)?.plan() ?? nothing(input.bound)
    }

    /// Plans a query.
    ///
    /// - Parameters:
    ///   - rows: the plan of the rows of its one table, if already made.
    ///   - view: the snapshot that sizes are estimated from; `nil` to assume large tables.
    ///   - size: returns the number of rows of a table, where it differs from the view's.
    static func plan(
        _ query: LogicalPlan, rows: Plan? = nil, in view: Snapshot?, size: ((TableHandle) -> Int?)? = nil
    ) -> StatementPlan {
        let planner = SelectPlanner(view: view, size: size ?? { table in view.flatMap { try? table.count(in: $0) } })
        return switch query {
        case .select(let select): .select(planner.plan(select, rows: rows))
        case .compound(let compound): .compound(compound.map { planner.plan($0) })
        }
    }

    /// Plans the sub-queries of expressions over rows that come from elsewhere.
    static func plan(_ expressions: [BoundExpr], in view: Snapshot) -> [BoundExpr] {
        let subqueries = SubqueryPlanner(view: view)
        return expressions.map { subqueries.planned($0) }
    }

    /// Plans the sub-queries of a condition over such rows.
    static func plan(_ condition: BoundCondition, in view: Snapshot) -> BoundCondition {
        SubqueryPlanner(view: view).planned(condition)
    }
}
