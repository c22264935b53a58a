import MakoCore

final class Ship: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Ship.self, table: "Ship", id: \Ship.id,
        properties: [.column("name", \Ship.name, EntityCoding.codec(String.self), default: "")])

    var name: String { didSet { _ = EntityCoding.noteWrite(&_$state, of: self, property: 0) } }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() { name = "" }
    init(name: String) { self.name = name }
    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
    }
    func adoptValues(of object: AnyObject) { if let other = object as? Ship { name = other.name } }
}

/// Some of everything that a property can be.
final class Sailor: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Sailor.self, table: "Sailor", id: \Sailor.id,
        properties: [
            .column("name", \Sailor.name, EntityCoding.codec(String.self), default: ""),
            .column("age", \Sailor.age, EntityCoding.codec(Int.self), default: 0),
            .column("nick", \Sailor.nick, EntityCoding.codec(String?.self)),
            .column("badge", \Sailor.badge, EntityCoding.codec(Int?.self), options: [.unique]),
            .column("wage", \Sailor.wage, EntityCoding.codec(Double.self), default: 0),
            .column("grade", \Sailor.grade, EntityCoding.codec(Int8.self), default: 0),
            .column("joined", \Sailor.joined, EntityCoding.codec(Int.self), default: 0, options: [.writeOnce]),
            .column("motto", \Sailor.motto, EntityCoding.codec(String?.self), options: [.keepWhenNil]),
            .column("ship", \Sailor.ship, EntityCoding.codec(Ship?.self)),
            .column("boat", \Sailor.boat, EntityCoding.codec(Ship?.self), relation: [.owned]),
        ],
        indexes: [EntityModel.index(Sailor.self, [\.age], isUnique: false)])

    var name = "" { didSet { note(0) } }
    var age = 0 { didSet { note(1) } }
    var nick: String? { didSet { note(2) } }
    var badge: Int? { didSet { note(3) } }
    var wage = 0.0 { didSet { note(4) } }
    var grade: Int8 = 0 { didSet { note(5) } }
    var joined = 0 { didSet { note(6) } }
    var motto: String? { didSet { note(7) } }
    private var _ship = EntityCoding.codec(Ship?.self).emptySlot
    var ship: Ship? {
        get {
            if !_ship.isSettled { _ship.settle(_ship.loaded(by: self, property: 8), replacing: _ship) }
            return _ship.value
        }
        set {
            _ship = EntityCoding.codec(Ship?.self).slot(newValue)
            note(8)
        }
    }
    private var _boat = EntityCoding.codec(Ship?.self).emptySlot
    var boat: Ship? {
        get {
            if !_boat.isSettled { _boat.settle(_boat.loaded(by: self, property: 9), replacing: _boat) }
            return _boat.value
        }
        set {
            _boat = EntityCoding.codec(Ship?.self).slot(newValue)
            note(9)
        }
    }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    /// Not stored.
    var greeting: String { "\(name), \(age)" }
    private func note(_ property: Int) { _ = EntityCoding.noteWrite(&_$state, of: self, property: property) }

    init() {}
    init(_ name: String, age: Int = 0) {
        self.name = name
        self.age = age
    }
    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        age = try EntityCoding.codec(Int.self).read(row, 1)
        nick = try EntityCoding.codec(String?.self).read(row, 2)
        badge = try EntityCoding.codec(Int?.self).read(row, 3)
        wage = try EntityCoding.codec(Double.self).read(row, 4)
        grade = try EntityCoding.codec(Int8.self).read(row, 5)
        joined = try EntityCoding.codec(Int.self).read(row, 6)
        motto = try EntityCoding.codec(String?.self).read(row, 7)
        _ship = try EntityCoding.codec(Ship?.self).readSlot(row, 8)
        _boat = try EntityCoding.codec(Ship?.self).readSlot(row, 9)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(age, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(String?.self).write(nick, &writer, 2) }
        if properties & 8 != 0 { try EntityCoding.codec(Int?.self).write(badge, &writer, 3) }
        if properties & 16 != 0 { try EntityCoding.codec(Double.self).write(wage, &writer, 4) }
        if properties & 32 != 0 { try EntityCoding.codec(Int8.self).write(grade, &writer, 5) }
        if properties & 64 != 0 { try EntityCoding.codec(Int.self).write(joined, &writer, 6) }
        if properties & 128 != 0 { try EntityCoding.codec(String?.self).write(motto, &writer, 7) }
        if properties & 256 != 0 { try EntityCoding.codec(Ship?.self).writeSlot(_ship, &writer, 8) }
        if properties & 512 != 0 { try EntityCoding.codec(Ship?.self).writeSlot(_boat, &writer, 9) }
    }
    func adoptValues(of object: AnyObject) {
        guard let other = object as? Sailor else { return }
        (name, age, nick, badge) = (other.name, other.age, other.nick, other.badge)
        (wage, grade, joined, motto) = (other.wage, other.grade, other.joined, other.motto)
        (_ship, _boat) = (other._ship, other._boat)
    }
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _ship.loadedObject { visit(8, object) }
        if let object = _boat.loadedObject { visit(9, object) }
    }
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 8 { _ship.resolve(object, key: key) }
        if property == 9 { _boat.resolve(object, key: key) }
    }
}

/// A database with so many sailors: `s0` of age 0, `s1` of age 1, … of age 69, and again from 0.
func makeSailors(_ count: Int) throws -> Database {
    let db = try Database.inMemory(entities: [Sailor.self, Ship.self])
    try db.save((0..<count).map { Sailor("s\($0)", age: $0 % 70) })
    return db
}
