import MakoRecords

/// The keys that the objects which another one refers to were saved under.
struct ResolvedReferences {
    struct Place: Hashable {
        let property: Int
        let object: ObjectIdentifier
    }
    /// ``RowKey/noRow`` for an object that has no row and is not to get one now.
    var keys: [Place: RowKey] = [:]
    /// The properties with such an object.
    var leftOut: UInt64 = 0
    /// Keeps the objects, whose addresses are in `keys`.
    var objects: [any ObjectEntity] = []

    /// Notes the keys in an object, which is locked. False: it refers to an object that has no key here.
    func resolve<T: ObjectEntity>(_ object: T) -> Bool {
        var held: [(property: Int, object: any ObjectEntity)] = []
        object.visitReferences { held.append(($0, $1)) }
        for (property, child) in held {
            guard let key = keys[Place(property: property, object: ObjectIdentifier(child))] else { return false }
            object.resolveReference(property, to: child, key: key)
        }
        return true
    }
}
