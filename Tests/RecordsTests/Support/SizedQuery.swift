import MakoStorage

@testable import MakoRecords

/// A statement that is planned for tables of given sizes.
struct SizedQuery {
    private let statement: SelectStatement
    private let catalogue: Catalogue
    private let parameters: [Value]
    private let named: [String: Value]
    private let view: Snapshot?
    private let size: (TableHandle) -> Int?

    init(
        _ statement: SelectStatement, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        _ view: Snapshot? = nil, size: @escaping (TableHandle) -> Int?
    ) {
        self.statement = statement
        self.catalogue = catalogue
        self.parameters = parameters
        self.named = named
        self.view = view
        self.size = size
    }

    func plan() throws -> SelectPlan {
        let bound = try statement.binder(catalogue, parameters, named, SubqueryBudget()).bound()
        let plan = Planner.plan(.select(bound), in: view, size: size).first
        return view.map { plan.divided(in: $0) } ?? plan
    }
}
