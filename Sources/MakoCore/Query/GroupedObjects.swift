import MakoRecords

/// Objects by the value of a property, groups in the order of their first objects; what `groupBy` of a query answers.
///
/// Groups are those of SQL: texts are one value where their UTF-8 bytes are the same, all NaN are one value. A `Dictionary` cannot hold
/// them, because `String` compares by canonical equivalence, and NaN equals nothing.
///
/// ```swift
/// let byCountry = try cities.groupBy(\.country)
/// print(byCountry["CH"]?.count ?? 0)
/// for (country, cities) in byCountry { print(country, cities.map(\.name)) }
/// ```
public struct GroupedObjects<Key: Hashable, Object>: Collection {
    public typealias Element = (key: Key, value: [Object])

    /// The place of a group.
    public struct Index: Comparable, Hashable, Sendable {
        fileprivate let place: Int
        public static func < (left: Index, right: Index) -> Bool { left.place < right.place }
    }

    /// What tells values apart: as the database compares them, where one column can hold them.
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

    /// The objects with a value; nil where there are none.
    public subscript(key: Key) -> [Object]? { places[Identity(key)].map { groups[$0].value } }

    /// The objects with a value, or what stands for none.
    public subscript(key: Key, default other: @autoclosure () -> [Object]) -> [Object] { self[key] ?? other() }

    /// The values, each once.
    public var keys: [Key] { groups.map(\.key) }
    /// The objects of each value.
    public var values: [[Object]] { groups.map(\.value) }

    public var startIndex: Index { Index(place: 0) }
    public var endIndex: Index { Index(place: groups.count) }
    public func index(after index: Index) -> Index { Index(place: index.place + 1) }
    public subscript(position: Index) -> Element { groups[position.place] }
}

extension GroupedObjects.Identity: Sendable where Key: Sendable {}
extension GroupedObjects: Sendable where Key: Sendable, Object: Sendable {}
