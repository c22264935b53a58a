import MakoRecords

/// A map from keys that are no row numbers to objects, without retaining the objects.
struct KeyedObjects {
    private var objects: [RowKey: KnownObject] = [:]
    /// The count at which entries of deinitialized objects are removed.
    private var limit = 16

    var count: Int { objects.count }

    mutating func object(_ key: RowKey) -> AnyObject? { objects[key]?.object }

    /// Adds an object unless there is one already, which is returned.
    mutating func note(_ key: RowKey, _ object: AnyObject) -> AnyObject? {
        if let known = self.object(key) { return known }
        if objects.count >= limit { makeRoom() }
        objects.updateValue(KnownObject(object), forKey: key)?.forget()
        return nil
    }

    /// Releases the memory of all objects, at the end of the map.
    func forgetAll() {
        for object in objects.values { object.forget() }
    }

    /// Removes the entries of deinitialized objects.
    private mutating func makeRoom() {
        objects = objects.filter { entry in
            guard entry.value.hasEnded else { return true }
            entry.value.forget()
            return false
        }
        limit = max(16, objects.count * 2)
    }
}
