// Objects that are given to an owner by their reference, until a save of the owner stores them.

extension ObjectEntity {
    /// The objects that wait for a save of this one; nil: none ever did.
    var pendingMembers: PendingMembers? { lockedState { $0.extra?.members } }

    /// Whether a reference that is in memory leads to an object.
    func refers(to owner: any ObjectEntity) -> Bool {
        ObjectLock(self).locked {
            var found = false
            visitReferences { found = found || $1 === owner }
            return found
        }
    }
}

extension EntityCoding {
    /// Records that a reference of an object was set: a save of the referenced object stores it, if that one has a
    /// ``ToMany`` of such objects. The object is not locked.
    public static func noteReference<T: ObjectEntity>(
        to target: T?, of object: some ObjectEntity, property: Int
    ) {
        guard let target, type(of: target).entityModel.hasMany else { return }
        noteMember(object, of: target, property)
    }

    /// Does nothing: the property is no reference to an object of a class.
    @_disfavoredOverload
    public static func noteReference<V>(to value: V, of object: some ObjectEntity, property: Int) {}

    private static func noteMember(_ object: some ObjectEntity, of owner: any ObjectEntity, _ property: Int) {
        let model = type(of: object).entityModel
        guard property < model.columns.count,
            type(of: owner).entityModel.hasMany(of: model, column: model.columns[property].column)
        else { return }
        owner.lockedState { $0.requireMembers() }.add(object)
    }
}
