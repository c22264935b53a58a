/// A question that has a name, by WITH or in FROM: other questions ask it like a table.
///
/// It is not run by itself: whoever asks it is rewritten to ask the tables behind it, see ``SelectStatement/flattened(_:)``.
struct CommonTable: Sendable, Hashable {
    let name: String
    /// What its columns are called, where that is not what the question calls them.
    let columns: [String]?
    let statement: SelectStatement
    let at: SourcePosition
}

extension Parser {
    private static let commonTableLimit = 50

    /// `name [(column, …)] AS (SELECT …), …`
    mutating func readCommonTables() throws(RecordError) {
        if isWord("RECURSIVE") { throw position(token).error("there is no WITH RECURSIVE") }
        var own = 0
        repeat {
            let start = token
            guard let name = takeName() else { throw unexpected("a name") }
            var columns: [String]?
            if takeSymbol("(") {
                var names: [String] = []
                repeat {
                    guard let column = takeName() else { throw unexpected("the name of a column") }
                    names.append(column)
                } while takeSymbol(",")
                try expectSymbol(")")
                columns = names
            }
            try expectWord("AS")
            guard startsSubquery(index) else { throw unexpected("a SELECT in parentheses") }
            let at = span(start)
            let statement = try subquery().statement
            if commonTables.suffix(own).contains(where: { Folding.folded($0.name) == Folding.folded(name) }) {
                throw at.error("two questions are called \(name)")
            }
            commonTables.append(CommonTable(name: name, columns: columns, statement: statement, at: at))
            own += 1
            if commonTables.count > Parser.commonTableLimit {
                throw at.error("at most \(Parser.commonTableLimit) questions can be named")
            }
        } while takeSymbol(",")
    }
}

/// A question with a name, as somebody asks it.
private struct AskedQuestion {
    /// Expressions that names stand for may stand for further ones: together they stay as small as a text could make them.
    private static let largest = 1000

    /// What its columns are called by.
    let name: String
    let statement: SelectStatement
    let columns: [(name: String, expr: Expr)]

    init(_ table: CommonTable, as name: String, _ catalogue: Catalogue) throws(RecordError) {
        self.name = name
        var statement = try table.statement.flattened(catalogue)
        var sources = [try AskedQuestion.source(statement.alias, statement.table, statement.tableAt, catalogue)]
        for join in statement.joins {
            sources.append(try AskedQuestion.source(join.alias, join.table, join.at, catalogue))
        }
        let outputs = try SelectNames.outputs(statement, sources, isJoin: !statement.joins.isEmpty)
        if let columns = table.columns, columns.count != outputs.count {
            throw table.at.error("\(table.name) names \(columns.count) columns, and its question has \(outputs.count)")
        }
        // Who asks may leave out results that groups are named by.
        statement = SelectNames(statement, sources).statement
        statement.groupBy = try SelectNames.keys(statement, outputs)
        self.statement = statement
        try AskedQuestion.check(outputs, sources)
        columns = outputs.enumerated().map { place, output in
            (table.columns?[place] ?? AskedQuestion.name(of: output), output.expr)
        }
        for column in columns where column.expr.size > AskedQuestion.largest {
            throw table.at.error("what \(name).\(column.name) stands for is too long")
        }
    }

    static func source(
        _ alias: String?, _ table: String, _ at: SourcePosition, _ catalogue: Catalogue
    ) throws(RecordError) -> JoinScope.Source {
        do {
            return JoinScope.Source(name: alias ?? table, table: try catalogue.requireTable(table))
        } catch {
            guard case .tableNotFound(let name, let nearest) = error else { throw error }
            throw at.error("there is no table \(name)", nearest: nearest)
        }
    }

    /// Nobody else looks at what is not asked for.
    private static func check(
        _ outputs: [SelectStatement.Output], _ sources: [JoinScope.Source]
    ) throws(RecordError) {
        let scope = JoinScope(sources, prefersFirst: true)
        for case .column(let path, let at) in outputs.flatMap(\.expr.columns) where path != ["rank"] {
            _ = try scope.start(path[...], at)
        }
    }

    private static func name(of output: SelectStatement.Output) -> String {
        if !output.isNamed, case .column(let path, _) = output.expr, let last = path.last { return last }
        return output.name
    }

    /// Its orders, those by a column as the numbers of columns: they may be called otherwise by who asks.
    func orders(_ at: SourcePosition) throws(RecordError) -> [Order] {
        var orders = try SelectNames.orders(
            statement, columns.map { SelectStatement.Output(expr: $0.expr, name: $0.name) })
        for index in orders.indices {
            let named = statement.orderBy[index].expr
            if case .column(let path, _) = named, path.count == 1,
                let place = statement.outputs.firstIndex(where: { $0.isNamed && $0.name == path[0] }),
                place < columns.count, !statement.outputs.contains(where: \.isWildcard)
            {
                orders[index].expr = .literal(.integer(Int64(place + 1)), at: at)
            } else if let place = columns.firstIndex(where: { $0.expr == orders[index].expr }) {
                orders[index].expr = .literal(.integer(Int64(place + 1)), at: at)
            }
        }
        return orders
    }

    /// Whether it gives rows of tables as they are.
    var isPlain: Bool {
        !statement.isGrouped && !statement.isDistinct && statement.compounds.isEmpty && statement.limit == nil
            && statement.offset == nil
    }

    /// What its rows are called by where they come from.
    var sourceName: String { statement.alias ?? statement.table }

    func isNamed(_ other: String) -> Bool { Folding.folded(other) == Folding.folded(name) }

    func has(_ column: String) -> Bool { columns.contains { Folding.folded($0.name) == Folding.folded(column) } }

    /// What a path that begins with one of its columns stands for.
    func expr(_ path: ArraySlice<String>, _ at: SourcePosition) throws(RecordError) -> Expr {
        guard let first = path.first else { throw at.error("a name is expected here") }
        var found = columns.filter { $0.name == first }
        if found.isEmpty { found = columns.filter { Folding.folded($0.name) == Folding.folded(first) } }
        guard let column = found.first else {
            throw at.error(
                "\(name) has no column \(first)", nearest: Spelling.nearest(to: first, in: columns.map(\.name)))
        }
        if found.count > 1 { throw at.error("\(name) has two columns \(first); give one of them a name by AS") }
        if path.count == 1 { return column.expr }
        guard case .column(let start, let at) = column.expr else {
            throw at.error("\(name).\(first) is no reference, so that no path goes on there")
        }
        return .column(start + path.dropFirst(), at: at)
    }
}

extension Expr {
    /// How many parts it has.
    fileprivate var size: Int {
        switch self {
        case .column, .literal, .parameter, .collection, .subquery: 1
        case .arithmetic(_, let left, let right, _): 1 + left.size + right.size
        case .negate(let inner), .noCase(let inner): 1 + inner.size
        case .function(_, let arguments, _): arguments.reduce(1) { $0 + $1.size }
        }
    }

    /// The same, with its columns named behind a table.
    fileprivate func qualified(by name: String, insteadOf old: String) throws(RecordError) -> Expr {
        try rewritten { (part) throws(RecordError) in
            switch part {
            case .column(let path, let at):
                let isNamed = path.count > 1 && Folding.folded(path[0]) == Folding.folded(old)
                return .column([name] + (isNamed ? path.dropFirst() : path[...]), at: at)
            case .collection(_, _, _, let at):
                throw at.error("what is worked out of many rows cannot come from a question that is joined")
            case .subquery(let subquery):
                throw subquery.at.error("a sub-query cannot come from a question that is joined")
            default: return nil
            }
        }
    }
}

extension SelectStatement {
    /// The statement with the tables behind questions that have names in the place of these.
    ///
    /// A question for rows as they are is asked by adding its condition, also where it is joined; one that groups by taking further conditions as
    /// HAVING. One that cuts its rows or is put together of several can be asked only whole.
    ///
    /// - Throws: `syntax` pointing into the text where that cannot be done.
    func flattened(_ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        if commonTables.isEmpty { return self }
        var copy = self
        copy.commonTables = []
        if joins.isEmpty {
            guard let table = commonTable(table) else { return copy }
            let asked = try AskedQuestion(table, as: alias ?? self.table, catalogue)
            if asked.isPlain { return try copy.asking(plain: asked, catalogue) }
            return try copy.isWhole ? copy.passing(asked, tableAt) : copy.asking(groups: asked, tableAt)
        }
        return try copy.joining(self, catalogue)
    }

    fileprivate func commonTable(_ name: String) -> CommonTable? {
        commonTables.last { Folding.folded($0.name) == Folding.folded(name) }
    }

    /// Whether all rows and all columns are asked for.
    private var isWhole: Bool {
        !isGrouped && !isDistinct && condition == nil && outputs.allSatisfy(\.isWildcard) && outputs.count <= 1
    }

    /// The columns written out, where they are asked for by `*`.
    private func outputs(of asked: AskedQuestion) throws(RecordError) -> [Output] {
        let all = asked.columns.map { Output(expr: .column([$0.name]), name: $0.name) }
        if outputs.isEmpty { return all }
        var result: [Output] = []
        for output in outputs {
            guard output.isWildcard, case .column(let path, let at) = output.expr else {
                result.append(output)
                continue
            }
            if path.count > 1, !asked.isNamed(path[0]) { throw at.error("there is no table \(path[0])") }
            result += all
        }
        return result
    }

    /// The statement with its names exchanged for what they stand for in a question. Orders may name its own columns.
    private func naming(_ asked: AskedQuestion) throws(RecordError) -> SelectStatement {
        var copy = self
        copy.outputs = try outputs(of: asked)
        let given = copy.outputs.filter(\.isNamed).map(\.name)
        // What the outputs are called is kept.
        for index in copy.outputs.indices { copy.outputs[index].isNamed = true }
        let own = copy.outputs.map(\.name)
        func isOwn(_ expr: Expr) -> Bool {
            guard case .column(let path, _) = expr, path.count == 1 else { return false }
            return own.contains(path[0])
        }
        let orders = copy.orderBy
        copy = try copy.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at):
                    let rest = path.count > 1 && asked.isNamed(path[0]) ? path.dropFirst() : path[...]
                    if rest.count == 1, given.contains(rest[rest.startIndex]), !asked.has(rest[rest.startIndex]) {
                        return expr
                    }
                    return try asked.expr(rest, at)
                case .collection(let path, let function, let rest, let at):
                    guard case .column(let start, _) = try asked.expr(path[...], at) else {
                        throw at.error("\(path.joined(separator: ".")) leads to no rows")
                    }
                    return .collection(start, function, rest, at: at)
                case .subquery(let subquery): return .subquery(try subquery.naming(asked, by: asked.sourceName))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try subquery.naming(asked, by: asked.sourceName) })
        for index in orders.indices {
            if isOwn(orders[index].expr) {
                copy.orderBy[index].expr = orders[index].expr
            } else if isOwn(copy.orderBy[index].expr), !sabotaged("columnTakenForResult") {
                // A column that is called as another result is.
                copy.orderBy[index].expr = try copy.orderBy[index].expr.qualified(
                    by: asked.sourceName, insteadOf: asked.sourceName)
            }
        }
        return copy
    }

    private func asking(plain asked: AskedQuestion, _ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        var copy = try naming(asked)
        let inner = asked.statement
        (copy.table, copy.alias, copy.joins, copy.tableAt) = (inner.table, inner.alias, inner.joins, inner.tableAt)
        copy.condition = SelectStatement.both(inner.condition, copy.condition)
        return copy
    }

    fileprivate static func both(_ first: Condition?, _ second: Condition?) -> Condition? {
        guard let first, let second else { return first ?? second }
        return sabotaged("commonTableForgetsCondition") ? second : .and([first, second])
    }

    /// All that a question gives, in this statement's order and cut as it says.
    private func passing(_ asked: AskedQuestion, _ at: SourcePosition) throws(RecordError) -> SelectStatement {
        var copy = asked.statement
        let isCut = copy.limit != nil || copy.offset != nil
        if isCut && (!orderBy.isEmpty || limit != nil || offset != nil) || !compounds.isEmpty {
            return try asking(groups: asked, at)
        }
        copy.parameterCount = parameterCount
        copy.outputs = asked.columns.map { Output(expr: $0.expr, name: $0.name, isNamed: true) }
        if orderBy.isEmpty {
            if copy.compounds.isEmpty { copy.orderBy = try asked.orders(at) }
        } else {
            copy.orderBy = copy.compounds.isEmpty ? try naming(asked).orderBy : orderBy
        }
        if !isCut { (copy.limit, copy.offset) = (limit, offset) }
        return copy
    }

    /// Some of a question's groups, or something of them.
    private func asking(groups asked: AskedQuestion, _ at: SourcePosition) throws(RecordError) -> SelectStatement {
        let inner = asked.statement
        guard inner.isGrouped, !inner.isDistinct, inner.compounds.isEmpty, inner.limit == nil, inner.offset == nil
        else {
            throw at.error(
                "\(asked.name) cuts its rows or puts them together; it can only be asked whole: SELECT * FROM \(asked.name)"
            )
        }
        if isGrouped { throw at.error("\(asked.name) groups its rows; they cannot be grouped again") }
        let named = try naming(asked)
        var copy = inner
        copy.outputs = named.outputs
        copy.having = SelectStatement.both(inner.having, named.condition)
        copy.isDistinct = isDistinct
        copy.orderBy = named.orderBy
        (copy.limit, copy.offset) = (limit, offset)
        (copy.compounds, copy.parameterCount) = (compounds, parameterCount)
        return copy
    }
}

extension Subquery {
    /// The sub-query with the names of a question around it exchanged for what they stand for.
    ///
    /// - Parameter source: what its table is called there.
    fileprivate func naming(_ asked: AskedQuestion, by source: String) throws(RecordError) -> Subquery {
        let own = [statement.alias ?? statement.table] + statement.joins.map(\.name)
        if own.contains(where: asked.isNamed) { return self }
        var isShadowed = false
        var isUsed = false
        func exchanged(_ subquery: Subquery, _ names: [String]) throws(RecordError) -> Subquery {
            if names.contains(where: { Folding.folded($0) == Folding.folded(source) }) { isShadowed = true }
            return subquery.asking(
                try subquery.statement.rewritten(
                    { (expr) throws(RecordError) in
                        switch expr {
                        case .column(let path, let at) where path.count > 1 && asked.isNamed(path[0]):
                            isUsed = true
                            return try asked.expr(path.dropFirst(), at)
                                .qualified(by: source, insteadOf: asked.sourceName)
                        case .subquery(let inner): return .subquery(try exchanged(inner, inner.names))
                        default: return nil
                        }
                    }, subqueries: { (inner) throws(RecordError) in try exchanged(inner, inner.names) }))
        }
        let result = try exchanged(self, own)
        if isUsed && (isShadowed || !asked.statement.joins.isEmpty || asked.statement.isGrouped) {
            throw at.error(
                "a sub-query cannot name \(asked.name) here; give the tables in it names of their own, or write out what it stands for"
            )
        }
        return isUsed ? result : self
    }

    private var names: [String] { [statement.alias ?? statement.table] + statement.joins.map(\.name) }
}

// MARK: - In a join

/// What stands in the FROM clause of a join.
private struct JoinedQuestions {
    struct Source {
        let name: String
        /// Nil: it is a table.
        let question: AskedQuestion?
        let columns: [String]

        func has(_ column: String) -> Bool { columns.contains { Folding.folded($0) == Folding.folded(column) } }
    }

    let sources: [Source]
    /// What results are called, which orders and groups may name.
    let own: [String]

    private func source(named name: String) -> Source? {
        sources.first { $0.name == name } ?? sources.first { Folding.folded($0.name) == Folding.folded(name) }
    }

    /// What a column stands for, behind the name of its table.
    func expr(_ path: [String], _ at: SourcePosition) throws(RecordError) -> Expr? {
        if path.count > 1, let source = source(named: path[0]) { return try expr(path.dropFirst(), of: source, at) }
        let holders = sources.filter { $0.has(path[0]) }
        if holders.count > 1 {
            let names = holders.map { "\($0.name).\(path[0])" }
            throw at.error(
                "\(path[0]) may be \(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])")
        }
        if let holder = holders.first { return try expr(path[...], of: holder, at) }
        if path.count == 1, own.contains(path[0]) { return nil }
        throw at.error(
            "no table of \(sources.map(\.name).joined(separator: ", ")) has a column \(path[0])",
            nearest: Spelling.nearest(to: path[0], in: sources.flatMap(\.columns)))
    }

    private func expr(_ path: ArraySlice<String>, of source: Source, _ at: SourcePosition) throws(RecordError) -> Expr {
        guard let question = source.question else { return .column([source.name] + path, at: at) }
        return try question.expr(path, at).qualified(by: source.name, insteadOf: question.sourceName)
    }

    func naming(_ subquery: Subquery) throws(RecordError) -> Subquery {
        var named = subquery
        for case let question? in sources.map(\.question) { named = try named.naming(question, by: question.name) }
        return named
    }

    /// The columns of one source, or of all.
    func outputs(of name: String?, _ at: SourcePosition) throws(RecordError) -> [SelectStatement.Output] {
        let wanted = name.map { (name) in source(named: name).map { [$0] } ?? [] } ?? sources
        if let name, wanted.isEmpty {
            throw at.error("there is no table \(name)", nearest: Spelling.nearest(to: name, in: sources.map(\.name)))
        }
        return wanted.flatMap { source in
            source.columns.map { column in
                let isShared = wanted.filter { $0.has(column) }.count > 1
                return SelectStatement.Output(
                    expr: .column([source.name, column]), name: isShared ? "\(source.name).\(column)" : column)
            }
        }
    }
}

extension SelectStatement {
    /// The statement with the tables behind those of its sources that are questions.
    fileprivate func joining(_ named: SelectStatement, _ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        var sources = [try JoinedQuestions.Source(named, table, alias, tableAt, catalogue)]
        for join in joins { sources.append(try .init(named, join.table, join.alias, join.at, catalogue)) }
        var copy = try naming(
            JoinedQuestions(sources: sources, own: outputs.filter(\.isNamed).map(\.name)))
        if let asked = sources[0].question {
            (copy.table, copy.alias) = (asked.statement.table, asked.name)
            copy.condition = SelectStatement.both(try asked.qualifiedCondition, copy.condition)
        }
        for index in joins.indices {
            guard let asked = sources[index + 1].question else { continue }
            (copy.joins[index].table, copy.joins[index].alias) = (asked.statement.table, asked.name)
            copy.joins[index].condition = SelectStatement.both(
                try asked.qualifiedCondition, copy.joins[index].condition)
        }
        return copy
    }

    private func naming(_ questions: JoinedQuestions) throws(RecordError) -> SelectStatement {
        var copy = self
        copy.outputs = outputs.isEmpty ? try questions.outputs(of: nil, tableAt) : []
        for output in outputs {
            if output.isWildcard, case .column(let path, let at) = output.expr {
                copy.outputs += try questions.outputs(of: path.count > 1 ? path[0] : nil, at)
            } else {
                copy.outputs.append(output)
            }
        }
        for index in copy.outputs.indices { copy.outputs[index].isNamed = true }
        let orders = copy.orderBy
        copy = try copy.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at): return try questions.expr(path, at)
                case .collection(_, _, _, let at):
                    throw at.error("what is worked out of many rows cannot be asked beside a question that is joined")
                case .subquery(let subquery): return .subquery(try questions.naming(subquery))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try questions.naming(subquery) })
        for index in orders.indices {
            guard case .column(let path, _) = orders[index].expr, path.count == 1, questions.own.contains(path[0])
            else { continue }
            copy.orderBy[index].expr = orders[index].expr
        }
        return copy
    }
}

extension JoinedQuestions.Source {
    fileprivate init(
        _ statement: SelectStatement, _ table: String, _ alias: String?, _ at: SourcePosition, _ catalogue: Catalogue
    ) throws(RecordError) {
        name = alias ?? table
        guard let common = statement.commonTable(table) else {
            question = nil
            let schema = try AskedQuestion.source(alias, table, at, catalogue).table.schema
            columns = schema.visibleNames.sorted { first, _ in first == schema.idColumn }
            return
        }
        let asked = try AskedQuestion(common, as: alias ?? table, catalogue)
        guard asked.isPlain, asked.statement.joins.isEmpty else {
            throw at.error("\(name) groups, cuts, joins or puts together; it cannot be joined")
        }
        question = asked
        columns = asked.columns.map(\.name)
    }
}

extension AskedQuestion {
    /// Its condition, with its columns behind its name.
    fileprivate var qualifiedCondition: Condition? {
        get throws(RecordError) {
            guard let condition = statement.condition else { return nil }
            return try condition.rewritten(
                { (expr) throws(RecordError) in try expr.qualified(by: name, insteadOf: sourceName) },
                subqueries: { (subquery) throws(RecordError) in
                    throw subquery.at.error("a sub-query cannot come from a question that is joined")
                })
        }
    }
}
