import MakoCore
import MakoStorage
import MakoTestSupport

/// A file with a process that writes it and others that read it: nothing is shared but the disk.
struct ReaderPlace {
    let disk = SimulatedDisk()

    private func open(
        _ entities: [any Entity.Type], readOnly: Bool, _ change: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> Database {
        var storage = StoreOptions()
        storage.fileSystem = disk
        storage.background = .manual
        storage.logSegmentBytes = 256 << 10
        var options = DatabaseOptions(readOnly: readOnly, storage: storage)
        change(&options)
        return try Database(at: "d/world.mako", entities: entities, options: options)
    }

    func writer(_ entities: [any Entity.Type] = [Country.self, City.self]) throws -> Database {
        try open(entities, readOnly: false)
    }

    func reader(_ entities: [any Entity.Type] = [Country.self, City.self]) throws -> Database {
        try open(entities, readOnly: true)
    }

    /// A process that locks the file for each transaction.
    func sharer(
        _ entities: [any Entity.Type] = [Country.self, City.self], readOnly: Bool = false, patience: Duration? = nil,
        history: HistoryOption = .asInFile
    ) throws -> Database {
        try open(entities, readOnly: readOnly) { options in
            options.fileLocking = .perTransaction
            options.writerTimeout = patience
            options.history = history
        }
    }
}

/// The table of countries as later programs have it.
enum LaterReader {
    /// Without the number of people.
    struct Plain: Entity {
        var _$value = ValueState()
        static let entityModel = EntityModel(
            Plain.self, table: "Country",
            properties: [.column("code", \Plain.code, EntityCoding.codec(String.self))], keys: ["code"])

        var code: String
        var id: String { code }

        init(row: EntityRow) throws(MakoError) {
            code = try EntityCoding.codec(String.self).read(row, 0)
            _$value = row.valueState
        }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            if properties & 1 != 0 { try EntityCoding.codec(String.self).write(code, &writer, 0) }
        }
        func keyValues() -> [StoredValue] { [code.stored] }
        mutating func assignMissingKey() { EntityCoding.assignKey(&code) }
    }

    /// With that number as a text.
    struct Worded: Entity {
        var _$value = ValueState()
        static let entityModel = EntityModel(
            Worded.self, table: "Country",
            properties: [
                .column("code", \Worded.code, EntityCoding.codec(String.self)),
                .column("people", \Worded.people, EntityCoding.codec(String.self), default: ""),
            ], keys: ["code"])

        var code: String
        var people: String
        var id: String { code }

        init(row: EntityRow) throws(MakoError) {
            code = try EntityCoding.codec(String.self).read(row, 0)
            people = try EntityCoding.codec(String.self).read(row, 1)
            _$value = row.valueState
        }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            if properties & 1 != 0 { try EntityCoding.codec(String.self).write(code, &writer, 0) }
            if properties & 2 != 0 { try EntityCoding.codec(String.self).write(people, &writer, 1) }
        }
        func keyValues() -> [StoredValue] { [code.stored] }
        mutating func assignMissingKey() { EntityCoding.assignKey(&code) }
    }
}
