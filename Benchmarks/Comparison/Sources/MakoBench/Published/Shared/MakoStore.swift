import Mako

extension Database {
    /// A file with the options of the other cases.
    convenience init(directory: String, entities: [any Entity.Type], durability: SyncMode) throws {
        try self.init(
            at: directory + "/data.mako", entities: entities,
            options: DatabaseOptions(durability: durability == .full ? .full : .ordered, cacheBytes: 1 << 30))
    }

    /// Checkpoints the log into the file.
    func settle() throws { try store.checkpoint() }
}
