import MakoCore
import MakoStorage

// Types that show one table, written by hand.

/// Runs what a test wants done in the middle of a hook.
final class HookBody: Sendable {
    private let body = Guarded<(@Sendable () throws -> Void)?>(nil)

    func set(_ new: (@Sendable () throws -> Void)?) { body.withLock { $0 = new } }

    /// Once.
    func run() -> Bool {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        do {
            try body?()
            return true
        } catch { return false }
    }
}

class Crate: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()
    private static let model = EntityModel(
        Crate.self, table: "Crate", id: \Crate.id,
        properties: [
            .rowNumber("id", \Crate.id),
            .column("name", \Crate.name, EntityCoding.codec(String.self), default: ""),
            .column("next", \Crate.next, EntityCoding.codec(Crate?.self)),
        ])
    class var entityModel: EntityModel { model }
    class var _$hooks: ObjectHooks { [.willInsert, .willDelete] }
    static let hook = HookBody()

    var name = "" { didSet { _ = EntityCoding.noteWrite(&_$state, of: self, property: 0) } }
    fileprivate var _next = EntityCoding.codec(Crate?.self).emptySlot
    var next: Crate? {
        get {
            if !_next.isSettled { _next.settle(_next.loaded(by: self, property: 1), replacing: _next) }
            return _next.value
        }
        set {
            _next = EntityCoding.codec(Crate?.self).slot(newValue)
            _ = EntityCoding.noteWrite(&_$state, of: self, property: 1)
        }
    }
    var id: Int? {
        get { EntityCoding.rowNumber(of: self, as: Int?.self) }
        set { EntityCoding.setRowNumber(newValue, of: self) }
    }

    required init() {}
    convenience init(name: String) {
        self.init()
        self.name = name
    }
    required init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        _next = try EntityCoding.codec(Crate?.self).readSlot(row, 1)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Crate?.self).writeSlot(_next, &writer, 1) }
    }
    func adoptValues(of object: AnyObject) {
        guard let other = object as? Crate else { return }
        (name, _next) = (other.name, other._next)
    }
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _next.loadedObject { visit(1, object) }
    }
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 1 { _next.resolve(object, key: key) }
    }
    func _$call(_ hook: ObjectHooks) -> Bool {
        hook == .willInsert || hook == .willDelete ? Self.hook.run() : true
    }
}

/// A subclass in the table of its superclass.
final class MarkedCrate: Crate, @unchecked Sendable {
    private static let model = EntityModel(
        MarkedCrate.self, table: "Crate", id: \MarkedCrate.id,
        properties: [
            .rowNumber("id", \MarkedCrate.id),
            .column("name", \MarkedCrate.name, EntityCoding.codec(String.self), default: ""),
            .column("next", \MarkedCrate.next, EntityCoding.codec(Crate?.self)),
        ], superclass: Crate.entityModel)
    override class var entityModel: EntityModel { model }
}

/// Another type of the same table: it has an index, and knows the name by another name.
final class Parcel: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()
    static let entityModel = EntityModel(
        Parcel.self, table: "Crate", id: \Parcel.id,
        properties: [
            .column("label", \Parcel.label, EntityCoding.codec(String.self), column: "name", default: ""),
            .column("weight", \Parcel.weight, EntityCoding.codec(Int.self), default: 5),
            .many("dockers", \Parcel.dockers, Docker.self, inverse: \Docker.crate),
        ], indexes: [EntityModel.index(Parcel.self, [\.label], isUnique: false)])

    var label = "" { didSet { _ = EntityCoding.noteWrite(&_$state, of: self, property: 0) } }
    var weight = 5 { didSet { _ = EntityCoding.noteWrite(&_$state, of: self, property: 1) } }
    var dockers: ToMany<Docker> { ToMany(owner: self, inverse: \Docker.crate) }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() {}
    init(label: String) { self.label = label }
    init(row: EntityRow) throws(MakoError) {
        label = try EntityCoding.codec(String.self).read(row, 0)
        weight = try EntityCoding.codec(Int.self).read(row, 1)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(label, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(weight, &writer, 1) }
    }
    func adoptValues(of object: AnyObject) {
        guard let other = object as? Parcel else { return }
        (label, weight) = (other.label, other.weight)
    }
}

/// An object with a reference to a crate, which may own another.
final class Docker: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()
    static let entityModel = EntityModel(
        Docker.self, table: "Docker", id: \Docker.id,
        properties: [
            .column("crate", \Docker.crate, EntityCoding.codec(Crate?.self)),
            .column("chest", \Docker.chest, EntityCoding.codec(Crate?.self), relation: [.owned]),
        ])

    private var _crate = EntityCoding.codec(Crate?.self).emptySlot
    private var _chest = EntityCoding.codec(Crate?.self).emptySlot
    var crate: Crate? {
        get {
            if !_crate.isSettled { _crate.settle(_crate.loaded(by: self, property: 0), replacing: _crate) }
            return _crate.value
        }
        set {
            _crate = EntityCoding.codec(Crate?.self).slot(newValue)
            _ = EntityCoding.noteWrite(&_$state, of: self, property: 0)
        }
    }
    var chest: Crate? {
        get {
            if !_chest.isSettled { _chest.settle(_chest.loaded(by: self, property: 1), replacing: _chest) }
            return _chest.value
        }
        set {
            _chest = EntityCoding.codec(Crate?.self).slot(newValue)
            _ = EntityCoding.noteWrite(&_$state, of: self, property: 1)
        }
    }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() {}
    init(carrying crate: Crate) { self.crate = crate }
    init(row: EntityRow) throws(MakoError) {
        _crate = try EntityCoding.codec(Crate?.self).readSlot(row, 0)
        _chest = try EntityCoding.codec(Crate?.self).readSlot(row, 1)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(Crate?.self).writeSlot(_crate, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Crate?.self).writeSlot(_chest, &writer, 1) }
    }
    func adoptValues(of object: AnyObject) {
        guard let other = object as? Docker else { return }
        (_crate, _chest) = (other._crate, other._chest)
    }
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _crate.loadedObject { visit(0, object) }
        if let object = _chest.loadedObject { visit(1, object) }
    }
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 0 { _crate.resolve(object, key: key) }
        if property == 1 { _chest.resolve(object, key: key) }
    }
}

/// A struct whose model a test makes up.
protocol MadeUp: Entity {}
extension MadeUp {
    var id: Int64 { _$rowNumber }
    init(row: EntityRow) throws(MakoError) { throw .invalidArgument("it is never read") }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {}
}

/// Shows the table of crates, and owns what it refers to.
struct CrateOwner: MadeUp {
    static let entityModel = EntityModel(
        CrateOwner.self, table: "Crate",
        properties: [.column("lid", \CrateOwner.lid, EntityCoding.codec(Ship?.self), relation: [.owned])])
    var _$value = ValueState()
    var lid: Ship?
}

/// Shows the table of crates, and has a delete rule.
struct CrateRuler: MadeUp {
    static let entityModel = EntityModel(
        CrateRuler.self, table: "Crate",
        properties: [
            .many("dockers", \CrateRuler.id, Docker.self, inverse: \Docker.crate, deleteRule: .cascade)
        ])
    var _$value = ValueState()
}

/// Shows a part of the table of crates that is not there. It brings parcels along.
struct CratePart: MadeUp {
    static let entityModel = EntityModel(
        CratePart.self, table: "Crate",
        properties: [
            .column("colour", \CratePart.colour, EntityCoding.codec(String?.self)),
            .column("parcel", \CratePart.parcel, EntityCoding.codec(Parcel?.self)),
        ], isPartial: true)
    var _$value = ValueState()
    var colour: String?
    var parcel: Parcel?
}
