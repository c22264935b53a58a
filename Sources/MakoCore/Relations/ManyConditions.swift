import MakoRecords

extension ToMany: ManyValues {}

extension Column where V: ManyValues {
    /// The number of elements: `where(\.people.count > 3)`, `orderBy(\.people.count)`.
    public var count: Column<Int> { Column<Int>(path: path + [.count]) }
}

extension Column where V: OptionalMany {
    /// The number of elements; 0 for nil.
    public var count: Column<Int> { Column<Int>(path: path + [.count]) }
}

/// An optional property with several values.
public protocol OptionalMany {}

extension Optional: OptionalMany where Wrapped: ManyValues {}

extension Condition {
    /// Returns the condition that at least one of the objects fulfils a condition.
    ///
    /// ```swift
    /// let departments = try Department.query().where(.any(\.people, \.age > 60)).fetch()
    /// ```
    public static func any<T: ObjectEntity>(
        _ many: KeyPath<Row<Root>, Column<ToMany<T>>>, _ condition: Condition<T>
    ) -> Condition { of(.any, many.path(), condition) }

    /// Returns the condition that all of the objects fulfil a condition; true for no objects.
    public static func all<T: ObjectEntity>(
        _ many: KeyPath<Row<Root>, Column<ToMany<T>>>, _ condition: Condition<T>
    ) -> Condition { of(.all, many.path(), condition) }

    /// Returns the condition that none of the objects fulfils a condition.
    public static func none<T: ObjectEntity>(
        _ many: KeyPath<Row<Root>, Column<ToMany<T>>>, _ condition: Condition<T>
    ) -> Condition { of(.none, many.path(), condition) }

    /// Returns the condition that at least one of the objects in a collection fulfils a condition.
    public static func any<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ condition: Condition<C.Element>
    ) -> Condition where C.Element: Entity { of(.any, many.path(), condition) }

    /// Returns the condition that all objects in a collection fulfil a condition; true for an empty collection.
    public static func all<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ condition: Condition<C.Element>
    ) -> Condition where C.Element: Entity { of(.all, many.path(), condition) }

    /// Returns the condition that no object in a collection fulfils a condition.
    public static func none<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ condition: Condition<C.Element>
    ) -> Condition where C.Element: Entity { of(.none, many.path(), condition) }

    /// Returns the condition that a collection contains a value: `.contains(\.tags, "steam")`.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ value: C.Element
    ) -> Condition where C.Element: StorableValue {
        ConditionBuilder.make(many.path()) { (expr) throws(MakoError) in
            .quantified(.any, .comparison(.equal, expr, .literal(value.stored, at: .none)))
        }
    }

    /// Returns the condition that a collection contains the object or struct of a row: `.contains(\.tags, steam)`.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ member: C.Element
    ) -> Condition where C.Element: Entity { containsRow(many.path(), member) }

    /// Returns the condition that an optional collection contains the object or struct of a row.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C?>>, _ member: C.Element
    ) -> Condition where C.Element: Entity { containsRow(many.path(), member) }

    /// Returns the condition that a dictionary contains the object or struct of a row, under any name.
    public static func contains<K, T: Entity>(
        _ many: KeyPath<Row<Root>, Column<[K: T]>>, _ member: T
    ) -> Condition { containsRow(many.path(), member) }

    /// Returns the condition that an object is one of those of a to-many relationship: `.contains(\.people, ada)`.
    public static func contains<T: ObjectEntity>(
        _ many: KeyPath<Row<Root>, Column<ToMany<T>>>, _ member: T
    ) -> Condition { containsRow(many.path(), member) }

    /// Returns the condition that a collection of objects of any class contains an object: `.contains(\.items, ada)`.
    ///
    /// Reads each row; ``Query/referencing(_:)-(ObjectEntity)`` uses the index of the collection.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ object: some ObjectEntity
    ) -> Condition where C.Element == any ObjectEntity { contains(many.path(), object) }

    /// Returns the condition that an optional collection of objects of any class contains an object.
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C?>>, _ object: some ObjectEntity
    ) -> Condition where C.Element == any ObjectEntity { contains(many.path(), object) }

    /// Returns the condition that a dictionary of objects of any class contains an object, under any name.
    public static func contains<K>(
        _ many: KeyPath<Row<Root>, Column<[K: any ObjectEntity]>>, _ object: some ObjectEntity
    ) -> Condition { contains(many.path(), object) }

    static func contains(_ path: [PathStep], _ object: some ObjectEntity) -> Condition {
        let reference = EntityCoding.AnyReferenceCodec.stored(object)
        // No row refers to an object without a row.
        if reference.isNull { return Condition(.constant(false)) }
        return ConditionBuilder.make(path) { (expr) throws(MakoError) in
            .quantified(.any, .comparison(.equal, expr, .literal(reference, at: .none)))
        }
    }

    private static func containsRow<T: Entity>(_ path: [PathStep], _ member: T) -> Condition {
        let object = member as? any ObjectEntity
        if let object, path.last?.source?.property?.holdsAnyKeys == true { return contains(path, object) }
        let key = if let object { object.storedKey } else { member.storedValueKey }
        return of(.any, path, Condition<T>.row(of: member, key))
    }

    /// The condition that a row is that of an object or struct.
    private static func row(of member: Root, _ key: RowKey?) -> Condition {
        let model = type(of: member).entityModel
        // No collection refers to what has no row.
        guard let key, Root.entityModel.hasTable(of: model) else { return Condition(.constant(false)) }
        do throws(MakoError) {
            let schema = try model.schema()
            let values = try records { () throws(RecordError) in try key.values(in: schema) }
            return Condition(
                .and(
                    zip(model.keyColumns, values).map { .comparison(.equal, .column([$0]), .literal($1, at: .none)) }))
        } catch { return Condition(source: .failed(error)) }
    }

    private static func of<T: Entity>(
        _ quantifier: Quantifier, _ path: [PathStep], _ condition: Condition<T>
    ) -> Condition {
        do throws(MakoError) {
            var names: [String] = []
            for step in path { names.append(try step.name.get()) }
            let elements = MakoRecords.Condition.elements(
                quantifier, Expr.ownNames(names), try condition.source.condition())
            return Condition(source: .made(elements, levels: condition.source.levels + 1))
        } catch { return Condition(source: .failed(error)) }
    }
}

extension EntityModel {
    /// The property whose element count the key path leads to: `\.songs.count`.
    func property(countedBy keyPath: AnyKeyPath) -> PropertyModel? {
        properties.first { property in
            property.coding?.countPath.flatMap { property.keyPath.appending(path: $0) } == keyPath
        }
    }

    /// The name of a to-many relationship by its key path.
    func manyName(of keyPath: AnyKeyPath) -> String? {
        properties.first { property in
            if case .many = property.kind { property.keyPath == keyPath } else { false }
        }?.name
    }

    /// The properties of types that columns do not have, by table name.
    static func relations(of models: [EntityModel]) -> [String: TableRelations] {
        var relations: [String: TableRelations] = [:]
        for model in models {
            var mine = relations[model.table] ?? TableRelations()
            for property in model.properties {
                if property.isJSON { mine.lists.insert(property.column) }
                if property.coding?.isDecimal == true { mine.decimals.insert(property.column) }
                for (field, part) in zip(property.fields, property.parts) where part.isDecimal {
                    mine.decimals.insert(field.column)
                }
                guard case .many(let target, _) = property.kind, let inverse = property.inverse else { continue }
                let other = target.entityModel
                // A subclass inherits the property, but the column holds keys of the superclass's table, so nothing
                // refers to its rows.
                guard let column = other.keyPaths[inverse], other.target(ofColumn: column)?.hasTable(of: model) == true
                else { continue }
                mine.inverses[property.name] = TableRelations.Inverse(table: other.table, column: column)
            }
            relations[model.table] = mine
        }
        return relations
    }
}
