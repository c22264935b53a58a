import MakoCore

// The code that `@Entity` generates for classes without assigned properties.

final class MakoParent: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoParent.self, table: "parent", id: \MakoParent.id,
        properties: [
            .column("name", \MakoParent.name, EntityCoding.codec(String.self)),
            .many("children", \MakoParent.children, MakoChild.self, inverse: \MakoChild.parent),
        ])

    let name: String
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var children: ToMany<MakoChild> { ToMany(owner: self, inverse: \MakoChild.parent) }

    init() {
        self._$state = ObjectState()
        name = ""
    }

    init(name: String) {
        self._$state = ObjectState()
        self.name = name
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        name = try EntityCoding.codec(String.self).read(row, 0)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
    }

    func adoptValues(of object: AnyObject) {}
}

final class MakoChild: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoChild.self, table: "child",
        properties: [
            .column("born", \MakoChild.born, EntityCoding.codec(Int.self)),
            .column("parent", \MakoChild.parent, EntityCoding.codec(MakoParent?.self)),
        ])

    let born: Int
    @exclusivity(unchecked) private var _parent = EntityCoding.codec(MakoParent?.self).emptySlot
    var parent: MakoParent? { ObjectLock(self).locked { self._parent }.value }

    init() {
        self._$state = ObjectState()
        born = 0
    }

    init(born: Int, parent: MakoParent) {
        self._$state = ObjectState()
        self.born = born
        self._parent = EntityCoding.codec(MakoParent?.self).slot(parent)
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        born = try EntityCoding.codec(Int.self).read(row, 0)
        self._parent = try EntityCoding.codec(MakoParent?.self).readSlot(row, 1)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(Int.self).write(born, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(MakoParent?.self).writeSlot(self._parent, &writer, 1) }
    }

    func adoptValues(of object: AnyObject) {}

    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = self._parent.loadedObject { visit(1, object) }
    }

    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 1 { self._parent.resolve(object, key: key) }
    }
}

final class MakoFamilies: FamilyEngine {
    static let name = "Mako"

    private let database: Database

    init(directory: String) throws {
        database = try Database(
            at: directory + "/families.mako", entities: [MakoParent.self, MakoChild.self],
            options: DatabaseOptions(durability: .ordered, cacheBytes: 1 << 30))
    }

    func fill(_ count: Int) throws {
        let parents = (1...count).map { MakoParent(name: Family.name(of: $0)) }
        try database.save(parents)
        try database.save(
            (1...Family.children(count)).map {
                MakoChild(born: Family.born($0), parent: parents[Family.parent(of: $0, among: count) - 1])
            })
        try database.store.checkpoint()
    }

    func parentsOfMany() throws -> UInt64 {
        var sum: UInt64 = 0
        for id in try database.query(MakoParent.self).where("children.@count > 3").ids() {
            sum &+= UInt64(truncatingIfNeeded: id)
        }
        return sum
    }

    func close() throws { try database.close() }
}
