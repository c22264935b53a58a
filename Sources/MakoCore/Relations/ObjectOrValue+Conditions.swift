import MakoRecords

extension Condition {
    /// Returns the condition that a collection of objects and values contains an object.
    ///
    /// A text such as `Person:5` among the values counts as the object whose reference it is; see
    /// ``Query/referencing(_:)-(ObjectEntity)``, for which it does not.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ object: some ObjectEntity
    ) -> Condition where C.Element == ObjectOrValue { contains(many.path(), object) }

    /// Returns the condition that an optional collection of objects and values contains an object.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C?>>, _ object: some ObjectEntity
    ) -> Condition where C.Element == ObjectOrValue { contains(many.path(), object) }

    /// Returns the condition that a dictionary of objects and values contains an object, under any name.
    public static func contains<K>(
        _ many: KeyPath<Row<Root>, Column<[K: ObjectOrValue]>>, _ object: some ObjectEntity
    ) -> Condition { contains(many.path(), object) }

    /// Returns the condition that a collection of objects and values contains a value: `.contains(\.items, 5)`. Numbers
    /// are compared by their values, whatever their types; an object is its reference as a text, such as `Person:5`.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ value: some StorableValue
    ) -> Condition where C.Element == ObjectOrValue { contains(many.path(), value) }

    /// Returns the condition that an optional collection of objects and values contains a value.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C?>>, _ value: some StorableValue
    ) -> Condition where C.Element == ObjectOrValue { contains(many.path(), value) }

    /// Returns the condition that a dictionary of objects and values contains a value, under any name.
    public static func contains<K>(
        _ many: KeyPath<Row<Root>, Column<[K: ObjectOrValue]>>, _ value: some StorableValue
    ) -> Condition { contains(many.path(), value) }

    private static func contains(_ path: [PathStep], _ value: some StorableValue) -> Condition {
        ConditionBuilder.make(path) { (expr) throws(MakoError) in
            guard let value = ObjectOrValue(value).value, !value.isNull else {
                return .quantified(.any, .isNull(expr))
            }
            return .quantified(.any, .comparison(.equal, expr, .literal(value, at: .none)))
        }
    }
}

/// The other side of a ``ToMany`` may be an array of objects and values.
extension ReferenceWritableKeyPath: OwnerElements where Root: ObjectEntity, Value == [ObjectOrValue] {
    func change(
        _ member: any ObjectEntity, owner: any ObjectEntity, isAppended: Bool
    ) throws(MakoError) -> Bool? {
        guard let member = member as? Root else { return nil }
        var owners = try member.load(self)
        let place = owners.firstIndex { $0.object?.isSame(as: owner) == true }
        if (place != nil) == isAppended { return false }
        if let place { owners.remove(at: place) } else { owners.append(.object(owner)) }
        member[keyPath: self] = owners
        return true
    }
}
