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
            let at = span(start)
            try expectWord("AS")
            guard startsSubquery(index) else { throw unexpected("a SELECT in parentheses") }
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
