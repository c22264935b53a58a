import MakoStorage

// The way into planning: nothing outside this folder calls anything else of the planner.
extension Planner {
    /// How the rows of one table are found.
    ///
    /// - Parameters:
    ///   - expressions: all that is to be worked out of the rows, besides what they are sorted by; nil: whole rows.
    ///   - view: what sizes are estimated by; nil: they are not known.
    static func plan(
        _ rows: BoundSelection, reading expressions: [BoundExpr]? = nil, in view: Snapshot? = nil
    ) -> Plan {
        var question = Question(rows, .known(rows.table, view))
        question.reads = expressions.flatMap {
            Question.reads($0 + rows.orders.map(\.expr), rows.table, rows.joins)
        }
        return choice(question)?.plan() ?? nothing(question.bound)
    }

    /// How a query is run.
    ///
    /// - Parameters:
    ///   - rows: how the rows of its one table are found, where that is known.
    ///   - view: what sizes are estimated by; nil: they are not known, and tables are taken to be large.
    ///   - size: how many rows a table has, if not those that the view counts.
    static func plan(
        _ query: LogicalPlan, rows: Plan? = nil, in view: Snapshot?, size: ((TableHandle) -> Int?)? = nil
    ) -> StatementPlan {
        let planner = SelectPlanner(view: view, size: size ?? { table in view.flatMap { try? table.count(in: $0) } })
        return switch query {
        case .select(let select): .select(planner.plan(select, rows: rows))
        case .compound(let compound): .compound(compound.map { planner.plan($0) })
        }
    }

    /// Expressions over rows that are found elsewhere, with their sub-queries planned.
    static func plan(_ expressions: [BoundExpr], in view: Snapshot) -> [BoundExpr] {
        let subqueries = SubqueryPlanner(view: view)
        return expressions.map { subqueries.planned($0) }
    }

    /// A condition of such rows, with its sub-queries planned.
    static func plan(_ condition: BoundCondition, in view: Snapshot) -> BoundCondition {
        SubqueryPlanner(view: view).planned(condition)
    }
}
