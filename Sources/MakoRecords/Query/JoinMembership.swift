import MakoStorage

/// A condition of a join that one table's column of keys holds the key of a row of another: `ANY n.labels = l.id`.
struct JoinMembership {
    /// The column of keys, and the index over it.
    let column: BoundColumn
    let index: ElementIndex
    /// What must be among them.
    let key: BoundExpr
    let type: ColumnType
    /// Whether keys are row ids.
    let isRowID: Bool
    /// The joined table whose own key that is: the column can hold no other key that equals it, and leads to its rows.
    let owner: Int?
    /// How many keys a row holds on the average.
    let perRow: Double

    init?(_ condition: BoundCondition, _ planner: JoinPlanner) {
        guard case .exists(let subquery) = condition, case .held(let held) = subquery.source,
            subquery.outers.count == 2, case .column(let column) = subquery.outers[0], let ordinal = column.ordinal,
            planner.sources.indices.contains(column.node),
            case .comparison(.equal, let left, let right)? = held.bound.condition
        else { return nil }
        let target = held.table
        guard let inner = JoinMembership.key(of: target, left, right), inner.kind == Binder.kind(subquery.outers[1])
        else { return nil }
        let source = planner.sources[column.node]
        guard let index = source.table.elementIndexes.first(where: { Int($0.slot.ordinal) == ordinal }) else {
            return nil
        }
        self.column = column
        self.index = index
        key = subquery.outers[1]
        (type, isRowID) = (inner.type, target.isRowID)
        var owner: Int?
        if case .column(let column) = key, planner.sources.indices.contains(column.node),
            planner.sources[column.node].table.id == target.id, column.ordinal == inner.ordinal
        {
            owner = column.node
        }
        self.owner = owner
        let estimates = source.statistics.flatMap { try? TableEstimates(source.table, $0.view) } ?? .unknown
        perRow = estimates.perRow(index, of: source.table)
    }

    /// The key of the target, compared with the second value of the rows around.
    private static func key(of target: TableHandle, _ left: BoundExpr, _ right: BoundExpr) -> BoundColumn? {
        switch (left, right) {
        case (.column(let column), .outer(let value)), (.outer(let value), .column(let column)):
            guard value.index == 1, column.node < 0 else { return nil }
            if target.isRowID { return column.ordinal == nil ? column : nil }
            guard target.keySlots.count == 1, column.ordinal == Int(target.keySlots[0].ordinal) else { return nil }
            return column
        default: return nil
        }
    }
}

/// Looks up the rows of a join by a column of keys: those that hold a key, or those whose keys are held.
final class JoinMembers {
    private enum Source {
        /// Rows that hold a key of the rows before them.
        case holders(column: String, JoinKey, isRowID: Bool)
        /// Rows whose keys a column of the rows before them holds.
        case held(ExpressionRun, SuppliedRows)
    }

    private let source: Source
    private let table: TableHandle
    private let view: Snapshot

    init(_ holders: JoinStep.Holders, _ table: TableHandle, _ key: JoinKey, _ view: Snapshot) {
        source = .holders(column: holders.index.schema.columns[0].name, key, isRowID: holders.isRowID)
        self.table = table
        self.view = view
    }

    init(heldBy values: ExpressionRun, _ table: TableHandle, _ supply: SuppliedRows, _ view: Snapshot) {
        source = .held(values, supply)
        self.table = table
        self.view = view
    }

    func forEachRow(_ body: (RowReader, Int64) throws -> Bool) throws {
        for key in try keys() {
            if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { continue }
            let goesOn = try table.withRow(key, in: view) { try body($0, key.rowID ?? 0) }
            if goesOn == false { return }
        }
    }

    /// Each once.
    private func keys() throws -> [RowKey] {
        switch source {
        case .holders(let column, let key, let isRowID):
            guard let key = try key.rowKey(isRowID: isRowID) else { return [] }
            return try table.keys(holding: key, in: column, view: view)
        case .held(let values, let supply):
            guard case .blob(let bytes) = try values.operand(0, supply.blank, .rowID(0)) else { return [] }
            var keys: [RowKey] = []
            var known: Set<RowKey> = []
            try HeldKeys.forEach(in: bytes) { number, key in
                if number == 0, (key.rowID != nil) == table.isRowID, known.insert(key).inserted { keys.append(key) }
                return true
            }
            return keys
        }
    }
}
