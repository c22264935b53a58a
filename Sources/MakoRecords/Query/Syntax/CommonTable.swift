/// A query that has a name, by WITH or in FROM: other queries read it like a table.
///
/// Where that can be done, the statement around it is rewritten to read the tables behind it, see ``SelectStatement/flattened(_:)``; else it is
/// run by itself, see ``DerivedTable``.
struct CommonTable: Sendable, Hashable {
    let name: String
    /// What its columns are called, where that is not what the question calls them.
    let columns: [String]?
    let statement: SelectStatement
    let at: SourcePosition
    /// How many SELECTs stand behind the name.
    var selects = 1

    /// The same name for another query.
    func asking(_ statement: SelectStatement) -> CommonTable {
        CommonTable(name: name, columns: columns, statement: statement, at: at, selects: selects)
    }
}

extension Parser {
    private static let commonTableLimit = 50

    /// Counts one more SELECT and those behind the names in its FROM clause: following the names meets each of them.
    mutating func count(_ named: [CommonTable], _ at: SourcePosition) throws(RecordError) {
        selects = named.reduce(selects + 1) { $0 + $1.selects }
        if selects > Parser.selectLimit {
            throw at.error("the names of queries stand for more than \(Parser.selectLimit) SELECTs")
        }
    }

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
            let at = span(start)
            try expectWord("AS")
            guard startsSubquery(index) else { throw unexpected("a SELECT in parentheses") }
            let before = selects
            let statement = try subquery().statement
            if commonTables.suffix(own).contains(where: { Folding.folded($0.name) == Folding.folded(name) }) {
                throw at.error("two questions are called \(name)")
            }
            commonTables.append(
                CommonTable(name: name, columns: columns, statement: statement, at: at, selects: selects - before))
            own += 1
            if commonTables.count > Parser.commonTableLimit {
                throw at.error("at most \(Parser.commonTableLimit) questions can be named")
            }
        } while takeSymbol(",")
    }
}
