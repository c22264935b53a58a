import MakoStorage

/// The condition of a partial index: it holds the rows for which a condition on their own columns is true.
final class IndexCondition: RowCondition, @unchecked Sendable {
    // Unchecked: the lock ensures that one thread at a time uses the spare evaluator.

    /// The conjuncts of the condition.
    let conjuncts: [BoundCondition]
    let columns: ColumnSet
    var testsForNull: Bool { conjuncts.contains { if case .isNull = $0 { true } else { false } } }
    private let program: Program
    private let lock = Lock()
    private var spare: Evaluator?

    private init(_ condition: Condition, _ table: TableHandle) throws(RecordError) {
        // The empty catalogue rules out conditions on other tables.
        var binder = Binder(table, .empty, [], [:])
        let bound = try binder.bind(condition)
        if binder.budget.lookedAtClock != nil {
            throw SourcePosition.none.error("it reads the clock, which goes on")
        }
        if IndexCondition.countsCharacters(condition) {
            throw SourcePosition.none.error("characters(…) is not the same in every version of Unicode")
        }
        guard binder.joins.isEmpty, let columns = OwnColumns(bound) else {
            throw SourcePosition.none.error("it needs more than the columns of the row")
        }
        conjuncts = bound.conjuncts
        self.columns = columns.set
        program = Program(table, bound)
    }

    func holds(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        let evaluator = take()
        defer { giveBack(evaluator) }
        return try evaluator.test(row, key)
    }

    private func take() -> Evaluator {
        lock.lock()
        defer { lock.unlock() }
        if let evaluator = spare {
            spare = nil
            return evaluator
        }
        return Evaluator(program, nil)
    }

    private func giveBack(_ evaluator: Evaluator) {
        lock.lock()
        spare = evaluator
        lock.unlock()
    }

    /// Parses the condition of an index.
    ///
    /// - Throws: `incompatibleSchema`.
    static func parse(_ index: IndexSchema, of table: String) throws(RecordError) -> Condition {
        do throws(RecordError) { return try Condition.parse(index.condition ?? "", values: 0) } catch {
            throw refused(index, table, error)
        }
    }

    /// Returns the conditions of a table's indexes, by their indexes in the list.
    ///
    /// - Parameter bare: the table without indexes.
    /// - Throws: `incompatibleSchema` for a condition with unknown names, or that reads more than the row.
    static func all(_ record: TableRecord, bare: TableHandle) throws(RecordError) -> [Int: IndexCondition] {
        var found: [Int: IndexCondition] = [:]
        for (place, index) in record.indexes.enumerated() where index.schema.condition != nil {
            let parsed = try parse(index.schema, of: record.schema.name)
            do throws(RecordError) {
                found[place] = try followingTree(parsed.isDeep) { () throws(RecordError) in
                    try IndexCondition(parsed, bare)
                }
            } catch {
                if case .storage = error { throw error }
                let further = SourcePosition.none.error("it needs more than the columns of the row")
                throw refused(index.schema, record.schema.name, readsOtherRows(parsed, record.schema) ? further : error)
            }
        }
        return found
    }

    /// Returns whether a condition has a sub-query, or a path to another row.
    private static func readsOtherRows(_ condition: Condition, _ schema: EntitySchema) -> Bool {
        if condition.isDeep { return false }
        var isFurther = false
        _ = try? condition.rewritten(
            { expr in
                switch expr {
                case .column(let path, _):
                    let isOwn = path.count == 2 && Folding.folded(path[0]) == Folding.folded(schema.name)
                    if path.count > 1, !isOwn, schema.column(named: path[0])?.target != nil { isFurther = true }
                case .subquery, .collection: isFurther = true
                default: break
                }
                return nil
            },
            subqueries: { subquery in
                isFurther = true
                return subquery
            })
        return isFurther
    }

    /// Returns whether a condition counts characters, which depends on the system's version of Unicode: the index is
    /// not rebuilt when that changes.
    private static func countsCharacters(_ condition: Condition) -> Bool {
        var counts = false
        _ = try? condition.rewritten { expr in
            if case .function(let name, _, _) = expr, Folding.folded(name) == QueryFunction.characters.rawValue {
                counts = true
            }
            return nil
        }
        return counts
    }

    private static func refused(_ index: IndexSchema, _ table: String, _ error: RecordError) -> RecordError {
        .incompatibleSchema(table: table, reason: "the condition of index \(index.name) cannot be used: \(error)")
    }
}

extension EntitySchema {
    /// Checks that the conditions of its indexes parse.
    ///
    /// - Throws: `incompatibleSchema`.
    func validateConditions() throws(RecordError) {
        for index in indexes where index.condition != nil { _ = try IndexCondition.parse(index, of: name) }
    }
}

extension IndexHandle {
    /// The conjuncts of a partial index's condition; `nil` for an index of all rows.
    var conjuncts: [BoundCondition]? { (condition as? IndexCondition)?.conjuncts }
}

/// The columns of the row itself that a condition reads; `init` fails if it reads anything else.
private struct OwnColumns {
    private(set) var set = ColumnSet()

    init?(_ condition: BoundCondition) {
        var isOwn = true
        condition.forEachPart { part in
            switch part {
            case .column(let column):
                if column.node >= 0 { isOwn = false }
                if let ordinal = column.ordinal { set.insert(ordinal) }
            case .result, .rank, .excerpt, .outer, .subquery, .gathered, .element: isOwn = false
            default: break
            }
        } conditions: { part in
            switch part {
            case .match, .isInQuery, .exists, .anyElement: isOwn = false
            default: break
            }
        }
        if !isOwn { return nil }
    }
}
