import MakoStorage

/// A condition with parameters, compiled once and run with different values.
package final class PreparedCondition: Sendable {
    /// The source of the value of a part of the condition.
    fileprivate enum Source {
        case nowhere
        case literal(Value)
        case position(Int)
        case name(String)
    }

    /// The condition with its parameters.
    package let condition: Condition
    package let levels: Int
    /// The sources of the values of a ``QueryFingerprint``, in its order; `nil` if the condition has no shape.
    fileprivate let sources: [Source]?

    /// Prepares a condition.
    package init(_ condition: Condition) {
        self.condition = condition
        levels = condition.levels
        sources = QueryFingerprint(sourcesOf: condition)?.sources?.map { expr in
            switch expr {
            case .literal(let value, _): .literal(value)
            case .parameter(.position(let number), _): .position(number)
            case .parameter(.name(let name), _): .name(name)
            default: .nowhere
            }
        }
    }

    package var isDeep: Bool { isDeepTree(levels) }
}

/// A prepared condition with its values: a selection from one table, without orders.
///
/// Its cached plan is found without a traversal of the condition.
package struct PreparedSelection {
    /// What selections of one shape have in common.
    struct Key: Equatable {
        private let condition: ObjectIdentifier
        private let table: ObjectIdentifier
        private let kinds: UInt64
        private let limit: Int?
        private let offset: Int?

        init(_ condition: PreparedCondition, _ table: TableHandle, kinds: UInt64, _ limit: Int?, _ offset: Int?) {
            self.condition = ObjectIdentifier(condition)
            self.table = ObjectIdentifier(table)
            self.kinds = kinds
            self.limit = limit
            self.offset = offset
        }

        /// A hash of the key, as one byte.
        var mixed: UInt8 {
            var mixed = UInt64(UInt(bitPattern: condition) &>> 4)
            mixed = PreparedSelection.Key.mix(mixed, UInt64(UInt(bitPattern: table) &>> 4))
            mixed = PreparedSelection.Key.mix(mixed, kinds)
            mixed = PreparedSelection.Key.mix(mixed, UInt64(bitPattern: Int64(limit ?? -1)))
            mixed = PreparedSelection.Key.mix(mixed, UInt64(bitPattern: Int64(offset ?? -1)))
            return UInt8(mixed &>> 56)
        }

        private static func mix(_ mixed: UInt64, _ part: UInt64) -> UInt64 {
            (mixed ^ part) &* 0x9e37_79b9_7f4a_7c15
        }
    }

    let condition: PreparedCondition
    private let key: Key
    private let values: [Value?]

    /// Makes a selection; `nil` if its plan cannot be cached.
    package init?(
        _ condition: PreparedCondition, _ parameters: [Value], _ names: [String: Value], of table: TableHandle,
        limit: Int?, offset: Int?
    ) {
        guard let sources = condition.sources, sources.count <= 16 else { return nil }
        var kinds: UInt64 = 0
        var values: [Value?] = []
        values.reserveCapacity(sources.count)
        for source in sources {
            let value: Value?
            switch source {
            case .nowhere:
                values.append(nil)
                continue
            case .literal(let literal): value = literal
            case .position(let number): value = parameters.indices.contains(number) ? parameters[number] : nil
            case .name(let name): value = names[name]
            }
            guard let value, let kind = QueryFingerprint.kind(value) else { return nil }
            kinds = kinds &<< 4 | UInt64(kind)
            values.append(value)
        }
        self.condition = condition
        self.values = values
        key = Key(condition, table, kinds: kinds, limit, offset)
    }

    /// Returns the cached plan; `nil` if the caller must plan the selection, and then call ``keep(_:_:)``.
    package func plan(_ catalogue: Catalogue, in view: Snapshot) throws(RecordError) -> Plan? {
        try catalogue.plans[prepared: key]?.plan(values, [], [:], catalogue, view)
    }

    /// Caches the template of a plan, if the planner has made one.
    package func keep(_ plan: Plan, _ catalogue: Catalogue) {
        if let kept = plan.kept as? CachedPlan { catalogue.plans.keep(kept, for: key, of: condition) }
    }
}
