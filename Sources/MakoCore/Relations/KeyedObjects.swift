import MakoRecords

/// Objects by keys that are no numbers, none of which it keeps.
struct KeyedObjects {
    private var objects: [RowKey: KnownObject] = [:]
    /// With so many it is looked whether some have ended.
    private var limit = 16

    var count: Int { objects.count }

    mutating func object(_ key: RowKey) -> AnyObject? { objects[key]?.object }

    mutating func set(_ key: RowKey, _ object: AnyObject) {
        if objects.count >= limit { makeRoom() }
        objects.updateValue(KnownObject(object), forKey: key)?.forget()
    }

    /// At the end: lets go of the objects' memory.
    func forgetAll() {
        for object in objects.values { object.forget() }
    }

    /// Forgets the objects that have ended.
    private mutating func makeRoom() {
        objects = objects.filter { entry in
            guard entry.value.hasEnded else { return true }
            entry.value.forget()
            return false
        }
        limit = max(16, objects.count * 2)
    }
}
