import MakoCore

// Entities with hand-written code instead of `@Entity`: no macro is needed, only more lines.

final class City: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        City.self, table: "City", id: \City.id,
        properties: [
            .column("name", \City.name, EntityCoding.codec(String.self), default: ""),
            .column("twin", \City.twin, EntityCoding.codec(City?.self)),
        ],
        indexes: [EntityModel.index(City.self, [\.name], isUnique: false)])

    private var _name: String
    private var _twin = EntityCoding.codec(City?.self).emptySlot

    var name: String {
        get { ObjectLock(self).locked { _name } }
        set {
            let lock = ObjectLock(self)
            lock.lock()
            let old = _name
            let mark = EntityCoding.noteWrite(&_$state, of: self, property: 0)
            _name = newValue
            lock.unlock()
            if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0._name = old } }
        }
    }

    var twin: City? {
        get {
            let slot = ObjectLock(self).locked { _twin }
            if slot.isSettled { return slot.value }
            let loaded = slot.loaded(by: self, property: 1)
            return ObjectLock(self).locked {
                _twin.settle(loaded, replacing: slot)
                return _twin.value
            }
        }
        set {
            let slot = EntityCoding.codec(City?.self).slot(newValue)
            let lock = ObjectLock(self)
            lock.lock()
            let old = _twin
            let mark = EntityCoding.noteWrite(&_$state, of: self, property: 1)
            _twin = slot
            lock.unlock()
            if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0._twin = old } }
        }
    }

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() { _name = "" }
    init(name: String) { _name = name }

    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
        _twin = try EntityCoding.codec(City?.self).readSlot(row, 1)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(City?.self).writeSlot(_twin, &writer, 1) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? City else { return }
        _name = other._name
        _twin = other._twin
    }

    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _twin.loadedObject { visit(1, object) }
    }

    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 1 { _twin.resolve(object, key: key) }
    }
}

struct Country: Entity, Equatable {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        Country.self, table: "Country", id: \Country.id,
        properties: [
            .column("code", \Country.code, EntityCoding.codec(String.self)),
            .column("people", \Country.people, EntityCoding.codec(Int.self), default: 0),
        ], keys: ["code"])

    var code: String
    var people: Int
    var id: String { code }

    init(code: String, people: Int = 0) {
        self.code = code
        self.people = people
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

/// A struct that takes a reference for a value, which no macro writes.
struct Depot: Entity {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        Depot.self, table: "Depot", id: \Depot.id,
        properties: [
            .column("city", \Depot.city, EntityCoding.codec(City?.self)),
            .column("other", \Depot.other, EntityCoding.codec((any ObjectEntity)?.self)),
        ])

    var city: City?
    var other: (any ObjectEntity)?
    var id: Int? { _$value.id }

    init(city: City? = nil, other: (any ObjectEntity)? = nil) {
        self.city = city
        self.other = other
    }

    init(row: EntityRow) throws(MakoError) {
        city = try EntityCoding.codec(City?.self).read(row, 0)
        other = try EntityCoding.codec((any ObjectEntity)?.self).read(row, 1)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if let city { try EntityCoding.codec(City?.self).write(city, &writer, 0) }
        if let other { try EntityCoding.codec((any ObjectEntity)?.self).write(other, &writer, 1) }
    }
}

/// An error of a test's own.
struct Stop: Error, Equatable {}
