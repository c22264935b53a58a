/// The numbers from which the order of a join is chosen: rows and cost of each table, and the tables that each
/// condition needs.
///
/// Made once for a join. Costing an order then takes numbers and bit sets only, and allocates nothing.
struct JoinGraph {
    struct TableNumbers {
        let isLeft: Bool
        /// The tables that must precede it.
        let needs: SourceSet
        let size: Double
        /// The rows that pass its own condition, and their share of the table.
        let rows: Double
        let share: Double
        /// The cost of reading them.
        let cost: Double
        var equations = 0..<0
        var limits = 0..<0
        var filters = 0..<0
        var lookups = 0..<0
    }

    /// A condition that can be tested once some tables are joined, and its selectivity.
    struct TermNumbers {
        let needs: SourceSet
        let share: Double
        /// Whether a hash join can use the equation.
        var isHashed = true
    }

    /// A lookup by the key of a table, one of its indexes, or a column of keys.
    struct KeyLookup {
        enum AccessPath {
            case key
            case index(IndexHandle)
            /// Rows in a range: after its ``parts``, the next column is limited.
            case range(JoinRange.Target)
            /// Rows whose column of keys holds the key, by an equation.
            case holders(JoinStep.Holders, equation: Int)
            /// Rows whose keys the column holds, by an equation.
            case held(equation: Int)
        }

        let accessPath: AccessPath
        var isUnique = false
        var parts = 0..<0
        /// The limits of the column after the parts.
        var limits = 0..<0
    }

    /// A column of a key, looked up by the first usable one of these equations, or by a constant.
    struct LookupPart {
        let equations: Range<Int>
        var isConstant = false
        /// The number of rows with the same values in this column and those before it; 0 if unknown.
        var alike = 0.0
    }

    /// An equation of a table as written; ``terms`` has its numbers at the same index.
    struct JoinEquation {
        let condition: BoundCondition
        let inner: BoundExpr
        let outer: BoundExpr
        let isRounded: Bool
    }

    /// A comparison as written that limits a column of a table by others.
    struct JoinLimit {
        let condition: BoundCondition
        let term: Constraint.Term
        let isLower: Bool
        let outer: BoundExpr
        let needs: SourceSet
    }

    private(set) var tables: [TableNumbers] = []
    private(set) var equations: [JoinEquation] = []
    private(set) var lookups: [KeyLookup] = []
    private(set) var parts: [LookupPart] = []
    /// The numbers of ``equations``, at the same indexes.
    private var terms: [TermNumbers] = []
    /// Conditions on several tables that are not equations.
    private var filters: [TermNumbers] = []
    /// Equations of the form "a column of keys holds a key", each with its membership where the table is the holder.
    private var members: [(equation: Int, holder: JoinMembership?)] = []
    /// Indexes of equations, or of limits, grouped by the columns that they determine.
    private var choices: [Int] = []
    private var limits: [JoinLimit] = []
    /// The tables of each two comparisons that limit one column on both sides.
    private var windows: [SourceSet] = []
    /// Whether the hash table may be built of the outer rows instead, which changes their order.
    private var mayTurn = false

    init() {}

    init(_ planner: JoinPlanner) {
        mayTurn = planner.input.orders.isEmpty && planner.input.wanted == nil
        windows = JoinGraph.windows(planner)
        for source in planner.sources.indices { add(source, planner) }
    }

    private static func windows(_ planner: JoinPlanner) -> [SourceSet] {
        var ends: [BoundExpr: (lower: SourceSet, upper: SourceSet)] = [:]
        for (condition, mask) in zip(planner.input.conjuncts, planner.masks) where mask & (mask &- 1) != 0 {
            guard case .comparison(let operation, let left, let right) = condition else { continue }
            for (side, other, operation) in [(left, right, operation), (right, left, operation.mirrored)] {
                guard case .column(let column) = side, planner.sources.indices.contains(column.node),
                    planner.sets.of(other) & planner.sets.of(side) == 0
                else { continue }
                switch operation {
                case .greater, .greaterOrEqual: ends[side, default: (0, 0)].lower |= mask
                case .less, .lessOrEqual: ends[side, default: (0, 0)].upper |= mask
                case .equal, .notEqual: break
                }
            }
        }
        return ends.values.filter { $0.lower != 0 && $0.upper != 0 }.map { $0.lower | $0.upper }.sorted()
    }

    // MARK: - Table numbers

    private mutating func add(_ source: Int, _ planner: JoinPlanner) {
        let from = planner.sources[source]
        var table = TableNumbers(
            isLeft: from.left != nil, needs: planner.leftNeeds[source], size: from.size,
            rows: from.size * planner.ownShares[source], share: planner.ownShares[source],
            cost: planner.ownCosts[source] + CostModel.joinRow * from.size * planner.ownShares[source])
        let firstFilter = filters.count
        let (firstEquation, firstLimit) = (equations.count, limits.count)
        if let left = from.left {
            for condition in left where !addEquation(condition, source, planner) {
                addLimit(condition, source, planner)
            }
        } else {
            let me: SourceSet = 1 << SourceSet(source)
            for (condition, mask) in zip(planner.input.conjuncts, planner.masks) where mask & me != 0 && mask != me {
                if addEquation(condition, source, planner) { continue }
                addLimit(condition, source, planner)
                filters.append(TermNumbers(needs: mask & ~me, share: Selectivity.comparison))
            }
            // The two comparisons are among the filters already.
            let share = Selectivity.window / (Selectivity.comparison * Selectivity.comparison)
            for mask in windows where mask & me != 0 {
                filters.append(TermNumbers(needs: mask & ~me, share: share))
            }
        }
        table.filters = firstFilter..<filters.count
        table.equations = firstEquation..<equations.count
        table.limits = firstLimit..<limits.count
        let firstLookup = lookups.count
        addLookups(source, table, planner)
        table.lookups = firstLookup..<lookups.count
        tables.append(table)
    }

    /// Adds the condition if it is an equation between the table and others; returns whether it is.
    private mutating func addEquation(_ condition: BoundCondition, _ source: Int, _ planner: JoinPlanner) -> Bool {
        if let membership = JoinMembership(condition, planner) { return add(membership, condition, source, planner) }
        guard case .comparison(.equal, let left, let right) = condition else { return false }
        let me: SourceSet = 1 << SourceSet(source)
        let (a, b) = (planner.sets.of(left), planner.sets.of(right))
        let isTurned = a != me || b == 0 || b & me != 0
        let (inner, outer, needs) = isTurned ? (right, left, a) : (left, right, b)
        guard !isTurned || b == me, needs != 0, needs & me == 0 else { return a == me || b == me }
        equations.append(
            JoinEquation(
                condition: condition, inner: inner, outer: outer, isRounded: JoinGraph.isRounded(inner, outer)))
        terms.append(TermNumbers(needs: needs, share: JoinEstimate.share(ofEqual: inner, outer, planner)))
        return true
    }

    /// Adds the condition if it compares a column of the table with others, so that sorted keys can answer it.
    private mutating func addLimit(_ condition: BoundCondition, _ source: Int, _ planner: JoinPlanner) {
        guard case .comparison(let operation, let left, let right) = condition else { return }
        let me: SourceSet = 1 << SourceSet(source)
        for (inner, outer, operation) in [(left, right, operation), (right, left, operation.mirrored)] {
            let needs = planner.sets.of(outer)
            guard let column = JoinGraph.sortedColumn(inner, source), needs != 0, needs & me == 0,
                JoinGraph.isSorted(column, besides: Binder.kind(outer))
            else { continue }
            let isLower: Bool
            switch operation {
            case .greater, .greaterOrEqual: isLower = true
            case .less, .lessOrEqual: isLower = false
            case .equal, .notEqual: return
            }
            let noCase = if case .noCase = inner { true } else { false }
            limits.append(
                JoinLimit(
                    condition: condition, term: Constraint.Term(ordinal: column.ordinal, noCase: noCase),
                    isLower: isLower, outer: outer, needs: needs))
            return
        }
    }

    private static func sortedColumn(_ expr: BoundExpr, _ source: Int) -> BoundColumn? {
        switch expr {
        case .column(let column), .noCase(.column(let column)): column.node == source ? column : nil
        default: nil
        }
    }

    /// Returns whether the order of keys is that of comparisons with values of a kind.
    private static func isSorted(_ column: BoundColumn, besides kind: ValueKind) -> Bool {
        if column.isSealed || column.type == .keys || column.kind == .decimal { return false }
        return column.kind == kind || column.kind.isNumber && kind.isNumber
    }

    /// Adds a membership condition, which supports a lookup like an equation, but no hash join.
    private mutating func add(
        _ membership: JoinMembership, _ condition: BoundCondition, _ source: Int, _ planner: JoinPlanner
    ) -> Bool {
        let column = BoundExpr.column(membership.column)
        let others = planner.sets.of(membership.key)
        let me: SourceSet = 1 << SourceSet(source)
        let isHolder = membership.column.node == source && others & me == 0 && others != 0
        guard isHolder || (membership.owner == source && membership.column.node != source) else { return false }
        equations.append(
            JoinEquation(
                condition: condition, inner: isHolder ? column : membership.key,
                outer: isHolder ? membership.key : column, isRounded: membership.owner == nil))
        let values = membership.owner.map { planner.sources[$0].size } ?? JoinEstimate.typicalRows
        terms.append(
            TermNumbers(
                needs: isHolder ? others : 1 << SourceSet(membership.column.node),
                share: min(1, membership.perRow / max(1, values)), isHashed: false))
        members.append((equations.count - 1, isHolder ? membership : nil))
        return true
    }

    /// Returns whether the comparison rounds: only comparisons of whole columns, and of values that are not numbers,
    /// are exact.
    private static func isRounded(_ left: BoundExpr, _ right: BoundExpr) -> Bool {
        let kinds = (Binder.kind(left), Binder.kind(right))
        guard kinds.0.isNumber || kinds.1.isNumber else { return false }
        if case .column = left, case .column = right, kinds == (.whole, .whole) { return false }
        return true
    }

    private mutating func addLookups(_ source: Int, _ numbers: TableNumbers, _ planner: JoinPlanner) {
        let mine = numbers.equations
        if mine.isEmpty && numbers.limits.isEmpty { return }
        for (equation, membership) in members where mine.contains(equation) {
            let accessPath: KeyLookup.AccessPath =
                membership.map {
                    .holders(
                        JoinStep.Holders(index: $0.index, isRowID: $0.isRowID, type: $0.type), equation: equation)
                } ?? .held(equation: equation)
            lookups.append(KeyLookup(accessPath: accessPath))
        }
        let table = planner.sources[source].table
        let ordinals: [Int?] = table.isRowID ? [nil] : table.keySlots.map { Int($0.ordinal) }
        let keys = ordinals.map { LookupPart(equations: chosen(mine, source, $0, noCase: false)) }
        if keys.allSatisfy({ !$0.equations.isEmpty }) {
            lookups.append(KeyLookup(accessPath: .key, isUnique: true, parts: add(keys)))
        }
        addRange(
            table.isRowID ? .rowID : .key, after: Array(keys.prefix { !$0.equations.isEmpty }), numbers.limits, table)
        let constants = planner.constants(source)
        // A partial index may lack rows that match an equation alone, and a spatial index cannot search by equality.
        for index in table.indexes where index.isPlain {
            var found: [LookupPart] = []
            for place in index.parts.indices {
                let column = index.parts[place]
                let (ordinal, noCase) = (Int(column.slot.ordinal), column.noCase)
                let isConstant = constants[Constraint.Term(ordinal: ordinal, noCase: noCase)] != nil
                let alike = place == 0 ? 0 : planner.alike(index, source, prefix: place + 1)
                let part = LookupPart(
                    equations: chosen(mine, source, ordinal, noCase: noCase), isConstant: isConstant, alike: alike)
                if part.equations.isEmpty && !isConstant { break }
                found.append(part)
            }
            if found.contains(where: { !$0.equations.isEmpty }) {
                let isUnique = index.isUnique && found.count == index.parts.count
                lookups.append(KeyLookup(accessPath: .index(index), isUnique: isUnique, parts: add(found)))
            }
            addRange(.index(index), after: found, numbers.limits, table)
        }
    }

    /// Adds a lookup by the range of the column after these, if there are limits of it.
    private mutating func addRange(
        _ target: JoinRange.Target, after found: [LookupPart], _ mine: Range<Int>, _ table: TableHandle
    ) {
        let columns = target.columns(of: table)
        if found.count >= columns.count { return }
        let first = choices.count
        for place in mine where limits[place].term == columns[found.count].term { choices.append(place) }
        if first == choices.count { return }
        lookups.append(
            KeyLookup(accessPath: .range(target), parts: add(found), limits: first..<choices.count))
    }

    /// Adds the equations that give a column its values; returns their range among the choices.
    private mutating func chosen(_ mine: Range<Int>, _ source: Int, _ ordinal: Int?, noCase: Bool) -> Range<Int> {
        let first = choices.count
        for place in mine
        where terms[place].isHashed && JoinGraph.isColumn(equations[place].inner, source, ordinal, noCase) {
            choices.append(place)
        }
        return first..<choices.count
    }

    private mutating func add(_ found: [LookupPart]) -> Range<Int> {
        let first = parts.count
        parts += found
        return first..<parts.count
    }

    private static func isColumn(_ expr: BoundExpr, _ source: Int, _ ordinal: Int?, _ noCase: Bool) -> Bool {
        switch expr {
        case .column(let column): !noCase && column.node == source && column.ordinal == ordinal
        case .noCase(.column(let column)): noCase && column.node == source && column.ordinal == ordinal
        default: false
        }
    }

    // MARK: - Costs

    /// The join method of a table, and the rows that match each outer row.
    struct JoinCost {
        enum Method {
            /// Build a hash table of the inner rows; without equations, a list of them.
            case hash
            /// Build a hash table of the outer rows, and read the inner rows once.
            case turned
            /// Look up by the key or an index; the index of a lookup in ``JoinGraph/lookups``.
            case lookup(Int)
        }

        var method = Method.hash
        /// The cost for each outer row.
        var each: Double
        /// The fixed cost.
        var once: Double
        /// The rows that match each outer row, whatever the method.
        var fan: Double

        func cost(_ rows: Double) -> Double { once + rows * each }
    }

    /// Returns the cheapest method for an estimated number of outer rows.
    func step(_ source: Int, after placed: SourceSet, rows: Double) -> JoinCost {
        let table = tables[source]
        var fan = table.rows
        // The matches of a hash lookup.
        var met = table.rows
        var isEquated = false
        for place in table.equations where terms[place].needs & ~placed == 0 {
            fan *= terms[place].share
            if terms[place].isHashed { (met, isEquated) = (met * terms[place].share, true) }
        }
        var lookup: (place: Int, each: Double)?
        for place in table.lookups {
            guard let found = matches(lookups[place], table, placed) else { continue }
            // The comparisons of a range are among the filters.
            if lookups[place].limits.isEmpty { fan = min(fan, found) }
            let each =
                switch lookups[place].accessPath {
                case .range(.rowID), .range(.key): CostModel.joinSearch + CostModel.joinRow * found
                case .key: CostModel.joinKey
                case .held: CostModel.joinKey * max(1, found)
                case .index, .range(.index), .holders: CostModel.joinSearch + CostModel.joinEntry * found
                }
            if lookup.map({ each < $0.each }) ?? true { lookup = (place, each) }
        }
        let emitted = CostModel.joinRow * met
        var best = JoinCost(
            each: (isEquated ? CostModel.joinProbe : 0) + emitted, once: table.cost + CostModel.joinKeep * table.rows,
            fan: fan)
        if let lookup, rows * lookup.each < best.cost(rows) {
            best = JoinCost(method: .lookup(lookup.place), each: lookup.each, once: 0, fan: fan)
        }
        guard isEquated, mayTurn, !table.isLeft else { return best }
        let turned = JoinCost(
            method: .turned, each: CostModel.joinKeep + emitted, once: table.cost + CostModel.joinProbe * table.rows,
            fan: fan)
        return turned.cost(rows) < best.cost(rows) ? turned : best
    }

    /// Returns the selectivity of the conditions, other than equations, that can be tested once the table is joined.
    func filterShare(_ source: Int, after placed: SourceSet) -> Double {
        var share = 1.0
        for place in tables[source].filters where filters[place].needs & ~placed == 0 { share *= filters[place].share }
        return share
    }

    /// Returns the number of rows that a lookup finds; `nil` if it needs tables that are not joined yet.
    private func matches(_ lookup: KeyLookup, _ table: TableNumbers, _ placed: SourceSet) -> Double? {
        switch lookup.accessPath {
        case .holders(_, let equation), .held(let equation):
            return terms[equation].needs & ~placed == 0 ? table.size * terms[equation].share : nil
        case .key, .index, .range: break
        }
        var share = 1.0
        var alike = 0.0
        var count = 0
        var isEquated = false
        for place in lookup.parts {
            if let equation = equation(parts[place], placed) {
                share *= terms[equation].share
                isEquated = true
            } else if parts[place].isConstant {
                share *= Selectivity.constantColumn
            } else {
                break
            }
            alike = parts[place].alike
            count += 1
        }
        let isWhole = count == lookup.parts.count
        if case .key = lookup.accessPath { return isWhole ? min(1, table.share) : nil }
        if case .range = lookup.accessPath {
            guard isWhole, let ends = shareInLimits(lookup, placed) else { return nil }
            return max(alike, table.size * share) * ends
        }
        if !isEquated { return nil }
        // Correlated columns have fewer combinations than their product.
        return max(alike, lookup.isUnique && isWhole ? 1 : table.size * share)
    }

    /// Returns the share of rows within the limits; `nil` if all of them need tables that are not joined yet.
    private func shareInLimits(_ lookup: KeyLookup, _ placed: SourceSet) -> Double? {
        var (hasLower, hasUpper) = (false, false)
        for place in lookup.limits where limits[choices[place]].needs & ~placed == 0 {
            if limits[choices[place]].isLower { hasLower = true } else { hasUpper = true }
        }
        if hasLower && hasUpper { return Selectivity.window }
        return hasLower || hasUpper ? Selectivity.comparison : nil
    }

    /// Returns the limits of a range that can be used after some tables.
    func usableLimits(_ lookup: KeyLookup, _ placed: SourceSet) -> [JoinLimit] {
        lookup.limits.map { limits[choices[$0]] }.filter { $0.needs & ~placed == 0 }
    }

    /// Returns the equation by which a column is looked up.
    func equation(_ part: LookupPart, _ placed: SourceSet) -> Int? {
        for place in part.equations where terms[choices[place]].needs & ~placed == 0 { return choices[place] }
        return nil
    }

    /// Returns the equations of a table that a hash join can use after some others.
    func usable(_ source: Int, after placed: SourceSet) -> [JoinEquation] {
        tables[source].equations.filter { terms[$0].isHashed && terms[$0].needs & ~placed == 0 }.map { equations[$0] }
    }
}
