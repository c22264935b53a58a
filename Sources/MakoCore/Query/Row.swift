import MakoRecords

/// Stands for one object in a typed condition: `\.age` in `where(\.age > 35)` is a property of `Row<Person>`.
@dynamicMemberLookup
public struct Row<Root: Entity>: Sendable {
    init() {}

    public subscript<V>(dynamicMember keyPath: KeyPath<Root, V>) -> Column<V> {
        Column(path: [.init(Root.self, keyPath)])
    }

    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Root, T?>) -> Related<T> {
        Related(path: [.init(following: keyPath)])
    }

    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Root, ToOne<T>>) -> Related<T> {
        Related(path: [.init(Root.self, keyPath)])
    }
}

/// A to-one relationship in a typed condition: compared with an object or nil, or followed further.
@dynamicMemberLookup
public struct Related<Target: ObjectEntity>: Sendable {
    let path: [PathStep]

    public subscript<V>(dynamicMember keyPath: KeyPath<Target, V>) -> Column<V> {
        Column(path: path + [.init(Target.self, keyPath)])
    }

    public subscript<T: ObjectEntity>(dynamicMember keyPath: KeyPath<Target, T?>) -> Related<T> {
        Related<T>(path: path + [.init(following: keyPath)])
    }
}

/// A property in a typed condition.
public struct Column<V>: Sendable {
    let path: [PathStep]
}

/// One step of a path: the column's name, or why there is none.
struct PathStep: Sendable {
    let name: Result<String, MakoError>
    /// Where the step leads to another object.
    private(set) var reference: Reference?

    /// A step from objects to those that a property of theirs refers to.
    struct Reference: Sendable {
        let owner: EntityModel
        let target: any ObjectEntity.Type
        /// The property's values, read as users read it.
        let values: @Sendable ([any ObjectEntity]) -> [any ObjectEntity]
    }

    init<T: Entity, Target: ObjectEntity>(following keyPath: KeyPath<T, Target?>) {
        self.init(T.self, keyPath)
        // Key paths are immutable, but do not say so.
        nonisolated(unsafe) let path = keyPath
        reference = Reference(owner: T.entityModel, target: Target.self) { owners in
            owners.compactMap { ($0 as? T)?[keyPath: path] }
        }
    }

    init<T: Entity>(_ type: T.Type, _ keyPath: PartialKeyPath<T>) {
        let model = T.entityModel
        if let name = model.keyPaths[keyPath] {
            self.name = .success(name)
        } else {
            self.name = .failure(
                .query(
                    message:
                        "\(keyPath) is not a stored property of \(model.name); conditions take stored properties only"))
        }
    }
}

extension [PathStep] {
    func expr() throws(MakoError) -> Expr {
        var names: [String] = []
        for step in self { names.append(try step.name.get()) }
        return .column(names)
    }
}

extension KeyPath {
    /// The path a key path of a row stands for.
    func path<R: Entity, V>() -> [PathStep] where Root == Row<R>, Value == Column<V> { Row<R>()[keyPath: self].path }
    func path<R: Entity, T: ObjectEntity>() -> [PathStep] where Root == Row<R>, Value == Related<T> {
        Row<R>()[keyPath: self].path
    }
}
