import Foundation
import MakoRecords

// The tables of all keyed stores of a database. Revisions are separate from entries, so that scanning keys reads no
// values; tags have their own rows, so that an index finds them (decision 20).

enum StoreTables {
    static let models = [
        StoreSettings.entityModel, StoreEntry.entityModel, StoreRevision.entityModel, StoreTag.entityModel,
    ]

    /// Whether any keyed store exists.
    static func areThere(in catalogue: Catalogue) -> Bool {
        models.allSatisfy { catalogue.table(named: $0.table) != nil }
    }
}

/// The settings of one store.
struct StoreSettings: Entity {
    static let entityModel = EntityModel(
        StoreSettings.self, table: "mako_store", id: \StoreSettings.id,
        properties: [
            .column("name", \StoreSettings.name, EntityCoding.codec(String.self), options: [.unique]),
            .column("keptRevisions", \StoreSettings.keptRevisions, EntityCoding.codec(Int.self)),
        ], raisesEvents: false)
    static let uniqueIndex = "name"

    var _$value = ValueState()
    var name: String
    var keptRevisions: Int
    var id: Int64 { _$value.rowID }

    init(name: String, keptRevisions: Int) {
        self.name = name
        self.keptRevisions = keptRevisions
    }

    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        keptRevisions = try EntityCoding.codec(Int.self).read(row, 1)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(String.self).write(name, &writer, 0)
        try EntityCoding.codec(Int.self).write(keptRevisions, &writer, 1)
    }
}

/// One key of a store.
struct StoreEntry: Entity {
    static let entityModel = EntityModel(
        StoreEntry.self, table: "mako_store_entry", id: \StoreEntry.id,
        properties: [
            .column("store", \StoreEntry.store, EntityCoding.codec(String.self)),
            .column("key", \StoreEntry.key, EntityCoding.codec(String.self)),
            .column("revision", \StoreEntry.revision, EntityCoding.codec(Int.self)),
            .column("oldest", \StoreEntry.oldest, EntityCoding.codec(Int.self)),
        ], indexes: [EntityModel.index(StoreEntry.self, [\.store, \.key], isUnique: true)], raisesEvents: false)
    static let uniqueIndex = "store,key"

    var _$value = ValueState()
    var store: String
    var key: String
    /// The newest revision; 0 before the first.
    var revision = 0
    /// The oldest kept revision. All revisions from it to the newest are kept.
    var oldest = 1
    var id: Int64 { _$value.rowID }

    init(store: String, key: String) {
        self.store = store
        self.key = key
    }

    init(row: EntityRow) throws(MakoError) {
        store = try EntityCoding.codec(String.self).read(row, 0)
        key = try EntityCoding.codec(String.self).read(row, 1)
        revision = try EntityCoding.codec(Int.self).read(row, 2)
        oldest = try EntityCoding.codec(Int.self).read(row, 3)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(String.self).write(store, &writer, 0)
        try EntityCoding.codec(String.self).write(key, &writer, 1)
        try EntityCoding.codec(Int.self).write(revision, &writer, 2)
        try EntityCoding.codec(Int.self).write(oldest, &writer, 3)
    }
}

/// A current or earlier value of a key.
struct StoreRevision: Entity {
    static let entityModel = EntityModel(
        StoreRevision.self, table: "mako_store_revision", id: \StoreRevision.id,
        properties: [
            .column("entry", \StoreRevision.entry, EntityCoding.codec(Int64.self)),
            .column("number", \StoreRevision.number, EntityCoding.codec(Int.self)),
            .column("date", \StoreRevision.date, EntityCoding.codec(Date.self)),
            .column("type", \StoreRevision.content.type, EntityCoding.codec(String.self)),
            .column("form", \StoreRevision.content.formName, EntityCoding.codec(String.self)),
            .column("text", \StoreRevision.content.text, EntityCoding.codec(String?.self)),
            .column("blob", \StoreRevision.content.blob, EntityCoding.codec([UInt8]?.self)),
        ], keys: ["entry", "number"], raisesEvents: false)

    var _$value = ValueState()
    let entry: Int64
    let number: Int
    let date: Date
    let content: StoreContent
    var id: CompositeKey { CompositeKey(keyValues()) }

    init(entry: Int64, number: Int, date: Date, content: StoreContent) {
        self.entry = entry
        self.number = number
        self.date = date
        self.content = content
    }

    init(row: EntityRow) throws(MakoError) {
        entry = try EntityCoding.codec(Int64.self).read(row, 0)
        number = try EntityCoding.codec(Int.self).read(row, 1)
        date = try EntityCoding.codec(Date.self).read(row, 2)
        let form = try EntityCoding.codec(StoreContent.StoredForm.self).read(row, 4)
        content = StoreContent(
            type: try EntityCoding.codec(String.self).read(row, 3), form: form,
            text: try EntityCoding.codec(String?.self).read(row, 5),
            blob: try EntityCoding.codec([UInt8]?.self).read(row, 6))
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(Int64.self).write(entry, &writer, 0)
        try EntityCoding.codec(Int.self).write(number, &writer, 1)
        try EntityCoding.codec(Date.self).write(date, &writer, 2)
        try EntityCoding.codec(String.self).write(content.type, &writer, 3)
        try EntityCoding.codec(StoreContent.StoredForm.self).write(content.form, &writer, 4)
        try EntityCoding.codec(String?.self).write(content.text, &writer, 5)
        try EntityCoding.codec([UInt8]?.self).write(content.blob, &writer, 6)
    }

    func keyValues() -> [StoredValue] { [.integer(entry), .integer(Int64(number))] }

    static func key(_ entry: Int64, _ number: Int) -> RowKey {
        RowKey(values: [.integer(entry), .integer(Int64(number))])
    }
}

/// One tag of one key.
struct StoreTag: Entity {
    static let entityModel = EntityModel(
        StoreTag.self, table: "mako_store_tag", id: \StoreTag.id,
        properties: [
            .column("store", \StoreTag.store, EntityCoding.codec(String.self)),
            .column("tag", \StoreTag.tag, EntityCoding.codec(String.self)),
            .column("entry", \StoreTag.entry, EntityCoding.codec(Int64.self), options: [.indexed]),
        ], indexes: [EntityModel.index(StoreTag.self, [\.store, \.tag], isUnique: false)], raisesEvents: false)

    var _$value = ValueState()
    let store: String
    let tag: String
    let entry: Int64
    var id: Int64 { _$value.rowID }

    init(store: String, tag: String, entry: Int64) {
        self.store = store
        self.tag = tag
        self.entry = entry
    }

    init(row: EntityRow) throws(MakoError) {
        store = try EntityCoding.codec(String.self).read(row, 0)
        tag = try EntityCoding.codec(String.self).read(row, 1)
        entry = try EntityCoding.codec(Int64.self).read(row, 2)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(String.self).write(store, &writer, 0)
        try EntityCoding.codec(String.self).write(tag, &writer, 1)
        try EntityCoding.codec(Int64.self).write(entry, &writer, 2)
    }
}
