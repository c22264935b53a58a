/// A reference that keeps no object. It is followed in place: to copy it takes several times as long.
struct WeakObject {
    private weak var reference: (any ObjectEntity)?

    init(_ object: (any ObjectEntity)? = nil) { reference = object }

    /// The object, as long as somebody else keeps it.
    var object: (any ObjectEntity)? {
        mutating get { reference }
    }
}

/// Objects by the numbers of their rows, none of which it keeps.
struct NumberedObjects {
    /// The number of no row here: a free place.
    static let nobody = Int64.min
    /// Not the same in every process, so that nobody can make up numbers that fall on one place.
    private static let spread = UInt64.random(in: .min ... .max) | 1

    private let spread = Self.spread
    // Of equal length, a power of two, and not half full, so that a search ends soon at a free place.
    private var ids: [Int64] = []
    private var objects: [WeakObject] = []
    private var count = 0

    mutating func object(_ id: Int64) -> (any ObjectEntity)? {
        if count == 0 { return nil }
        let place = place(of: id)
        return ids[place] == id ? objects[place].object : nil
    }

    mutating func set(_ id: Int64, _ object: any ObjectEntity) {
        if (count + 1) * 2 > ids.count { grow() }
        let place = place(of: id)
        if ids[place] != id {
            ids[place] = id
            count += 1
        }
        objects[place] = WeakObject(object)
    }

    /// Where a number stands, or the free place where it would.
    private func place(of id: Int64) -> Int {
        let mask = ids.count - 1
        // Of a product the upper bits depend on all of the number.
        var place = Int(truncatingIfNeeded: (UInt64(bitPattern: id) &* spread) >> 32) & mask
        if sabotaged("numbersMeetInOnePlace") { return place }
        while ids[place] != id && ids[place] != Self.nobody { place = (place + 1) & mask }
        return place
    }

    /// Follows none of the references: whoever does may be the last to let go of the object, whose end must not come in here.
    private mutating func grow() {
        let (oldIDs, oldObjects) = (ids, objects)
        ids = Array(repeating: Self.nobody, count: max(8, oldIDs.count * 2))
        objects = Array(repeating: WeakObject(), count: ids.count)
        for (id, object) in zip(oldIDs, oldObjects) where id != Self.nobody {
            let place = place(of: id)
            ids[place] = id
            objects[place] = object
        }
    }
}
