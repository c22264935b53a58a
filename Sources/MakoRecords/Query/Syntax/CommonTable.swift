/// A named query (CTE or query in FROM) that other queries read as a table.
///
/// If possible, the outer statement inlines it, see ``SelectStatement/flattened(_:)``; otherwise it runs by itself, see
/// ``DerivedTable``.
struct CommonTable: Sendable, Hashable {
    let name: String
    /// The names of its columns, if they differ from those of the query.
    let columns: [String]?
    let statement: SelectStatement
    let at: SourcePosition
    /// The number of SELECTs that the name expands to.
    var selects = 1

    /// Returns the name with another query.
    func with(_ statement: SelectStatement) -> CommonTable {
        CommonTable(name: name, columns: columns, statement: statement, at: at, selects: selects)
    }
}

extension Parser {
    private static let commonTableLimit = 50

    /// Counts one more SELECT, and those that the names in its FROM clause expand to.
    mutating func count(_ named: [CommonTable], _ at: SourcePosition) throws(RecordError) {
        selects = named.reduce(selects + 1) { $0 + $1.selects }
        if selects > Parser.selectLimit {
            throw at.error("the names of queries stand for more than \(Parser.selectLimit) SELECTs")
        }
    }

    /// Parses `name [(column, …)] AS (SELECT …), …`.
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
            let at = span(start)
            try expectWord("AS")
            guard startsSubquery(index) else { throw unexpected("a SELECT in parentheses") }
            let before = selects
            let statement = try subquery().statement
            if commonTables.suffix(own).contains(where: { Folding.folded($0.name) == Folding.folded(name) }) {
                throw at.error("two queries are called \(name)")
            }
            commonTables.append(
                CommonTable(name: name, columns: columns, statement: statement, at: at, selects: selects - before))
            own += 1
            if commonTables.count > Parser.commonTableLimit {
                throw at.error("at most \(Parser.commonTableLimit) queries can be named")
            }
        } while takeSymbol(",")
    }
}
