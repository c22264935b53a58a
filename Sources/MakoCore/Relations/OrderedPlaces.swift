/// The places of keys in a list, for look-ups that mostly come in the order of the list, which needs no hashing.
struct OrderedPlaces<Key: Hashable & Sendable>: Sendable {
    private(set) var keys: [Key] = []
    /// The place after that of the last look-up.
    private var next = 0
    /// The first place of each key, from the first look-up in another order on.
    private var places: [Key: Int]?

    init(_ keys: [Key] = []) { self.keys = keys }

    mutating func append(_ key: Key) {
        if places != nil, places?[key] == nil { places?[key] = keys.count }
        keys.append(key)
    }

    /// Returns a place of a key; nil if the list does not contain it.
    ///
    /// - Complexity: O(1) on average; O(n) for the first look-up in another order.
    mutating func place(of key: Key) -> Int? {
        guard places == nil, next < keys.count, keys[next] == key else { return firstPlace(of: key) }
        next += 1
        return next - 1
    }

    /// Returns the first place of a key, as ``place(of:)`` does from then on.
    @inline(never)
    mutating func firstPlace(of key: Key) -> Int? {
        if places == nil {
            var first: [Key: Int] = [:]
            first.reserveCapacity(keys.count)
            for (place, key) in keys.enumerated() where first[key] == nil { first[key] = place }
            places = first
        }
        return places?[key]
    }
}
