/// One term of an ORDER BY.
package struct Order: Sendable, Hashable {
    /// The expression.
    package var expr: Expr
    /// Whether the order is descending.
    package var descending: Bool
    /// Whether texts are ordered without case.
    package var noCase: Bool
    /// Whether NULLS FIRST or NULLS LAST is written; `nil`: NULL is less than all values.
    package var nullsFirst: Bool?

    /// The opposite order.
    package var reversed: Order {
        var copy = self
        copy.descending.toggle()
        copy.nullsFirst = nullsFirst.map { !$0 }
        return copy
    }

    /// Makes an order by a column or a dotted path.
    package init(_ path: String, descending: Bool = false, noCase: Bool = false) {
        self.init(.path(path), descending: descending, noCase: noCase)
    }

    /// Makes an order by an expression.
    package init(_ expr: Expr, descending: Bool = false, noCase: Bool = false) {
        self.expr = expr
        self.descending = descending
        self.noCase = noCase
    }

    /// Parses `name, department.name DESC, title COLLATE NOCASE`.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> [Order] {
        var parser = try Parser(text)
        let orders = try list(&parser)
        try parser.expectEnd()
        return orders
    }

    static func list(_ parser: inout Parser) throws(RecordError) -> [Order] {
        var orders: [Order] = []
        repeat {
            var expr = try parser.expression()
            var noCase = false
            if case .noCase(let inner) = expr {
                expr = inner
                noCase = true
            }
            let isDescending = parser.takeWord("DESC")
            if !isDescending { _ = parser.takeWord("ASC") }
            var order = Order(expr, descending: isDescending, noCase: noCase)
            if parser.takeWord("NULLS") {
                order.nullsFirst = parser.takeWord("FIRST")
                if order.nullsFirst == false { try parser.expectWord("LAST") }
            }
            orders.append(order)
        } while parser.takeSymbol(",")
        return orders
    }
}
