import MakoRecords
import MakoStorage

/// Comparisons of stored properties with values, by the key paths that programs write.
///
/// A key path that stands in a program is one object, made at its first use: what was compared by it before is found by its identity,
/// without looking up its property.
final class KnownComparisons: @unchecked Sendable {
    // Unchecked: the lock guards what is known, and key paths are immutable.

    static let shared = KnownComparisons()

    private struct Known {
        let model: EntityModel
        /// Held, so that no other gets its identity.
        let keyPath: AnyKeyPath
        let operation: ComparisonOperator
        let condition: PreparedCondition
    }

    private let lock = Lock()
    /// At places that eight bits of their key paths give; a later one takes the place of another.
    @exclusivity(unchecked) private var known: [Known?] = Array(repeating: nil, count: 256)

    /// - Returns: nil: the property is stored in none or several columns.
    func of(_ model: EntityModel, _ keyPath: AnyKeyPath, _ operation: ComparisonOperator) -> PreparedCondition? {
        let mixed = UInt64(UInt(bitPattern: ObjectIdentifier(keyPath))) &>> 4 &* 0x9e37_79b9_7f4a_7c15
        let place = Int(mixed &>> 56)
        if let condition = find(model, keyPath, operation, at: place) { return condition }
        guard let name = model.keyPaths[keyPath], model.composite(named: name) == nil else { return nil }
        let condition = KnownComparisons.comparison(of: .column([name]), name, operation)
        lock.withLock {
            known[place] = Known(model: model, keyPath: keyPath, operation: operation, condition: condition)
        }
        return condition
    }

    private func find(
        _ model: EntityModel, _ keyPath: AnyKeyPath, _ operation: ComparisonOperator, at place: Int
    ) -> PreparedCondition? {
        lock.lock()
        defer { lock.unlock() }
        guard let found = known[place], found.keyPath === keyPath, found.model === model,
            found.operation == operation
        else { return nil }
        return found.condition
    }

    /// The comparison of an entity's own column, which has this name.
    static func comparison(of column: Expr, _ name: String, _ operation: ComparisonOperator) -> PreparedCondition {
        KnownTexts.comparisons.of(name + " " + operation.rawValue, values: 1) {
            PreparedCondition(.comparison(operation, column, .parameter(.position(0))))
        }
    }
}
