/// A property with several objects or values: `\.people.count` is their number.
public protocol ManyValues {
    /// The key path of the number of elements; nil for a type without one. Each type has its own, because key paths of
    /// protocol members differ.
    static var _$count: AnyKeyPath? { get }
    /// The key path of whether there is no element; nil for a type without one.
    static var _$isEmpty: AnyKeyPath? { get }
}

extension ManyValues {
    public static var _$count: AnyKeyPath? { nil }
    public static var _$isEmpty: AnyKeyPath? { nil }
}

extension Array: ManyValues {
    public static var _$count: AnyKeyPath? { \Self.count }
}
extension Set: ManyValues {
    public static var _$count: AnyKeyPath? { \Self.count }
}
extension Dictionary: ManyValues {
    public static var _$count: AnyKeyPath? { \Self.count }
}
