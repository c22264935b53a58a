/// Objects by the numbers of their rows, none of which it keeps.
struct NumberedObjects {
    /// The number of no row here: a free place.
    static let nobody = Int64.min
    /// Not the same in every process, so that nobody can make up numbers that fall on one place.
    private static let spread = UInt64.random(in: .min ... .max) | 1

    private let spread = Self.spread
    // Of equal length, a power of two, and not half full, so that a search ends soon at a free place.
    private var ids: [Int64] = []
    private var objects: [KnownObject?] = []
    private var count = 0

    /// How many objects there is room for, twice.
    var places: Int { ids.count }

    // Mutating, so that it is asked in place: a copy counts references.
    mutating func object(_ id: Int64) -> AnyObject? {
        if count == 0 { return nil }
        let place = place(of: id)
        return ids[place] == id ? objects[place]?.object : nil
    }

    mutating func set(_ id: Int64, _ object: AnyObject) {
        if (count + 1) * 2 > ids.count { makeRoom() }
        let place = place(of: id)
        if ids[place] != id {
            ids[place] = id
            count += 1
        }
        objects[place]?.forget()
        objects[place] = KnownObject(object)
    }

    /// At the end: lets go of the objects' memory.
    func forgetAll() {
        for object in objects { object?.forget() }
    }

    /// Where a number stands, or the free place where it would.
    private func place(of id: Int64) -> Int {
        let mask = ids.count - 1
        // Of a product the upper bits depend on all of the number. Of one alone numbers in a row would crowd for some spreads.
        let mixed = UInt64(bitPattern: id) &* spread
        var place = Int(truncatingIfNeeded: ((mixed ^ mixed >> 32) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while ids[place] != id && ids[place] != Self.nobody { place = (place + 1) & mask }
        return place
    }

    /// Forgets the objects that have ended, and takes twice as many places if those of the others are more than a quarter.
    private mutating func makeRoom() {
        var known: [(Int64, KnownObject)] = []
        for (id, object) in zip(ids, objects) {
            guard let object else { continue }
            if object.hasEnded {
                object.forget()
            } else {
                known.append((id, object))
            }
        }
        let places = max(8, known.count * 4 > ids.count ? ids.count * 2 : ids.count)
        ids = Array(repeating: Self.nobody, count: places)
        objects = Array(repeating: nil, count: places)
        for (id, object) in known {
            let place = place(of: id)
            ids[place] = id
            objects[place] = object
        }
        count = known.count
    }
}
