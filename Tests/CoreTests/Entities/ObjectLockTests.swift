import Foundation
import MakoCore
import MakoRecords
import Testing

/// A value that runs code of the test while it is encoded.
private final class Echo: Codable, @unchecked Sendable {
    weak var owner: Speaker?
    var action: (@Sendable () throws -> Void)?

    init(_ owner: Speaker?, _ action: (@Sendable () throws -> Void)? = nil) {
        self.owner = owner
        self.action = action
    }

    required init(from decoder: any Decoder) throws {}

    func encode(to encoder: any Encoder) throws {
        try action?()
        var container = encoder.singleValueContainer()
        try container.encode(owner?.name)
    }
}

/// A value whose stored form depends on an object.
private struct Volume: StorableValue {
    var owner: Speaker?
    static var columnType: ColumnType { .integer }
    var stored: StoredValue { .integer(Int64(owner?.name.count ?? 0)) }
    init(_ owner: Speaker?) { self.owner = owner }
    init?(stored: StoredValue) { self.init(nil as Speaker?) }
}

/// The same for a value of two columns.
private struct Range2: CompositeValue {
    var owner: Speaker?
    var low: Int { owner?.name.count ?? 0 }
    var high: Int { low * 2 }
    static let valueParts = [ValuePart("low", \Range2.low), ValuePart("high", \Range2.high)]
    init(_ owner: Speaker?) { self.owner = owner }
    init(parts: ValueParts<Range2>) throws(MakoError) {}
}

private final class Speaker: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Speaker.self, table: "Speaker", id: \Speaker.id,
        properties: [
            .column("name", \Speaker.name, EntityCoding.codec(String.self), default: ""),
            .column("echo", \Speaker.echo, EntityCoding.codec(Echo?.self)),
            .column("volume", \Speaker.volume, EntityCoding.codec(Volume?.self)),
            .column("range", \Speaker.range, EntityCoding.codec(Range2?.self)),
        ])

    private var _name = ""
    private var _echo: Echo?
    private var _volume: Volume?
    private var _range: Range2?

    private func set<V>(_ field: ReferenceWritableKeyPath<Speaker, V>, _ value: V, _ property: Int) {
        ObjectLock(self).locked {
            _ = EntityCoding.noteWrite(&_$state, of: self, property: property)
            self[keyPath: field] = value
        }
    }

    var name: String {
        get { ObjectLock(self).locked { _name } }
        set { set(\._name, newValue, 0) }
    }
    var echo: Echo? {
        get { ObjectLock(self).locked { _echo } }
        set { set(\._echo, newValue, 1) }
    }
    var volume: Volume? {
        get { ObjectLock(self).locked { _volume } }
        set { set(\._volume, newValue, 2) }
    }
    var range: Range2? {
        get { ObjectLock(self).locked { _range } }
        set { set(\._range, newValue, 3) }
    }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() {}
    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Echo?.self).write(_echo, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(Volume?.self).write(_volume, &writer, 2) }
        if properties & 8 != 0 { try EntityCoding.codec(Range2?.self).write(_range, &writer, 3) }
    }

    func adoptValues(of object: AnyObject) {}
}

@Suite struct ObjectLockTests {
    private final class Box<R>: @unchecked Sendable {
        var result: Result<R, any Error>?
    }

    /// On a thread of its own: one that waits for itself would never give the test back.
    private func within<R: Sendable>(seconds: Double, _ body: @escaping @Sendable () throws -> R) throws -> R {
        let box = Box<R>()
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            box.result = Result { try body() }
            done.signal()
        }
        try #require(done.wait(timeout: .now() + seconds) == .success, "it waits for itself")
        return try #require(box.result).get()
    }

    /// Two objects may share a lock, and a value may refer to its owner: neither is held while a value's own code runs.
    @Test func valuesMayReadObjectsWhileTheyAreEncoded() throws {
        let db = try Database.inMemory(entities: [Speaker.self])
        let rows = try within(seconds: 20) {
            let speaker = Speaker()
            speaker.name = "Ada"
            speaker.echo = Echo(speaker)
            speaker.volume = Volume(speaker)
            speaker.range = Range2(speaker)
            try db.save(speaker)
            speaker.name = "Grace"
            speaker.echo = Echo(speaker)
            speaker.volume = Volume(speaker)
            speaker.range = Range2(speaker)
            try db.save(speaker)
            return try db.rawQuery("SELECT name, echo, volume, range_low, range_high FROM Speaker").rows
        }
        #expect(rows == [[.text("Grace"), .text("\"Grace\""), .integer(5), .integer(5), .integer(10)]])
    }

    @Test func whatAValueSetsMeanwhileIsSavedTheNextTime() throws {
        let db = try Database.inMemory(entities: [Speaker.self])
        let names = try within(seconds: 20) {
            let speaker = Speaker()
            speaker.name = "Ada"
            speaker.echo = Echo(speaker) { [weak speaker] in speaker?.name = "Grace" }
            try db.save(speaker)
            let first = try db.rawQuery("SELECT name FROM Speaker").rows
            let isDirty = speaker.isDirty
            speaker.echo = nil
            try db.save(speaker)
            return [first, try db.rawQuery("SELECT name FROM Speaker").rows, [[.bool(isDirty)]]]
        }
        #expect(names == [[[.text("Ada")]], [[.text("Grace")]], [[.bool(true)]]])
    }

    @Test func aValueThatWritesIsRefused() throws {
        let db = try Database.inMemory(entities: [Speaker.self, City.self])
        let city = City(name: "Rome")
        try db.save(city)
        let attempts: [@Sendable () throws -> Void] = [
            { try db.save(City(name: "Oslo")) },
            { try db.delete(city) },
            { try db.query(City.self).delete() },
            { _ = try db.query(City.self).update().set(\.name, to: "Roma").run() },
        ]
        for attempt in attempts {
            try within(seconds: 20) {
                let speaker = Speaker()
                speaker.echo = Echo(speaker, attempt)
                #expect(throws: MakoError.self) { try db.save(speaker) }
                #expect(speaker.isDirty)
                speaker.echo = nil
                try db.save(speaker)
            }
        }
        #expect(try db.query(City.self).fetch().map(\.name) == ["Rome"])
    }
}
