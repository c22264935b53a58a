import MakoRecords

/// The properties of an entity inside a closure that builds a condition.
///
/// ```swift
/// query.where { $0.age > 35 && $0.name.hasPrefix("A") && [1, 2].contains($0.department.number) }
/// ```
///
/// `$0.age` is the key path `\.age` of the entity, so that every operator on key paths works with both, and both may be mixed.
@dynamicMemberLookup
public struct Columns<Root: Entity>: Sendable {
    init() {}

    /// A stored property.
    public subscript<V>(dynamicMember path: KeyPath<Row<Root>, Column<V>>) -> KeyPath<Row<Root>, Column<V>> { path }

    /// The properties of the object behind a reference.
    public subscript<Target: Entity>(
        dynamicMember path: KeyPath<Row<Root>, Related<Target>>
    ) -> RelatedColumns<Root, Target> {
        RelatedColumns(path: path)
    }
}

/// The properties of a referenced object inside a closure that builds a condition: `$0.department.name`.
@dynamicMemberLookup
public struct RelatedColumns<Root: Entity, Target: Entity> {
    let path: KeyPath<Row<Root>, Related<Target>>

    /// A stored property of the referenced object.
    public subscript<V>(
        dynamicMember member: KeyPath<Related<Target>, Column<V>>
    ) -> KeyPath<Row<Root>, Column<V>> {
        path.appending(path: member)
    }

    /// The properties of the object behind a reference of the referenced object.
    public subscript<Next: Entity>(
        dynamicMember member: KeyPath<Related<Target>, Related<Next>>
    ) -> RelatedColumns<Root, Next> {
        RelatedColumns<Root, Next>(path: path.appending(path: member))
    }

    /// The reference leads to this object; nil: it is nil.
    public static func == (left: Self, right: Target?) -> Condition<Root> where Target: ObjectEntity {
        left.path == right
    }

    /// The reference leads to another object or, where the object is nil, to any.
    public static func != (left: Self, right: Target?) -> Condition<Root> where Target: ObjectEntity {
        left.path != right
    }

    /// The reference leads to the row of this struct; nil: it is nil.
    public static func == (left: Self, right: Target?) -> Condition<Root> where Target._$Kind == EntityKind.Value {
        left.path == right
    }

    /// The reference leads to another row or, where the struct is nil, to any.
    public static func != (left: Self, right: Target?) -> Condition<Root> where Target._$Kind == EntityKind.Value {
        left.path != right
    }
}

extension Query {
    /// Restricts the query to the objects for which a condition on their properties holds.
    ///
    /// ```swift
    /// let people = try Person.query().where { $0.age > 35 && $0.name.hasPrefix("A") }.fetch()
    /// ```
    ///
    /// The closure runs once and builds the condition; it is not called for each object. Errors in the condition are thrown by the
    /// call that runs the query.
    public func `where`(_ condition: (Columns<T>) -> Condition<T>) -> Query { self.where(condition(Columns())) }

    /// Restricts the query to the objects whose boolean property is true: `where { $0.isActive }`.
    public func `where`(_ flag: (Columns<T>) -> KeyPath<Row<T>, Column<Bool>>) -> Query { self.where(flag(Columns())) }
}

// MARK: - Texts

// Cases count, and no character is a wildcard; `~=` is LIKE. Texts are compared by their scalars, as `==` compares them: unlike in Swift,
// é as one scalar and as e with an accent differ.
extension KeyPath {
    /// The text contains another: `$0.name.contains("da")`. Cases count.
    public func contains<R: Entity>(_ part: String) -> Condition<R> where Root == Row<R>, Value == Column<String> {
        ConditionBuilder.text(path(), contains: part, atStart: false)
    }

    /// The text contains another; false where the property is nil.
    public func contains<R: Entity>(_ part: String) -> Condition<R> where Root == Row<R>, Value == Column<String?> {
        ConditionBuilder.text(path(), contains: part, atStart: false)
    }

    /// The text begins with another: `$0.name.hasPrefix("A")`. Cases count. Uses an index of the property.
    public func hasPrefix<R: Entity>(_ prefix: String) -> Condition<R> where Root == Row<R>, Value == Column<String> {
        ConditionBuilder.text(path(), contains: prefix, atStart: true)
    }

    /// The text begins with another; false where the property is nil.
    public func hasPrefix<R: Entity>(_ prefix: String) -> Condition<R> where Root == Row<R>, Value == Column<String?> {
        ConditionBuilder.text(path(), contains: prefix, atStart: true)
    }

    /// The text matches a pattern of LIKE, as `~=` does: `%` matches any text, `_` any character, and cases do not count.
    public func like<R: Entity>(_ pattern: String) -> Condition<R> where Root == Row<R>, Value == Column<String> {
        self ~= pattern
    }

    /// The text matches a pattern of LIKE; false where the property is nil.
    public func like<R: Entity>(_ pattern: String) -> Condition<R> where Root == Row<R>, Value == Column<String?> {
        self ~= pattern
    }

    /// The value is one of a list: `$0.age.in([35, 36])`. The same as `<<`.
    public func `in`<R: Entity, V: StorableValue>(_ values: [V]) -> Condition<R>
    where Root == Row<R>, Value == Column<V> {
        self << values
    }

    /// The value is one of a list; false where the property is nil.
    public func `in`<R: Entity, V: StorableValue>(_ values: [V]) -> Condition<R>
    where Root == Row<R>, Value == Column<V?> {
        self << values
    }
}

// MARK: - Lists and ranges before the property

extension Array where Element: StorableValue {
    /// The property's value is in the list: `where([1, 2].contains(\.id))`. The same as `\.id << [1, 2]`.
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Element>>) -> Condition<R> { column << self }

    /// The property's value is in the list; false where the property is nil.
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Element?>>) -> Condition<R> { column << self }
}

extension RangeExpression where Bound: StorableValue {
    /// The property's value lies in the range: `where((18...65).contains(\.age))`. The same as `\.age << (18...65)`.
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Bound>>) -> Condition<R> { column << self }

    /// The property's value lies in the range; false where the property is nil.
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Bound?>>) -> Condition<R> { column << self }
}

extension ConditionBuilder {
    /// A text contains another one, or begins with it, as Swift compares texts.
    static func text<R: Entity>(_ path: [PathStep], contains part: String, atStart: Bool) -> Condition<R> {
        make(path) { (expr) throws(MakoError) in .text(expr, contains: part, atStart: atStart) }
    }
}

extension MakoRecords.Condition {
    /// A text contains another one, or begins with it: a pattern of GLOB, for which the planner uses an index where the beginning is known.
    static func text(_ text: Expr, contains part: String, atStart: Bool) -> MakoRecords.Condition {
        var pattern = (atStart ? "" : "*").unicodeScalars
        for scalar in part.unicodeScalars {
            if "*?[".unicodeScalars.contains(scalar) {
                pattern.append(contentsOf: ["[", scalar, "]"])
            } else {
                pattern.append(scalar)
            }
        }
        pattern.append("*")
        return .glob(text, .literal(.text(String(pattern)), at: .none))
    }
}
