import MakoRecords

/// The object in a typed condition: `\.age` in `where(\.age > 35)` is a property of `Row<Person>`.
@dynamicMemberLookup
public struct Row<Root: Entity>: Sendable {
    init() {}

    /// A property of the object.
    public subscript<V>(dynamicMember keyPath: KeyPath<Root, V>) -> Column<V> {
        Column(path: [.init(Root.self, keyPath)])
    }

    /// The relationship of an optional object property.
    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Root, T?>) -> Related<T> {
        Related(path: [.init(following: keyPath)])
    }

    /// The relationship of a `ToOne` property.
    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Root, ToOne<T>>) -> Related<T> {
        Related(path: [.init(Root.self, keyPath)])
    }

    /// The relationship of an optional struct property.
    public subscript<T: Entity>(dynamicMember keyPath: KeyPath<Root, T?>) -> Related<T>
    where T._$Kind == EntityKind.Value {
        Related(path: [.init(Root.self, keyPath)])
    }
}

/// A to-one relationship in a typed condition: it compares with an object or nil, and has the properties of its target.
@dynamicMemberLookup
public struct Related<Target: Entity>: Sendable {
    let path: [PathStep]

    /// A property of the related object.
    public subscript<V>(dynamicMember keyPath: KeyPath<Target, V>) -> Column<V> {
        Column(path: path + [.init(Target.self, keyPath)])
    }

    /// The relationship of an optional object property of the related object.
    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Target, T?>) -> Related<T> {
        Related<T>(path: path + [.init(following: keyPath)])
    }

    /// The relationship of an optional struct property of the related object.
    public subscript<T: Entity>(dynamicMember keyPath: KeyPath<Target, T?>) -> Related<T>
    where T._$Kind == EntityKind.Value {
        Related<T>(path: path + [.init(Target.self, keyPath)])
    }

    /// The relationship of a `ToOne` property of the related object.
    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Target, ToOne<T>>) -> Related<T> {
        Related<T>(path: path + [.init(Target.self, keyPath)])
    }
}

/// A property in a typed condition. Of a composite property, `\.frame.origin.x` is a part.
@dynamicMemberLookup
public struct Column<V>: Sendable {
    let path: [PathStep]

    /// A part of a composite property.
    public subscript<M>(dynamicMember keyPath: KeyPath<V, M>) -> Column<M> where V: CompositeValue {
        Column<M>(path: path.member(keyPath))
    }

    /// A part of an optional composite property; nil where the property is nil.
    public subscript<W: CompositeValue, M>(dynamicMember keyPath: KeyPath<W, M>) -> Column<M?> where V == W? {
        Column<M?>(path: path.member(keyPath))
    }
    /// An optional part of an optional composite property; nil where the property is nil.
    public subscript<W: CompositeValue, M>(dynamicMember keyPath: KeyPath<W, M?>) -> Column<M?> where V == W? {
        Column<M?>(path: path.member(keyPath))
    }

    /// The part with a name.
    func part<M>(_ name: String) -> Column<M> { Column<M>(path: path.part(name)) }
}

/// One step of a path: the name of the column, or the error in its place.
struct PathStep: Sendable {
    let name: Result<String, MakoError>
    /// The property, for a step to a composite property.
    let composite: CompositeStep?
    /// The property and the coordinate between which a distance is computed.
    private(set) var distance: (from: CompositeStep, to: Coordinate)?
    /// The reference, for a step to another object.
    private(set) var reference: Reference?
    /// The property that the step leads to.
    private(set) var source: Source?

    struct Source: Sendable {
        /// The model of the class whose objects are queried.
        var owner: EntityModel
        /// The model of the class for which the key path was written.
        let root: EntityModel
        // Key paths are immutable, but not `Sendable`.
        nonisolated(unsafe) let keyPath: AnyKeyPath

        var property: PropertyModel? { root.properties.first { $0.keyPath == keyPath } }
    }

    /// A step from objects to those that a property of theirs refers to.
    struct Reference: Sendable {
        let owner: EntityModel
        // Key paths are immutable, but not `Sendable`.
        nonisolated(unsafe) let keyPath: AnyKeyPath
        let target: any ObjectEntity.Type
        /// Reads the property of several objects, as user code reads it.
        let values: @Sendable ([any ObjectEntity]) -> [any ObjectEntity]

        /// The property in the model of the class for which the key path was written.
        var property: PropertyModel? { root.columns.first { $0.keyPath == keyPath } }
        let root: EntityModel
    }

    init<T: Entity, Target: ObjectEntity>(following keyPath: KeyPath<T, Target?>) {
        self.init(T.self, keyPath)
        // Key paths are immutable, but not `Sendable`.
        nonisolated(unsafe) let path = keyPath
        reference = Reference(
            owner: T.entityModel, keyPath: keyPath, target: Target.self,
            values: { owners in owners.compactMap { ($0 as? T)?[keyPath: path] } }, root: T.entityModel)
    }

    /// The same step from objects of a subclass.
    func owned(by model: EntityModel) -> PathStep {
        var copy = self
        copy.reference = reference.map {
            Reference(owner: model, keyPath: $0.keyPath, target: $0.target, values: $0.values, root: $0.root)
        }
        copy.source?.owner = model
        return copy
    }

    init<T: Entity>(_ type: T.Type, _ keyPath: PartialKeyPath<T>) {
        let model = T.entityModel
        source = Source(owner: model, root: model, keyPath: keyPath)
        if let name = model.keyPaths[keyPath] ?? model.manyName(of: keyPath) {
            let property = model.composite(named: name)
            composite = property.map { CompositeStep(entity: model.name, property: $0, member: nil) }
            self.name = composite.map { .failure($0.fault) } ?? .success(name)
        } else {
            composite = nil
            self.name = .failure(PathStep.fault(model, keyPath))
        }
    }

    /// The error for a key path without a column. A key path does not reveal its first component, so the message lists
    /// all composite properties.
    private static func fault(_ model: EntityModel, _ keyPath: AnyKeyPath) -> MakoError {
        let parts = model.properties.filter { !$0.parts.isEmpty }.map { property in
            "\(property.name) has \(property.fields.map(\.column).joined(separator: ", "))"
        }
        let hint = parts.isEmpty ? "" : " and the parts of values: " + parts.joined(separator: "; ")
        return .query(
            message: "\(keyPath.text) is not a stored property of \(model.name); conditions take stored properties only"
                + hint)
    }

    fileprivate init(_ composite: CompositeStep) {
        name = .failure(composite.fault)
        self.composite = composite
    }

    /// A step to the distance between a property's coordinate and another one.
    init(distanceFrom composite: CompositeStep, to place: Coordinate) {
        name = .failure(composite.fault)
        self.composite = nil
        distance = (composite, place)
    }

    /// A step that leads to no column.
    init(_ fault: MakoError) {
        name = .failure(fault)
        composite = nil
    }

    /// The number of elements of the collection before it.
    static let count = PathStep(column: "@count")

    fileprivate init(column: String) {
        name = .success(column)
        composite = nil
    }
}

/// A composite property, or a member of its value that is no part, though a member of that may be one.
struct CompositeStep: Sendable {
    let entity: String
    let property: PropertyModel
    // Key paths are immutable, but not `Sendable`.
    nonisolated(unsafe) let member: AnyKeyPath?

    /// The error for a use where one column is required.
    var fault: MakoError {
        let columns = property.fields.map(\.column).joined(separator: ", ")
        if let member {
            return .query(message: "\(member.text) is no part of \(entity).\(property.name), which has \(columns)")
        }
        return .query(
            message: "\(entity).\(property.name) has the columns \(columns); name one of its parts here, as in "
                + "\\.\(property.name).\(property.parts.first?.name ?? "")")
    }

    /// The step to a member of the value.
    fileprivate func step(to keyPath: AnyKeyPath) -> PathStep {
        let path = member.map { $0.appending(path: keyPath) } ?? keyPath
        if let number = property.parts.firstIndex(where: { $0.keyPath == path }) {
            return PathStep(column: property.fields[number].column)
        }
        return PathStep(CompositeStep(entity: entity, property: property, member: path))
    }

    fileprivate func step(toPart name: String) -> PathStep? {
        property.parts.firstIndex { $0.name == name }.map { PathStep(column: property.fields[$0].column) }
    }
}

extension [PathStep] {
    /// The path of a property of the entity itself, or of the element count of one of its collections.
    static func leading<R: Entity>(along keyPath: PartialKeyPath<R>) -> [PathStep] {
        guard R.entityModel.keyPaths[keyPath] == nil,
            let many = R.entityModel.property(countedBy: keyPath)?.keyPath as? PartialKeyPath<R>
        else { return [PathStep(R.self, keyPath)] }
        return [PathStep(R.self, many), .count]
    }

    func expr() throws(MakoError) -> Expr {
        if let distance = last?.distance {
            let place = try Array(dropLast() + [PathStep(distance.from)]).exprs()
            return .function(
                "distance",
                place + [
                    .literal(.double(distance.to.latitude), at: .none),
                    .literal(.double(distance.to.longitude), at: .none),
                ])
        }
        var names: [String] = []
        for step in self { names.append(try step.name.get()) }
        if names.last == "@count" { return .collection(Expr.ownNames([String](names.dropLast())), .count, []) }
        return .ownPath(names)
    }

    /// The columns of the property, in order: several for a composite property.
    func exprs() throws(MakoError) -> [Expr] {
        guard let composite = last?.composite, composite.member == nil else { return [try expr()] }
        var names: [String] = []
        for step in dropLast() { names.append(try step.name.get()) }
        return composite.property.fields.map { .ownPath(names + [$0.column]) }
    }

    /// The path of a member of the property's value.
    func member(_ keyPath: AnyKeyPath) -> [PathStep] {
        dropLast() + [last?.composite?.step(to: keyPath) ?? PathStep(withoutParts)]
    }

    func part(_ name: String) -> [PathStep] {
        dropLast() + [last?.composite?.step(toPart: name) ?? PathStep(withoutParts)]
    }

    /// The error for a property without parts: it is not stored, or stored in one column.
    var withoutParts: MakoError {
        switch last?.name {
        case .failure(let error)?: error
        case .success(let name)?: .query(message: "\(name) is stored in one column; it has no parts to query")
        case nil: .query(message: "an object has no parts")
        }
    }
}

extension KeyPath {
    /// The path of a key path that begins at a row.
    func path<R: Entity, V>() -> [PathStep] where Root == Row<R>, Value == Column<V> { Row<R>()[keyPath: self].path }
    func path<R: Entity, T: Entity>() -> [PathStep] where Root == Row<R>, Value == Related<T> {
        Row<R>()[keyPath: self].path
    }
}
