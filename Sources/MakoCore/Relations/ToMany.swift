import MakoRecords

/// A to-many relationship: the objects whose reference leads to the owner, read lazily by a query.
///
/// ```swift
/// for person in try department.people.fetch() { … }
/// let old = try department.people.query().where(\.age > 60).orderBy(\.name).fetch()
/// ```
public struct ToMany<Target: ObjectEntity>: @unchecked Sendable {
    // Unchecked: a key path, which is immutable, and a `Sendable` object.
    private let owner: any ObjectEntity
    private let inverse: PartialKeyPath<Target>

    /// Creates the relationship of an owner and the reference that leads to it.
    public init(owner: any ObjectEntity, inverse: PartialKeyPath<Target>) {
        self.owner = owner
        self.inverse = inverse
    }

    /// Returns the query for the objects; it finds none for an owner that is not stored.
    public func query() -> Query<Target> {
        let query = Query<Target>(database: Database.of(owner))
        guard let key = owner.storedKey else { return query.adding(.parsed(.constant(false))) }
        do throws(MakoError) {
            let column = try Target.entityModel.columnName(of: inverse)
            let model = type(of: owner).entityModel
            // A subclass inherits the property, but the column holds keys of the superclass's table, so nothing refers
            // to its rows.
            let refersToAny = Target.entityModel.columns.contains { $0.column == column && $0.refersToAny }
            if !refersToAny && Target.entityModel.target(ofColumn: column)?.hasTable(of: model) != true {
                return query.adding(.parsed(.constant(false)))
            }
            return query.adding(.refers(columns: [column], to: key, of: model))
        } catch {
            return query.adding(.failed(error))
        }
    }

    /// Returns the objects. Reads nothing where a query has prefetched them and no commit followed.
    public func fetch() throws(MakoError) -> Results<Target> {
        if let known = try prefetched() { return Results(known) }
        return try query().fetch()
    }
    /// How many there are, by a query that counts. A property, so that `print(team.members.count)` without `try` does not compile.
    public var count: Int { get throws(MakoError) { try query().count() } }
    /// Returns the query for the objects that fulfil a condition.
    public func `where`(_ condition: Condition<Target>) -> Query<Target> { query().where(condition) }

    /// The prefetched objects, if they are of the latest commit.
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
