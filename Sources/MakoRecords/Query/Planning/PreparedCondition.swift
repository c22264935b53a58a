import MakoStorage

/// A condition with places for values, which is asked again and again with others.
public final class PreparedCondition: Sendable {
    /// Where a part of the condition has its value from.
    fileprivate enum Source {
        case nowhere
        case literal(Value)
        case position(Int)
        case name(String)
    }

    public let condition: Condition
    package let levels: Int
    /// Those of the values of a ``SelectionShape``, in their order; nil: the condition has none.
    fileprivate let sources: [Source]?

    public init(_ condition: Condition) {
        self.condition = condition
        levels = condition.levels
        sources = SelectionShape(sourcesOf: condition)?.sources?.map { expr in
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

/// A prepared condition with its values, as all that is asked of a table, in no order.
///
/// Its kept plan is found without looking at what the condition says.
public struct PreparedSelection {
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

        /// A byte that keys seldom share.
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

    /// - Returns: nil: no plan of it is ever kept.
    public init?(
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
            guard let value, let kind = SelectionShape.kind(value) else { return nil }
            kinds = kinds &<< 4 | UInt64(kind)
            values.append(value)
        }
        self.condition = condition
        self.values = values
        key = Key(condition, table, kinds: kinds, limit, offset)
    }

    /// The plan; nil: it is to be planned like any other, and then to be ``keep(_:_:)``.
    public func plan(_ catalogue: Catalogue, in view: Snapshot) throws(RecordError) -> Plan? {
        try catalogue.plans[prepared: key]?.plan(values, [], [:], catalogue, view)
    }

    /// Remembers what a plan was made of, where it was kept.
    public func keep(_ plan: Plan, _ catalogue: Catalogue) {
        if let kept = plan.kept as? KeptPlan { catalogue.plans.keep(kept, for: key, of: condition) }
    }
}
