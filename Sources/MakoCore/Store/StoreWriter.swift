import Foundation
import MakoRecords

/// Writes one keyed store in a transaction.
struct StoreWriter {
    private let transaction: Transaction
    private let view: StoreView
    private let name: String

    /// nil when no store exists and the tables are not to be created.
    init?(_ transaction: Transaction, _ name: String, makesTables: Bool) throws(MakoError) {
        if !makesTables && !StoreTables.areThere(in: transaction.schema.catalogue) { return nil }
        try transaction.bind(transaction.schema.missing(from: StoreTables.models))
        guard let view = StoreView(transaction.view, transaction.schema, transaction.database) else { return nil }
        self.transaction = transaction
        self.view = view
        self.name = name
    }

    /// Stores a value as the key's next revision and returns its number.
    ///
    /// - Parameters:
    ///   - tags: the new tags; nil keeps them.
    ///   - keptRevisions: the new number of kept revisions; nil keeps it.
    func set(
        _ content: StoreContent, for key: String, tags: [String]?, keptRevisions: Int?
    ) throws(MakoError) -> Int {
        let kept = try settle(keptRevisions)
        var entry = try view.entry(name, key) ?? StoreEntry(store: name, key: key)
        // Wrapping arithmetic, because numbers from a damaged file must not trap.
        let isNew = entry.id == 0
        entry.revision &+= 1
        let oldest = entry.oldest
        entry.oldest = max(oldest, entry.revision &- kept &+ 1)
        try transaction.saveValue(&entry)
        var revision = StoreRevision(entry: entry.id, number: entry.revision, date: Date(), content: content)
        try transaction.saveValue(&revision, .insert)
        for number in stride(from: oldest, to: entry.oldest, by: 1) {
            try remove(StoreRevision.key(entry.id, number), StoreRevision.entityModel)
        }
        if let tags { try setTags(tags, of: entry, insteadOf: isNew ? [] : try view.tags(of: entry)) }
        return entry.revision
    }

    /// Replaces the tags of a key. False when the key does not exist.
    func setTags(_ tags: [String], for key: String) throws(MakoError) -> Bool {
        guard let entry = try view.entry(name, key) else { return false }
        try setTags(tags, of: entry, insteadOf: try view.tags(of: entry))
        return true
    }

    /// Removes a key with its revisions and tags. False when it does not exist.
    func remove(_ key: String) throws(MakoError) -> Bool {
        guard let entry = try view.entry(name, key) else { return false }
        try remove(entry)
        return true
    }

    func removeAll() throws(MakoError) -> Int {
        let entries = try view.entries(of: name)
        for entry in entries { try remove(entry) }
        return entries.count
    }

    /// Updates the stored number of kept revisions and returns it.
    private func settle(_ requested: Int?) throws(MakoError) -> Int {
        var settings =
            try view.settings(of: name) ?? StoreSettings(name: name, keptRevisions: KeyedStore.usualRevisions)
        let wanted = requested ?? settings.keptRevisions
        if settings.id != 0 && settings.keptRevisions == wanted { return wanted }
        settings.keptRevisions = wanted
        try transaction.saveValue(&settings)
        return wanted
    }

    /// - Parameter stored: the entry's current tags.
    private func setTags(_ tags: [String], of entry: StoreEntry, insteadOf stored: [StoreTag]) throws(MakoError) {
        // Stored values compare strings by their bytes, as the index does.
        var missing = Set(tags.map { StoredValue.text($0) })
        for tag in stored where missing.remove(.text(tag.tag)) == nil {
            try remove(.rowID(tag.id), StoreTag.entityModel)
        }
        for tag in tags where missing.remove(.text(tag)) != nil {
            var tag = StoreTag(store: name, tag: tag, entry: entry.id)
            try transaction.saveValue(&tag)
        }
    }

    private func remove(_ entry: StoreEntry) throws(MakoError) {
        for revision in try view.revisions(of: entry) {
            try remove(StoreRevision.key(entry.id, revision.number), StoreRevision.entityModel)
        }
        try setTags([], of: entry, insteadOf: try view.tags(of: entry))
        try remove(.rowID(entry.id), StoreEntry.entityModel)
    }

    private func remove(_ key: RowKey, _ model: EntityModel) throws(MakoError) {
        try transaction.remove(key, try transaction.binding(model))
    }
}
