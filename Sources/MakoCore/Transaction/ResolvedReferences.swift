import MakoRecords

/// The objects that an object refers to while it is being saved, and the keys that its row gets.
struct ResolvedReferences {
    /// ``RowKey/noRow`` for an object without a row that is not saved now.
    private var held: [(property: Int, object: any ObjectEntity, key: RowKey)] = []
    /// The number of objects with a key.
    private var count = 0
    /// Whether saving of the next object has begun.
    var isBegun = false
    /// The properties with an object that has no row.
    var leftOut = PropertySet.none

    init() {}

    /// The objects that an object refers to in memory.
    init<T: ObjectEntity>(of object: T) {
        ObjectLock(object).locked { object.visitReferences { held.append(($0, $1, .noRow)) } }
    }

    /// The properties with objects in memory.
    var properties: [Int] { held.map(\.property) }

    /// The next object without a key.
    var next: (property: Int, object: any ObjectEntity)? {
        count < held.count ? (held[count].property, held[count].object) : nil
    }

    /// Sets the key of the next object.
    mutating func resolve(_ key: RowKey) {
        held[count].key = key
        count += 1
        isBegun = false
    }

    /// Sets the keys in the object, which must be locked. False: its references have changed.
    func resolve<T: ObjectEntity>(_ object: T) -> Bool {
        var (place, isSame) = (0, true)
        object.visitReferences { property, child in
            isSame = isSame && place < held.count && held[place].property == property && held[place].object === child
            place += 1
        }
        guard isSame && place == held.count else { return false }
        for (property, child, key) in held { object.resolveReference(property, to: child, key: key) }
        return true
    }
}
