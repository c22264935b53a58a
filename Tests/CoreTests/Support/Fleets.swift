import MakoCore

// A relationship to many and a list of values, written by hand.

final class Fleet: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Fleet.self, table: "Fleet", id: \Fleet.id,
        properties: [
            .column("name", \Fleet.name, EntityCoding.codec(String.self), default: ""),
            .many("ships", \Fleet.ships, Vessel.self, inverse: \Vessel.fleet),
        ])

    let name: String
    var ships: ToMany<Vessel> { ToMany(owner: self, inverse: \Vessel.fleet) }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() { name = "" }
    init(name: String) { self.name = name }

    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        name = try EntityCoding.codec(String.self).read(row, 0)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
    }

    func adoptValues(of object: AnyObject) {}
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {}
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {}
}

final class Vessel: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Vessel.self, table: "Vessel", id: \Vessel.id,
        properties: [
            .column("tons", \Vessel.tons, EntityCoding.codec(Int.self), default: 0),
            .column("ports", \Vessel.ports, EntityCoding.codec([String].self), default: []),
            .column("fleet", \Vessel.fleet, EntityCoding.codec(Fleet?.self)),
        ])

    let tons: Int
    let ports: [String]
    private var _fleet = EntityCoding.codec(Fleet?.self).emptySlot
    var fleet: Fleet? { _fleet.value }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() {
        tons = 0
        ports = []
    }

    init(tons: Int, ports: [String], fleet: Fleet?) {
        self.tons = tons
        self.ports = ports
        _fleet = EntityCoding.codec(Fleet?.self).slot(fleet)
    }

    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        tons = try EntityCoding.codec(Int.self).read(row, 0)
        ports = try EntityCoding.codec([String].self).read(row, 1)
        _fleet = try EntityCoding.codec(Fleet?.self).readSlot(row, 2)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(Int.self).write(tons, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec([String].self).write(ports, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(Fleet?.self).writeSlot(_fleet, &writer, 2) }
    }

    func adoptValues(of object: AnyObject) {}
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _fleet.loadedObject { visit(2, object) }
    }
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 2 { _fleet.resolve(object, key: key) }
    }
}
