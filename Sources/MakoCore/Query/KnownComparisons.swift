import MakoRecords
import MakoStorage

/// A cache of comparisons between stored properties and values, by key path.
///
/// A literal key path is one object, created at its first use, so the cache finds a comparison by the identity of its
/// key path, without a lookup of the property.
final class KnownComparisons: @unchecked Sendable {
    // Unchecked: the lock guards the entries, and key paths are immutable.

    static let shared = KnownComparisons()

    private struct Known {
        let model: EntityModel
        /// Retained, so that no other key path gets its identity.
        let keyPath: AnyKeyPath
        let operation: ComparisonOperator
        let condition: PreparedCondition
    }

    private let lock = Lock()
    /// Entries by eight bits of the hash of their key path; a new entry replaces another at its position.
    @exclusivity(unchecked) private var known: [Known?] = Array(repeating: nil, count: 256)

    /// - Returns: nil for a property that is stored in no column or in several.
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

    /// The comparison of a column of the entity itself with a parameter.
    static func comparison(of column: Expr, _ name: String, _ operation: ComparisonOperator) -> PreparedCondition {
        KnownTexts.comparisons.of(name + " " + operation.rawValue, values: 1) {
            PreparedCondition(.comparison(operation, column, .parameter(.position(0))))
        }
    }
}
