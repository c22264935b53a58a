import MakoRecords

/// Objects grouped by the value of a property, in the order of the first object of each group: the result of
/// `Query.groupBy`.
///
/// Values are equal as in SQL: texts where their UTF-8 bytes are equal, and NaN equals NaN. A `Dictionary` cannot have
/// these keys, because `String` compares by canonical equivalence, and NaN does not equal itself.
///
/// ```swift
/// let byCountry = try cities.groupBy(\.country)
/// print(byCountry["CH"]?.count ?? 0)
/// for (country, cities) in byCountry { print(country, cities.map(\.name)) }
/// ```
public struct GroupedObjects<Key: Hashable, Object>: Collection {
    /// A value and the objects that have it.
    public typealias Element = (key: Key, value: [Object])

    /// The position of a group.
    public struct Index: Comparable, Hashable, Sendable {
        fileprivate let place: Int
        /// Returns whether a position is before another.
        public static func < (left: Index, right: Index) -> Bool { left.place < right.place }
    }

    /// The identity of a value: as the database compares it where a column can hold it, else as Swift compares it.
    fileprivate enum Identity: Hashable {
        case stored(StoredValue)
        case other(Key)

        init(_ key: Key) {
            self = (key as? any StorableValue).map { .stored($0.stored) } ?? .other(key)
        }
    }

    private var groups: [Element] = []
    private var places: [Identity: Int] = [:]

    init(_ objects: some Sequence<Object>, by key: (Object) -> Key) {
        for object in objects {
            let key = key(object)
            let identity = Identity(key)
            if let place = places[identity] {
                groups[place].value.append(object)
            } else {
                places[identity] = groups.count
                groups.append((key, [object]))
            }
        }
    }

    /// The objects with a value; nil if there are none.
    public subscript(key: Key) -> [Object]? { places[Identity(key)].map { groups[$0].value } }

    /// The objects with a value, or the default if there are none.
    public subscript(key: Key, default other: @autoclosure () -> [Object]) -> [Object] { self[key] ?? other() }

    /// The distinct values, in the order of the groups.
    public var keys: [Key] { groups.map(\.key) }
    /// The objects of each group, in the order of the groups.
    public var values: [[Object]] { groups.map(\.value) }

    /// The position of the first group.
    public var startIndex: Index { Index(place: 0) }
    /// The position behind the last group.
    public var endIndex: Index { Index(place: groups.count) }
    /// Returns the position behind another.
    public func index(after index: Index) -> Index { Index(place: index.place + 1) }
    /// The group at a position.
    public subscript(position: Index) -> Element { groups[position.place] }
}

extension GroupedObjects.Identity: Sendable where Key: Sendable {}
extension GroupedObjects: Sendable where Key: Sendable, Object: Sendable {}
