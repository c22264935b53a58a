// Date functions: their arguments, and the current time.
extension Binder {
    /// Checks a date argument and its modifiers, where they are literals.
    func checkMoment(_ bound: [BoundExpr], _ sources: [Expr], from first: Int) throws(RecordError) {
        for place in bound.indices.dropFirst(first) {
            guard case .text(let text)? = bound[place].constant else { continue }
            if place > first {
                if ["localtime", "utc"].contains(Folding.folded(text)) {
                    throw sources[place].position.error(
                        "dates are moments and their texts are in UTC; the program that shows them knows the time zone")
                }
                if !Moment.isModifier(text) {
                    throw sources[place].position.error("this is no modifier; \(Moment.hint)")
                }
            } else if Folding.folded(text) != "now", Moment(text) == nil {
                throw sources[place].position.error("this is not a date; \(DateText.hint)")
            }
        }
    }

    /// Substitutes the current time for `now` and for a missing argument: the same time throughout a statement.
    func takeNow(_ bound: inout [BoundExpr], at place: Int) {
        if bound.count == place { return bound.append(.constant(.date(budget.now))) }
        if case .text(let text)? = bound[place].constant, Folding.folded(text) == "now" {
            bound[place] = .constant(.date(budget.now))
        }
    }
}
