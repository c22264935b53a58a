import MakoCore

/// A class with a name and a reference to another one, with the code that `@Entity` would generate.
final class Ship: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Ship.self, table: "Ship", id: \Ship.id,
        properties: [
            .column("name", \Ship.name, EntityCoding.codec(String.self), default: ""),
            .column("next", \Ship.next, EntityCoding.codec(Ship?.self)),
        ])

    private var _name: String
    private var _next = EntityCoding.codec(Ship?.self).emptySlot

    var name: String { ObjectLock(self).locked { _name } }

    var next: Ship? {
        let slot = ObjectLock(self).locked { _next }
        if slot.isSettled { return slot.value }
        let loaded = slot.loaded(by: self, property: 1)
        return ObjectLock(self).locked {
            _next.settle(loaded, replacing: slot)
            return _next.value
        }
    }

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() { _name = "" }
    init(name: String, next: Ship? = nil) {
        _name = name
        _next = EntityCoding.codec(Ship?.self).slot(next)
    }

    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
        _next = try EntityCoding.codec(Ship?.self).readSlot(row, 1)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Ship?.self).writeSlot(_next, &writer, 1) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? Ship else { return }
        _name = other._name
        _next = other._next
    }

    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _next.loadedObject { visit(1, object) }
    }

    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 1 { _next.resolve(object, key: key) }
    }
}
