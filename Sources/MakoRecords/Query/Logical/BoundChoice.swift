/// A CASE with names resolved.
package struct BoundChoice: Sendable, Hashable {
    package struct Branch: Sendable, Hashable {
        package let condition: BoundCondition
        package let value: BoundExpr
    }

    /// The operand, computed once for a row; the conditions refer to it as ``BoundExpr/subject(_:_:)``.
    package let subject: BoundExpr?
    package let branches: [Branch]
    package let otherwise: BoundExpr?
    package let kind: ValueKind

    /// Its expressions, except those of the conditions.
    var expressions: [BoundExpr] {
        (subject.map { [$0] } ?? []) + branches.map(\.value) + (otherwise.map { [$0] } ?? [])
    }

    func mapped(
        _ change: (BoundExpr) -> BoundExpr, _ changeCondition: (BoundCondition) -> BoundCondition
    ) -> BoundChoice {
        BoundChoice(
            subject: subject.map(change),
            branches: branches.map { Branch(condition: changeCondition($0.condition), value: change($0.value)) },
            otherwise: otherwise.map(change), kind: kind)
    }
}

extension BoundChoice: CustomStringConvertible {
    package var description: String {
        let parts = branches.map { "WHEN \($0.condition) THEN \($0.value)" }
        return "CASE \(parts.joined(separator: " "))\(otherwise.map { " ELSE \($0)" } ?? "") END"
    }
}
