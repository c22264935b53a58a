import MakoCore
import MakoStorage
import MakoTestSupport

/// A database whose history is looked at, on a disk of its own.
struct HistoryPlace {
    let disk = SimulatedDisk()
    let path = "d/world.mako"

    func open(
        _ history: HistoryOption = .asInFile, _ entities: [any Entity.Type] = [Country.self], readOnly: Bool = false,
        at path: String? = nil
    ) throws -> Database {
        var storage = StoreOptions()
        storage.fileSystem = disk
        storage.background = .manual
        var options = DatabaseOptions(readOnly: readOnly, storage: storage)
        options.history = history
        return try Database(at: path ?? self.path, entities: entities, options: options)
    }
}

extension HistoryEvent {
    /// The event without dates and numbers.
    var text: String {
        guard let batch else { return "missed" }
        return (batch.changes.map(\.description) + batch.rewritten.map { "\($0) anew" }).joined(separator: "; ")
    }
}

extension Database {
    /// The events of the history from a token on.
    func notified(since token: HistoryToken?) throws -> [String] { try history(since: token).map(\.text) }

    /// Sets how many people a country has, in one transaction.
    func set(_ code: String, _ people: Int) throws { _ = try save([Country(code: code, people: people)]) }
}

/// Types that came later.
enum LaterHistory {
    /// The same table with one more property.
    struct LargerCountry: Entity {
        var _$value = ValueState()
        static let entityModel = EntityModel(
            LargerCountry.self, table: "Country",
            properties: [
                .column("code", \LargerCountry.code, EntityCoding.codec(String.self)),
                .column("people", \LargerCountry.people, EntityCoding.codec(Int.self), default: 0),
                .column("area", \LargerCountry.area, EntityCoding.codec(Int.self), default: 7),
            ], keys: ["code"])

        var code: String
        var people: Int
        var area: Int
        var id: String { code }

        init(row: EntityRow) throws(MakoError) {
            code = try EntityCoding.codec(String.self).read(row, 0)
            people = try EntityCoding.codec(Int.self).read(row, 1)
            area = try EntityCoding.codec(Int.self).read(row, 2)
            _$value = row.valueState
        }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            if properties & 1 != 0 { try EntityCoding.codec(String.self).write(code, &writer, 0) }
            if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(people, &writer, 1) }
            if properties & 4 != 0 { try EntityCoding.codec(Int.self).write(area, &writer, 2) }
        }
        func keyValues() -> [StoredValue] { [code.stored] }
        mutating func assignMissingKey() { EntityCoding.assignKey(&code) }
    }

    /// The same table with another key.
    struct CountedCountry: Entity {
        var _$value = ValueState()
        static let entityModel = EntityModel(
            CountedCountry.self, table: "Country",
            properties: [
                .column("code", \CountedCountry.code, EntityCoding.codec(String.self)),
                .column("people", \CountedCountry.people, EntityCoding.codec(Int.self), default: 0),
            ], keys: ["people"])

        var code: String
        var people: Int
        var id: Int { people }

        init(row: EntityRow) throws(MakoError) {
            code = try EntityCoding.codec(String.self).read(row, 0)
            people = try EntityCoding.codec(Int.self).read(row, 1)
            _$value = row.valueState
        }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            if properties & 1 != 0 { try EntityCoding.codec(String.self).write(code, &writer, 0) }
            if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(people, &writer, 1) }
        }
        func keyValues() -> [StoredValue] { [people.stored] }
        mutating func assignMissingKey() {}
    }

    /// The same table under another name.
    struct Nation: Entity, Migratable {
        var _$value = ValueState()
        static let entityModel = EntityModel(
            Nation.self, table: "Nation",
            properties: [
                .column("code", \Nation.code, EntityCoding.codec(String.self)),
                .column("people", \Nation.people, EntityCoding.codec(Int.self), default: 0),
            ], keys: ["code"])

        var code: String
        var people: Int
        var id: String { code }

        init(code: String, people: Int) { (self.code, self.people) = (code, people) }

        static func migrate(_ m: inout Migration) throws {
            if m.version < 1 {
                m.renameTable(from: "Country")
                m.version = 1
            }
        }
        init(row: EntityRow) throws(MakoError) {
            code = try EntityCoding.codec(String.self).read(row, 0)
            people = try EntityCoding.codec(Int.self).read(row, 1)
            _$value = row.valueState
        }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            if properties & 1 != 0 { try EntityCoding.codec(String.self).write(code, &writer, 0) }
            if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(people, &writer, 1) }
        }
        func keyValues() -> [StoredValue] { [code.stored] }
        mutating func assignMissingKey() { EntityCoding.assignKey(&code) }
    }
}
