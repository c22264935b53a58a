import MakoRecords

/// The objects whose reference leads to the owner: a query, lazy, countable, sortable.
///
/// ```swift
/// for person in try department.people.fetch() { … }
/// let old = try department.people.query().where(\.age > 60).orderBy(\.name).fetch()
/// ```
public struct ToMany<Target: ObjectEntity>: @unchecked Sendable {
    // Unchecked: a key path, which is immutable, and a Sendable object.
    private let owner: any ObjectEntity
    private let inverse: PartialKeyPath<Target>

    public init(owner: any ObjectEntity, inverse: PartialKeyPath<Target>) {
        self.owner = owner
        self.inverse = inverse
    }

    /// The query behind it. An unsaved owner has nobody.
    public func query() -> Query<Target> {
        let query = Query<Target>(database: Database.of(owner))
        guard let key = owner.storedKey else { return query.adding(.parsed(.constant(false))) }
        do throws(MakoError) {
            let column = try Target.entityModel.columnName(of: inverse)
            let model = type(of: owner).entityModel
            // A subclass inherits the property; nothing refers to its rows by this column, which holds keys of another table.
            let refersToAny = Target.entityModel.columns.contains { $0.column == column && $0.refersToAny }
            if !refersToAny && Target.entityModel.target(ofColumn: column)?.hasTable(of: model) != true {
                return query.adding(.parsed(.constant(false)))
            }
            return query.adding(.refers(columns: [column], to: key, of: model))
        } catch {
            return query.adding(.failed(error))
        }
    }

    /// All of them. Nothing is read where a query has prefetched them and nothing was committed since.
    public func fetch() throws(MakoError) -> Results<Target> {
        if let known = try prefetched() { return Results(known) }
        return try query().fetch()
    }
    /// How many there are, by a query that counts. A property, so that `print(team.members.count)` without `try` does not compile.
    public var count: Int { get throws(MakoError) { try query().count() } }
    /// Those that fulfil a condition.
    public func `where`(_ condition: Condition<Target>) -> Query<Target> { query().where(condition) }

    /// What a query has loaded, as long as that is the newest state.
    private func prefetched() throws(MakoError) -> [Target]? {
        let model = Target.entityModel
        guard owner.lockedState({ $0.extra?.prefetched }) != nil, let column = model.keyPaths[inverse],
            let many = owner.lockedState({ $0.takePrefetched(for: column, of: model) }),
            let database = Database.of(owner), ThreadScope.current(of: database)?.transaction == nil
        else { return nil }
        let newest = try database.viewing(model) { (view, _, _) throws(MakoError) in view.commitNumber }
        return newest == many.commit ? many.objects as? [Target] : nil
    }
}
