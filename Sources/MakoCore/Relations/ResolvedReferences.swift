import MakoRecords

/// The objects that another one refers to while it is being saved, and the keys that its row is to hold.
struct ResolvedReferences {
    /// ``RowKey/noRow`` for an object that has no row and is not to get one now.
    private var held: [(property: Int, object: any ObjectEntity, key: RowKey)] = []
    /// How many of them have their keys.
    private var count = 0
    /// Whether the next of them is being saved, or was.
    var isBegun = false
    /// The properties with an object that has no row.
    var leftOut: UInt64 = 0

    init() {}

    /// Those that an object has in memory.
    init<T: ObjectEntity>(of object: T) {
        ObjectLock(object).locked { object.visitReferences { held.append(($0, $1, .noRow)) } }
    }

    /// The next object without a key.
    var next: (property: Int, object: any ObjectEntity)? {
        count < held.count ? (held[count].property, held[count].object) : nil
    }

    /// Notes the key of the next object.
    mutating func resolve(_ key: RowKey) {
        held[count].key = key
        count += 1
        isBegun = false
    }

    /// Notes the keys in the object, which is locked. False: it refers to other objects by now.
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
