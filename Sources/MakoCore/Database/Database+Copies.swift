import MakoRecords

extension Database {
    // async: writes
    /// Inserts a copy of an object of another database, with copies of all objects that its references and collections
    /// reach, each once, in one transaction.
    ///
    /// ```swift
    /// let here = try archive.insert(copyOf: order)       // `order` stays where it is
    /// ```
    ///
    /// Copies get new row numbers; other keys stay the same. A reached object whose key is stored already replaces that
    /// row's values. References marked `.weak` are nil in the copies. Encrypted properties are encrypted with this
    /// database's key. Uncommitted changes are copied. An object of this database gets a second row.
    ///
    /// - Returns: the copy.
    /// - Throws: `MakoError.duplicate` when the key of `object` is stored already; `MakoError.vetoed` when a hook
    ///   refused; errors of reading the originals. Nothing is stored then.
    /// - Complexity: linear in the number of reached objects.
    @discardableResult
    public func insert<T: ObjectEntity>(copyOf object: T) throws(MakoError) -> T {
        var copies = ObjectCopies(database: number)
        let copy = try copies.copy(of: object)
        try refused(try insert(copy), copy)
        return copy
    }
}

/// Copies of a graph of objects, cycles included.
private struct ObjectCopies {
    /// The number of the database that gets the copies.
    let database: UInt32
    private var copies: [ObjectIdentifier: any ObjectEntity] = [:]
    /// Copies without values yet, with their originals. A list instead of recursion, because a chain may be long.
    private var waiting: [(original: any ObjectEntity, copy: any ObjectEntity)] = []

    init(database: UInt32) { self.database = database }

    mutating func copy<T: ObjectEntity>(of object: T) throws(MakoError) -> T {
        let copy = try begun(object)
        while let next = waiting.popLast() { try fill(next.copy, from: next.original) }
        return copy
    }

    private mutating func begun<T: ObjectEntity>(_ object: T) throws(MakoError) -> T {
        if let known = copies[ObjectIdentifier(object)] as? T { return known }
        let type = Swift.type(of: object)
        if type.entityModel.isPartial {
            throw .unsupported("a copy of a \(type.entityModel.name), which shows a part of a row only,")
        }
        let copy = type.init()
        copies[ObjectIdentifier(object)] = copy
        waiting.append((object, copy))
        return copy
    }

    /// Copies an original's values, and sets references to the copies of its objects.
    private mutating func fill<T: ObjectEntity>(_ copy: T, from original: any ObjectEntity) throws(MakoError) {
        guard let original = original as? T else { return }
        // A copy in the same database refers to the same structs. Assigned anew, they would be stored again, as they were
        // when they were read.
        let isHere = original.lockedState { $0.database } == database
        let references = T.entityModel.columns.filter { $0.isReference && !(isHere && $0.coding?.holdsValue == true) }
        var held: [[any ObjectEntity]] = []
        for property in references {
            original.lockedState { $0.setLoadError(nil) }
            held.append(property.coding?.objects(property.keyPath, of: original) ?? [])
            // A partly loaded collection would lose its other objects in the copy.
            if let error = original.loadError { throw error }
        }
        // After the references were loaded: the copy has no row from which it could load them.
        ObjectLock(original).locked { copy.adoptValues(of: original) }
        try takeUnread(copy, from: original)
        for (property, held) in zip(references, held) {
            var made: [ObjectIdentifier: any ObjectEntity] = [:]
            if !property.relation.contains(.weak) {
                for object in held { made[ObjectIdentifier(object)] = try begun(object) }
            }
            let isSet = property.coding?.copy(property.keyPath, from: copy, to: copy) { made[ObjectIdentifier($0)] }
            if isSet != true {
                throw .unsupported("a copy of \(T.entityModel.name).\(property.name), which cannot be set,")
            }
        }
    }

    /// Reads the properties that an object loads only on refresh.
    private func takeUnread<T: ObjectEntity>(_ copy: T, from object: T) throws(MakoError) {
        let model = T.entityModel
        let unread = model.columns.filter { $0.options.contains(.loadOnRefresh) && $0.value(of: copy).isNull }
        guard !unread.isEmpty, let database = Database.of(object), let key = object.storedKey else { return }
        guard let row = try database.foundRow(model, key: key, context: nil) else { return }
        let whole = try row.objectWithoutLoadHook(T.self, isRefresh: true)
        for property in unread { _ = property.coding?.copy(property.keyPath, from: whole, to: copy) { $0 } }
    }
}
