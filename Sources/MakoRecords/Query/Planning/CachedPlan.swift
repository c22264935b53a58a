import MakoStorage

/// A cached plan of a selection, reused for selections of the same shape.
///
/// A plan is cached only if it is the cheapest for all values of the shape: if its choice did not depend on sizes that
/// depend on values, if there was no alternative, if a table scan was the only alternative and costs more for any
/// expected number of rows, or if the plan reads so few rows that a better one would not be noticed. The last is
/// checked again for each selection.
final class CachedPlan: PlanTemplate {
    private enum AccessPath {
        case scan(Access)
        /// By the constraints on the row id.
        case id([Int], kind: Kind)
        case key(KeyPattern)
        case index(IndexHandle, KeyPattern)
    }

    /// When another access path may be cheaper, in a table whose entries are counted.
    private enum Rival {
        case never
        /// When many entries are found; the share of the table's rows that is expected.
        case manyEntries(Double)
        /// When the entries exceed this share of the table's rows.
        case share(Double)
        case always
    }

    private enum Kind {
        case keys, rows, other

        init(_ access: Access) {
            switch access {
            case .keys: self = .keys
            case .rows: self = .rows
            default: self = .other
            }
        }
    }

    /// A plan that reads fewer rows than this is always good enough.
    private static let few = 64.0
    /// The factor by which the table may grow or shrink before the plan is discarded.
    private static let growth = 4.0
    /// The shares of a table's rows at which an index is compared with a scan.
    private static let shares = [1, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01]

    let frame: BoundSelection.Frame
    private let conjuncts: [BoundCondition]
    private let constraints: [Constraint]
    /// The orders that are not redundant.
    let orders: [BoundOrder]
    private let accessPath: AccessPath
    /// The index and pattern of `accessPath`, apart, so that reading them copies nothing else.
    private let byIndex: (index: IndexHandle, pattern: KeyPattern)?
    /// The number of the only constraint, where the entries that begin with its value are the rows of the result,
    /// without another test.
    private let numbered: Int?
    private let answered: Set<Int>
    private let used: [Int]
    private let expected: (rows: Double?, cost: Double?)
    let isReversed: Bool
    let isOrdered: Bool
    private let rows: Double
    let expectedShare: Double
    private let rival: Rival
    /// The residual condition of the selection from which the plan was made.
    private let program: Program
    /// The conjuncts' constants in the program; `nil` if they cannot be replaced.
    private let constants: [(place: Int32, conjunct: Int)]?
    /// Whether texts are compared without case.
    private let folds: Bool
    /// The index of the access path and, if it is a covering index, how rows are made of its entries.
    let covered: (index: IndexHandle, cover: CoveringIndex?)?

    /// - Returns: `nil` if another selection of the shape may need another plan, or if the binder converts its values.
    init?(_ shape: QueryFingerprint, _ choice: Planner.Choice, _ plan: Plan) {
        let best = choice.best
        let input = choice.input
        let bound = input.bound
        guard bound.matches.isEmpty, bound.references.isEmpty, best.nearest == nil,
            input.conjuncts.count == shape.values.count,
            zip(input.conjuncts, shape.values).allSatisfy({ CachedPlan.standsAsGiven($0, $1) }),
            let accessPath = CachedPlan.accessPath(best, input)
        else { return nil }
        rival = CachedPlan.rival(accessPath, choice)
        if input.estimates.countsEntries {
            if case .always = rival { return nil }
            if case .manyEntries = rival, best.rows >= CachedPlan.few { return nil }
        }
        frame = bound.frame
        conjuncts = input.conjuncts
        constraints = input.constraints
        orders = input.orders
        self.accessPath = accessPath
        byIndex = if case .index(let index, let pattern) = accessPath { (index, pattern) } else { nil }
        let needsMore = plan.hasResidual || !plan.orders.isEmpty || bound.offset > 0 || !bound.table.isRowID
        numbered = needsMore ? nil : byIndex?.pattern.numbered
        answered = best.answered
        used = best.used
        expected = input.estimates.isKnown ? (best.rows, best.cost) : (nil, nil)
        isReversed = best.isReversed
        isOrdered = best.isOrdered
        rows = input.estimates.rows
        expectedShare = plan.expectedShare
        program = plan.program
        folds = input.conjuncts.contains(where: CachedPlan.folds)
        constants = CachedPlan.constants(plan.program, input, best, shape.values)
        covered = byIndex.map { ($0.index, plan.cover()) }
    }

    /// Returns whether the binder takes every value of this kind unchanged.
    private static func standsAsGiven(_ conjunct: BoundCondition, _ value: Value?) -> Bool {
        guard let value else { return true }
        switch (conjunct, value) {
        case (.comparison(_, .column(let column), .constant(let constant)), _):
            guard constant == value, !column.isDecimal else { return false }
            switch (column.type, value) {
            case (.bool, .bool), (.integer, .integer), (.reference, .integer), (.double, .double), (.text, .text),
                (.date, .date), (.uuid, .uuid):
                return true
            default: return false
            }
        case (.comparison(_, .noCase(.column), .constant(let constant)), .text(let text)):
            return constant == .text(Folding.folded(text))
        default: return false
        }
    }

    private static func folds(_ conjunct: BoundCondition) -> Bool {
        if case .comparison(_, .noCase, _) = conjunct { true } else { false }
    }

    private static func accessPath(_ candidate: Planner.Candidate, _ input: Planner.Input) -> AccessPath? {
        let table = input.bound.table
        switch candidate.access {
        case .rows, .keyRanges, .keys:
            if candidate.used.isEmpty { return .scan(candidate.access) }
            if !table.isRowID { return .key(KeyPattern(table.keyParts, input.constraints)) }
            let mine = input.constraints.indices.filter { input.constraints[$0].term.ordinal == nil }
            return .id(mine, kind: Kind(candidate.access))
        case .index(let index, _):
            return index.isPlain ? .index(index, KeyPattern(index.keyParts, input.constraints)) : nil
        case .nothing, .fullText, .gathered, .query, .outerRow: return nil
        }
    }

    private static func rival(_ accessPath: AccessPath, _ choice: Planner.Choice) -> Rival {
        let input = choice.input
        if choice.rivals == .none { return .never }
        switch accessPath {
        case .scan: return .always
        case .id(_, .keys): return .never
        case .key(let pattern) where pattern.isPoint: return .never
        // A range of the table never has more rows than the whole table.
        case .id, .key: return choice.rivals == .scan ? .never : .always
        case .index(let index, let pattern):
            guard choice.rivals == .scan, let most = shares.first(where: { isBetterThanScan(choice, $0) }) else {
                return .manyEntries(pattern.share { input.constraints[$0].test })
            }
            if most == 1 || isRare(index, pattern, most, input) { return .never }
            return .share(most)
        }
    }

    /// Returns whether no value is found in more than this share of the rows.
    private static func isRare(
        _ index: IndexHandle, _ pattern: KeyPattern, _ most: Double, _ input: Planner.Input
    ) -> Bool {
        guard pattern.isOfOneValue else { return false }
        if !input.estimates.countsEntries || index.isUnique && pattern.isPoint { return true }
        let commonest = input.estimates.commonest(index, prefix: pattern.equal.count, input.bound.catalogue)
        return commonest.map { $0 <= most } ?? false
    }

    /// Returns whether an index is cheaper than a scan at this share of the rows, also after the table has grown or
    /// shrunk.
    private static func isBetterThanScan(_ choice: Planner.Choice, _ share: Double) -> Bool {
        let (input, best) = (choice.input, choice.best)
        let isScanOrdered = input.orders.isEmpty || Planner.rowOrder(input) != nil
        return [1 / growth, 1, growth].allSatisfy { factor in
            let rows = max(TableEstimates.smallest, input.estimates.rows * factor)
            let index = input.searchCost(
                rows: max(few, rows * share), perRow: input.estimates.indexCost, isOrdered: best.isOrdered,
                answered: best.answered)
            return index < input.scanCost(rows: rows, isOrdered: isScanOrdered, answered: [])
        }
    }

    /// Returns the places of the conjuncts' constants in a program; `nil` if they cannot be replaced.
    private static func constants(
        _ program: Program, _ input: Planner.Input, _ best: Planner.Candidate, _ values: [Value?]
    ) -> [(place: Int32, conjunct: Int)]? {
        let tested = zip(program.conjuncts, input.residualPlaces(best)).filter { values[$0.1] != nil }
        return tested.allSatisfy { program.hasConstant(at: $0.0) } ? tested.map { (place: $0.0, conjunct: $0.1) } : nil
    }

    /// Returns the plan of a selection of the same shape.
    ///
    /// - Parameters:
    ///   - given: the values of the shape.
    ///   - parameters: the values of all parameters of the selection.
    /// - Returns: `nil` if another access path may be cheaper for these values or for the present size of the table.
    func plan(
        _ given: [Value?], _ parameters: [Value], _ named: [String: Value], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> Plan? {
        let estimates = try TableEstimates(frame.table, view)
        guard estimates.rows <= rows * CachedPlan.growth, rows <= estimates.rows * CachedPlan.growth else { return nil }
        let values = folds ? zip(conjuncts, given).map { CachedPlan.folded($1, for: $0) } : given
        guard let accessPath = planAccessPath(values) else { return nil }
        if estimates.countsEntries, isRivalled(accessPath, estimates) { return nil }
        return Plan(self, values, BoundSelection(self, values, parameters, named, catalogue), accessPath)
    }

    private func isRivalled(_ accessPath: Plan.AccessPath, _ estimates: TableEstimates) -> Bool {
        func hasMany(_ index: IndexHandle, _ ranges: [KeyRange], _ share: Double) -> Bool {
            estimates.entries(of: index, in: ranges, share: share) >= CachedPlan.few
        }
        func areMore(_ index: IndexHandle, _ ranges: [KeyRange], _ share: Double) -> Bool {
            estimates.areMore(index, ranges, than: share)
        }
        switch rival {
        case .never: return false
        case .always: return true
        case .share(let share):
            switch accessPath {
            case .access(.index(let index, let ranges)): return areMore(index, ranges, share)
            case .number(let index, let number): return areMore(index, [KeyRange(of: number)], share)
            case .access: return false
            }
        case .manyEntries(let share):
            switch accessPath {
            case .access(.index(let index, let ranges)): return hasMany(index, ranges, share)
            case .number(let index, let number): return hasMany(index, [KeyRange(of: number)], share)
            case .access: return false
            }
        }
    }

    private static func folded(_ value: Value?, for conjunct: BoundCondition) -> Value? {
        guard case .text(let text) = value, folds(conjunct) else { return value }
        return .text(Folding.folded(text))
    }

    private func test(_ number: Int, _ values: [Value?]) -> Constraint.Test {
        let constraint = constraints[number]
        return values[constraint.conjunct].map { constraint.test.with($0) } ?? constraint.test
    }

    private func planAccessPath(_ values: [Value?]) -> Plan.AccessPath? {
        if let numbered, let index = byIndex?.index, case .equal(.integer(let number)) = test(numbered, values) {
            return .number(index, number)
        }
        return access(values).map { .access($0) }
    }

    private func access(_ values: [Value?]) -> Access? {
        func test(_ number: Int) -> Constraint.Test { self.test(number, values) }
        if let (index, pattern) = byIndex {
            let (ranges, areWider) = pattern.ranges(limit: IndexHandle.keptBytes, test)
            return areWider || ranges.isEmpty ? nil : .index(index, ranges)
        }
        switch accessPath {
        case .scan(let access): return access
        case .id(let numbers, let kind):
            let (access, _) = Planner.idAccess(numbers.map(test))
            return Kind(access) == kind ? access : nil
        case .key(let pattern):
            let (ranges, areWider) = pattern.ranges(limit: TableHandle.longestKey, test)
            if areWider || ranges.isEmpty { return nil }
            return pattern.isPoint ? .keys(ranges.map { .bytes($0.lower) }) : .keyRanges(ranges)
        case .index: return nil
        }
    }

    /// Whether rows need a test after the access path.
    var hasResidual: Bool { program.root >= 0 }

    /// Returns the residual condition, compiled for these values.
    func program(_ values: [Value?]) -> Program {
        guard let constants else { return Program(frame.table, residual(values), joins: frame.joins) }
        if constants.isEmpty { return program }
        var replaced: [(place: Int32, value: Value)] = []
        replaced.reserveCapacity(constants.count)
        for (place, conjunct) in constants { if let value = values[conjunct] { replaced.append((place, value)) } }
        return Program(program, replacing: replaced)
    }
}

// MARK: - Explanations

extension CachedPlan {
    /// Returns the condition with other values.
    func condition(_ values: [Value?]) -> BoundCondition? { .all(conjuncts(values)) }

    /// Returns the residual condition of a plan with these values.
    func residual(_ values: [Value?]) -> BoundCondition? {
        .all(conjuncts(values).enumerated().filter { !answered.contains($0.offset) }.map(\.element))
    }

    /// Returns the notes of a plan with these values. The estimates are those of the selection from which the plan was
    /// made.
    func note(_ values: [Value?]) -> PlanNote {
        let conjuncts = conjuncts(values)
        return PlanNote(
            conditions: used.map { "\(conjuncts[$0])" }.joined(separator: " AND "),
            order: isOrdered ? BoundOrder.text(orders) : "", rows: expected.rows, cost: expected.cost)
    }

    private func conjuncts(_ values: [Value?]) -> [BoundCondition] {
        zip(conjuncts, values).map { conjunct, value in
            guard let value, case .comparison(let operation, let side, _) = conjunct else { return conjunct }
            return .comparison(operation, side, .constant(value))
        }
    }
}
