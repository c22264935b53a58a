extension Plan {
    /// The operators of the plan.
    var node: PlanNode { node(nil) }

    /// Returns the operators of the plan.
    ///
    /// - Parameters:
    ///   - measure: the measure of a run of the plan.
    ///   - name: the alias of the table.
    func node(_ measure: PlanMeasure?, _ name: String? = nil) -> PlanNode {
        let note = note
        var node = found(note, measure, name)
        node = orders.isEmpty ? cut(node, measure) : node.sorted(by: orders, bound.limit, bound.offset, measure)
        node.cost = note.cost
        return node
    }

    /// Returns the operators that find the rows' keys, without values and order.
    func keysNode(_ measure: PlanMeasure?) -> PlanNode {
        var node = cut(found(note, measure, nil, isOfKeys: true), measure)
        node.cost = note.cost
        return node
    }

    /// Returns the operators that count the rows.
    func countNode(_ measure: PlanMeasure?) -> PlanNode {
        if isWholeTable && !hasResidual {
            var node = PlanNode(.tableCount, "count of \(table.schema.name)", [], measure?.counts(.tableCount))
            node.table = table.schema.name
            return cut(node, measure)
        }
        return gathered(PlanNode(.count, "count", [keysNode(measure)], measure?.counts(.count)), measure)
    }

    /// Returns the operator that combines the results of several threads, if there are any.
    func gathered(_ node: PlanNode, _ measure: PlanMeasure?) -> PlanNode {
        guard let threads, threads > 1 else { return node }
        return PlanNode(.gather, "gather (\(threads) threads)", [node], measure?.counts(.gather))
    }

    /// Returns the operators that find the first row.
    func existsNode(_ measure: PlanMeasure?) -> PlanNode {
        let note = note
        let offset = bound.offset > 0 ? " offset \(bound.offset)" : ""
        var node = PlanNode(
            .exists, "exists" + offset, [found(note, measure, nil, isOfKeys: true)], measure?.counts(.exists))
        node.cost = note.cost
        return node
    }

    /// Returns the operators that find the rows in any order, for grouping.
    func resultNode(_ measure: PlanMeasure?) -> PlanNode {
        if bound.limit != nil || bound.offset > 0 { return node(measure) }
        let note = note
        var node = found(note, measure, nil)
        node.cost = note.cost
        return node
    }

    /// Returns the access path and the filter.
    private func found(
        _ note: PlanNote, _ measure: PlanMeasure?, _ name: String?, isOfKeys: Bool = false
    ) -> PlanNode {
        var node = accessNode(note, measure, name ?? table.schema.name, isOfKeys)
        if case .nothing = access { return node }
        node.table = table.schema.name
        node.expectedRows = note.rows
        return node.filtered(by: residual, measure)
    }

    private func cut(_ node: PlanNode, _ measure: PlanMeasure?) -> PlanNode {
        isCut ? node.cut(bound.limit, bound.offset, measure) : node
    }

    /// Whether a limit or an offset applies.
    var isCut: Bool {
        if case .nothing = access { return false }
        return bound.limit != nil || bound.offset > 0
    }

    private func accessNode(
        _ note: PlanNote, _ measure: PlanMeasure?, _ name: String, _ isOfKeys: Bool
    ) -> PlanNode {
        let conditions = note.conditions.isEmpty ? "" : " (\(note.conditions))"
        let order = note.order.isEmpty ? "" : ", already in order of \(note.order)"
        func made(_ operation: PlanNode.Operator, _ text: String, _ inputs: [PlanNode] = []) -> PlanNode {
            PlanNode(operation, text + order, inputs, measure?.counts(operation))
        }
        switch access {
        case .nothing: return PlanNode(.nothing, "nothing to read", [], measure?.counts(.nothing))
        case .rows, .keyRanges:
            return isWholeTable
                ? made(.scan, "scan \(name)") : made(.keyRange, "search \(name) by key range\(conditions)")
        case .keys: return made(.keyLookup, "search \(name) by key\(conditions)")
        case .index(let index, _):
            let start = note.conditions.isEmpty ? "scan \(name)" : "search \(name)"
            var node: PlanNode
            if nearest != nil {
                node = made(.nearest, "nearest in \(name) using index \(index.schema.name)")
            } else if skip != nil {
                node = made(.skipScan, "skip \(start) using covering index \(index.schema.name)\(conditions)")
            } else if cover != nil || isOfKeys && (!hasResidual || cover() != nil) {
                node = made(.coveringIndexScan, "\(start) using covering index \(index.schema.name)\(conditions)")
            } else {
                node = made(.indexScan, "\(start) using index \(index.schema.name)\(conditions)")
            }
            node.index = index.schema.name
            return node
        case .fullText(let found):
            var node = made(.textSearch, "search \(name) using index \(found.match.index.schema.name)\(conditions)")
            node.index = found.match.index.schema.name
            return node
        case .gathered(let source):
            return made(.rowIDLookup, "search \(name) by row ids\(conditions)", [source.node(measure?.part(0))])
        case .outerRow:
            let columns = table.columns.map(\.name).joined(separator: ", ")
            return made(.oneRow, "\(name) (\(columns))")
        case .query(let query): return made(.queryScan, "scan rows of \(name)", [query.node(measure?.part(0))])
        }
    }
}

extension PlanNode {
    /// Returns the filter above this operator, if there is a condition.
    func filtered(by condition: BoundCondition?, _ measure: PlanMeasure?) -> PlanNode {
        guard let condition else { return self }
        return PlanNode(
            .filter, "filter \(condition)", [self] + condition.subqueries.nodes(measure), measure?.counts(.filter))
    }

    /// Returns the sort above this operator.
    func sorted(by orders: [BoundOrder], _ limit: Int?, _ offset: Int, _ measure: PlanMeasure?) -> PlanNode {
        let operation: PlanNode.Operator = limit == nil ? .sort : .topN
        let text = PlanNode.limitText(limit, offset).map { limit == nil ? ", \($0)" : " \($0)" } ?? ""
        return PlanNode(
            operation, "sort by \(BoundOrder.text(orders))\(text)",
            [self] + orders.flatMap(\.expr.subqueries).nodes(measure), measure?.counts(operation))
    }

    /// Returns the limit above this operator, if there is any.
    func cut(_ limit: Int?, _ offset: Int, _ measure: PlanMeasure?) -> PlanNode {
        guard let text = PlanNode.limitText(limit, offset) else { return self }
        return PlanNode(.limit, text, [self], measure?.counts(.limit))
    }

    /// Returns LIMIT and OFFSET as text; `nil` without them.
    static func limitText(_ limit: Int?, _ offset: Int) -> String? {
        let parts = [limit.map { "limit \($0)" }, offset > 0 ? "offset \(offset)" : nil].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}

extension BoundOrder {
    static func text(_ orders: [BoundOrder]) -> String {
        orders.map { order in
            "\(order.expr)" + (order.noCase ? " COLLATE NOCASE" : "")
                + direction(order.descending, order.reversesNulls)
        }.joined(separator: ", ")
    }

    static func direction(_ isDescending: Bool, _ reversesNulls: Bool) -> String {
        (isDescending ? " DESC" : "") + (reversesNulls ? isDescending ? " NULLS FIRST" : " NULLS LAST" : "")
    }
}

extension RowIDSet {
    /// Returns the operators that collect row ids.
    func node(_ measure: PlanMeasure?) -> PlanNode {
        func made(_ operation: PlanNode.Operator, _ text: String, _ inputs: [PlanNode] = []) -> PlanNode {
            PlanNode(operation, text, inputs, measure?.counts(operation))
        }
        func parts(_ sources: [RowIDSet]) -> [PlanNode] {
            sources.enumerated().map { $1.node(measure?.part($0)) }
        }
        switch self {
        case .access(let access): return RowIDSet.node(access, measure)
        case .union(let sources): return made(.union, "union of row ids", parts(sources))
        case .intersection(let sources): return made(.intersection, "intersection of row ids", parts(sources))
        case .members(let subquery, nil): return made(.subqueryKeys, "row ids", [subquery.node(measure?.run)])
        case .members(let subquery, let index?):
            var node = made(
                .indexSearch, "index \(index.schema.name) for each value", [subquery.node(measure?.run)])
            node.index = index.schema.name
            return node
        case .linked(let subquery):
            return made(
                .linkedKeys, "row ids in \(subquery.keyText)", subquery.linkNodes(measure?.part(0), isKept: false))
        case .counted(let subquery, let operation, let number):
            return made(
                .linkedKeys, "row ids in \(subquery.keyText) (count(*) \(operation.rawValue) \(number))",
                subquery.linkNodes(measure?.part(0), isKept: false))
        case .collection(let source):
            let others = source.others.node(measure?.part(0))
            switch source.link {
            case .holders(let index):
                var node = made(.keyHolders, "index \(index.schema.name) for each row", [others])
                node.index = index.schema.name
                return node
            case .held(let index): return made(.heldKeys, "keys in \(index.schema.columns[0].name)", [others])
            }
        }
    }

    private static func node(_ access: Access, _ measure: PlanMeasure?) -> PlanNode {
        func made(_ operation: PlanNode.Operator, _ text: String, _ index: IndexHandle? = nil) -> PlanNode {
            var node = PlanNode(operation, text, [], measure?.counts(operation))
            node.index = index?.schema.name
            return node
        }
        switch access {
        // Rows of a query have no row ids.
        case .nothing, .query, .outerRow: return made(.nothing, "nothing to read")
        case .rows, .keyRanges: return made(.keyRange, "key range")
        case .keys: return made(.keyLookup, "given keys")
        case .index(let index, _): return made(.coveringIndexScan, "index \(index.schema.name)", index)
        case .fullText(let found):
            var node = made(.textSearch, "index \(found.match.index.schema.name)")
            node.index = found.match.index.schema.name
            return node
        case .gathered(let inner): return inner.node(measure)
        }
    }
}
