import Foundation
import MakoRecords

// Collections in a `#Predicate`: `tags.contains("x")`, `addresses.contains { $0.city == "Kiel" }`,
// `tags.allSatisfy { … }`, `tags.count > 2`.
extension PredicateScope {
    /// The steps to a property with a collection.
    fileprivate mutating func many(_ part: any PredicateExpression, _ word: String) throws(MakoError) -> [PathStep] {
        guard case .path(let steps, _) = try term(part), !steps.isEmpty else {
            throw .predicate("\(word) works on properties that hold many, and captured lists")
        }
        return steps
    }

    /// The test for each value of a captured list; `nil` if no list is captured.
    fileprivate mutating func eachCaptured(
        _ part: any PredicateExpression, _ variable: PredicateExpressions.VariableID, _ test: any PredicateExpression
    ) throws(MakoError) -> [PredicateTest]? {
        guard let values = (part as? any CapturedPredicate)?.captured as? any Sequence else { return nil }
        var tests: [PredicateTest] = []
        for value in values {
            variables[variable] = try .captured(value)
            tests.append(try self.test(test))
        }
        return tests
    }

    /// The condition for each element of a collection.
    fileprivate mutating func each(
        _ steps: [PathStep], _ variable: PredicateExpressions.VariableID, _ test: any PredicateExpression
    ) throws(MakoError) -> MakoRecords.Condition {
        variables[variable] = .path(steps, isOptional: false)
        let condition = try self.test(test).isTrue
        var names: [String] = []
        for step in steps { names.append(try step.name.get()) }
        // The first column of a condition on a collection names the collection.
        guard let first = condition.paths.first, first.drop(while: \.isEmpty).starts(with: names) else {
            throw .predicate("a condition on each of many must begin with a property of them")
        }
        return condition
    }
}

extension PredicateTest {
    /// Whether a value is in the collection of a property.
    static func holds(_ steps: [PathStep], _ element: PredicateTerm) throws(MakoError) -> PredicateTest {
        if element.isOptional { throw .predicate("contains(…) of a value that may be nil") }
        if case .constant(let value) = element, value.isNaN { return .constant(false) }
        return some(.any, .comparison(.equal, try steps.expr(), try element.expr()))
    }

    fileprivate static func some(_ quantifier: Quantifier, _ condition: MakoRecords.Condition) -> PredicateTest {
        let isTrue = MakoRecords.Condition.quantified(quantifier, condition)
        return PredicateTest(isTrue: isTrue, isFalse: .not(isTrue))
    }

    /// Whether the collection of a property is empty.
    static func isEmpty(_ steps: [PathStep]) throws(MakoError) -> PredicateTest {
        let count = try (steps + [.count]).expr()
        let zero = Expr.literal(.integer(0), at: .none)
        return PredicateTest(isTrue: .comparison(.equal, count, zero), isFalse: .comparison(.greater, count, zero))
    }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        if let tests = try scope.eachCaptured(sequence, variable.key, test) {
            return .test(tests.reduce(.constant(false), PredicateTest.or))
        }
        let steps = try scope.many(sequence, "contains(where:)")
        return .test(.some(.any, try scope.each(steps, variable.key, test)))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        if let tests = try scope.eachCaptured(sequence, variable.key, test) {
            return .test(tests.reduce(.constant(true), PredicateTest.and))
        }
        let steps = try scope.many(sequence, "allSatisfy")
        return .test(.some(.all, try scope.each(steps, variable.key, test)))
    }
}
