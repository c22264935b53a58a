/// A hash map from row numbers to objects, without retaining the objects.
struct NumberedObjects {
    /// Marks a free slot: no row has this number here.
    static let noObject = Int64.min
    /// The hash seed, random in each process, so that row numbers cannot be chosen to collide.
    private static let spread = UInt64.random(in: .min ... .max) | 1

    private let spread = Self.spread
    // Arrays of equal length, a power of two and at most half full, so that a probe soon reaches a free slot.
    private var ids: [Int64] = []
    private var objects: [KnownObject?] = []
    private var count = 0

    /// The number of slots: twice the capacity.
    var places: Int { ids.count }

    // Mutating, so that it runs in place: a copy would count references.
    mutating func object(_ id: Int64) -> AnyObject? {
        if count == 0 { return nil }
        let place = place(of: id)
        return ids[place] == id ? objects[place]?.object : nil
    }

    /// Adds an object unless there is one already, which is returned.
    mutating func note(_ id: Int64, _ object: AnyObject) -> AnyObject? {
        reserve(1)
        let place = place(of: id)
        if let known = objects[place]?.object { return known }
        if ids[place] != id {
            ids[place] = id
            count += 1
        }
        objects[place]?.forget()
        objects[place] = KnownObject(object)
        return nil
    }

    /// Makes room for more objects at once.
    mutating func reserve(_ more: Int) { if (count + more) * 2 > ids.count { makeRoom(for: more) } }

    /// Releases the memory of all objects, at the end of the map.
    func forgetAll() {
        for object in objects { object?.forget() }
    }

    /// The slot of a number, or the free slot for it.
    private func place(of id: Int64) -> Int {
        let mask = ids.count - 1
        // Eight consecutive numbers lie beside each other, because most rows are loaded in their order: one cache line.
        // The upper bits of a product depend on all bits of the number. A single multiplication would cluster
        // consecutive groups for some seeds.
        let mixed = UInt64(bitPattern: id) >> 3 &* spread
        let group = ((mixed ^ mixed >> 32) &* 0x9E37_79B9_7F4A_7C15) >> 32
        var place = Int(truncatingIfNeeded: group << 3 | UInt64(bitPattern: id) & 7) & mask
        while ids[place] != id && ids[place] != Self.noObject { place = (place + 1) & mask }
        return place
    }

    /// Removes the entries of deinitialized objects, and doubles the slots if the others fill more than a quarter, until
    /// there is room.
    private mutating func makeRoom(for more: Int) {
        var known: [(Int64, KnownObject)] = []
        for (id, object) in zip(ids, objects) {
            guard let object else { continue }
            if object.hasEnded {
                object.forget()
            } else {
                known.append((id, object))
            }
        }
        var places = max(8, known.count * 4 > ids.count ? ids.count * 2 : ids.count)
        while (known.count + more) * 2 > places { places *= 2 }
        ids = Array(repeating: Self.noObject, count: places)
        objects = Array(repeating: nil, count: places)
        for (id, object) in known {
            let place = place(of: id)
            ids[place] = id
            objects[place] = object
        }
        count = known.count
    }
}
