/// A set of the properties of an entity, by the positions of their columns.
///
/// Sets of the first 64 properties, and the set of all, are one word and no memory: every operation on them tests
/// and changes that word.
@frozen
public struct EntityPropertySet: Sendable, Equatable {
    // Like the digits of a number in two's complement, the words continue without end. `rest` is nil exactly if
    // all words behind the first have the value that the first implies: all ones behind a word of ones, which is
    // the set of all, zeros behind any other. Otherwise its last word is repeated, and differs from the one before.
    @usableFromInline var first: UInt64
    @usableFromInline var rest: [UInt64]?

    @inlinable @inline(__always)
    init(first: UInt64, rest: [UInt64]? = nil) {
        self.first = first
        self.rest = rest
    }

    /// Makes a set from the bits of the first 64 properties; all bits are the set of all properties.
    @inlinable @inline(__always)
    public init(firstWord: UInt64) { self.init(first: firstWord) }

    /// The bits of the first 64 properties.
    @inlinable @inline(__always)
    public var firstWord: UInt64 { first }

    /// The bits of the properties that may be in an object's row: bit 63 is property 63 and all behind it.
    @inlinable @inline(__always)
    public var pendingBits: UInt64 { rest == nil ? first : first | 1 << 63 }

    /// Returns whether the set has a property.
    @inlinable @inline(__always)
    public func contains(_ property: Int) -> Bool {
        property < 64 ? first &>> UInt64(truncatingIfNeeded: property) & 1 != 0 : containsFurther(property)
    }

    @usableFromInline
    func containsFurther(_ property: Int) -> Bool { word(property / 64) >> UInt64(property % 64) & 1 != 0 }

    /// Returns the bits of 64 properties, from the first one whose position is 64 times the number of the word.
    public func word(_ number: Int) -> UInt64 {
        if number == 0 { return first }
        guard let rest else { return end }
        return rest[min(number, rest.count) - 1]
    }
}

typealias PropertySet = EntityPropertySet

extension PropertySet {
    static var none: PropertySet { PropertySet(first: 0) }
    static var all: PropertySet { PropertySet(first: .max) }

    /// The set of one property.
    init(_ property: Int) {
        self = .none
        insert(property)
    }

    /// The set of the properties before a position.
    init(before position: Int) {
        self = .none
        for number in 0...max(0, position) / 64 {
            let count = min(64, position - 64 * number)
            if count > 0 { setWord(number, count == 64 ? .max : 1 << UInt64(count) - 1) }
        }
    }

    var isEmpty: Bool { first == 0 && rest == nil }
    var isAll: Bool { first == .max && rest == nil }

    /// The word that continues without end.
    private var end: UInt64 { rest?.last ?? (first == .max ? .max : 0) }
    /// The number of words before those that continue without end.
    private var width: Int { rest?.count ?? 1 }

    /// Returns whether the set did not have the property.
    @discardableResult @inline(__always)
    mutating func insert(_ property: Int) -> Bool {
        if contains(property) { return false }
        let bits = first | 1 &<< UInt64(truncatingIfNeeded: property)
        if property < 64, bits != .max {
            first = bits
        } else {
            setWord(property / 64, word(property / 64) | 1 << UInt64(property % 64))
        }
        return true
    }

    mutating func remove(_ property: Int) {
        if !contains(property) { return }
        setWord(property / 64, word(property / 64) & ~(1 << UInt64(property % 64)))
    }

    func union(_ other: PropertySet) -> PropertySet {
        if rest == nil, other.rest == nil {
            let both = first | other.first
            if both != .max || first == .max || other.first == .max { return PropertySet(first: both) }
        }
        return combined(with: other, |)
    }

    mutating func formUnion(_ other: PropertySet) { self = union(other) }

    func intersection(_ other: PropertySet) -> PropertySet {
        if rest == nil, other.rest == nil { return PropertySet(first: first & other.first) }
        return combined(with: other, &)
    }

    func subtracting(_ other: PropertySet) -> PropertySet {
        if rest == nil, other.rest == nil, first != .max || other.first == .max || other.first == 0 {
            return PropertySet(first: first & ~other.first)
        }
        return combined(with: other) { $0 & ~$1 }
    }

    func symmetricDifference(_ other: PropertySet) -> PropertySet { combined(with: other, ^) }

    func isDisjoint(with other: PropertySet) -> Bool {
        if first & other.first != 0 { return false }
        return rest == nil && other.rest == nil || intersection(other).isEmpty
    }

    /// Calls a closure with each word of a set that does not continue without end, and the position of its first bit.
    func forEachWord(_ body: (UInt64, Int) -> Void) {
        for number in 0..<width { body(word(number), 64 * number) }
    }

    @inline(never)
    private func combined(with other: PropertySet, _ operation: (UInt64, UInt64) -> UInt64) -> PropertySet {
        let words = (1..<max(width, other.width) + 1).map { operation(word($0), other.word($0)) }
        var result = PropertySet(first: operation(first, other.first), rest: words)
        result.shorten()
        return result
    }

    @inline(never)
    private mutating func setWord(_ number: Int, _ bits: UInt64) {
        if number == 0, rest == nil, first == .max || bits == .max {
            if first == bits { return }
            rest = first == .max ? Self.onesBehind : Self.zerosBehind
        }
        if number == 0 {
            first = bits
        } else {
            var words = rest ?? [end]
            while words.count <= number { words.append(end) }
            words[number - 1] = bits
            rest = words
        }
        if rest != nil { shorten() }
    }

    // Shared, so that such sets take no memory of their own.
    private static let onesBehind: [UInt64] = [.max]
    private static let zerosBehind: [UInt64] = [0]

    /// Restores the invariant of `rest`.
    private mutating func shorten() {
        guard var words = rest, let last = words.last else { return }
        while words.count > 1, words[words.count - 2] == last { words.removeLast() }
        rest = words.count == 1 && last == (first == .max ? .max : 0) ? nil : words
    }
}
