import MakoCore

// The code that `@Entity` generates for classes with a reference, without assigned properties.

final class MakoPlace: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoPlace.self, table: "location",
        properties: [
            .column("name", \MakoPlace.name, EntityCoding.codec(String.self)),
            .column("floors", \MakoPlace.floors, EntityCoding.codec(Int.self)),
        ])

    @exclusivity(unchecked) private var _name: String
    private let _floors = EntityCoding.ScalarField<Int>()

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        return self._name
    }
    var floors: Int { self._floors.value }

    init() {
        self._$state = ObjectState()
        self._name = ""
    }

    init(name: String, floors: Int) {
        self._$state = ObjectState()
        self._name = name
        self._floors.value = floors
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        self._name = try EntityCoding.codec(String.self).read(row, 0)
        self._floors.value = try EntityCoding.codec(Int.self).read(row, 1)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(self._name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(self._floors.value, &writer, 1) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoPlace else { return }
        self._name = other._name
        self._floors.value = other._floors.value
    }
}

final class MakoSection: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoSection.self, table: "department",
        properties: [
            .column("name", \MakoSection.name, EntityCoding.codec(String.self)),
            .column("location", \MakoSection.location, EntityCoding.codec(MakoPlace?.self)),
        ])

    @exclusivity(unchecked) private var _name: String
    @exclusivity(unchecked) private var _location = EntityCoding.codec(MakoPlace?.self).emptySlot

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        return self._name
    }
    var location: MakoPlace? {
        let lock = ObjectLock(self)
        lock.lock()
        if self._location.isSettled {
            defer { lock.unlock() }
            return self._location.value
        }
        let slot = self._location
        lock.unlock()
        let loaded = slot.loaded(by: self, property: 1)
        lock.lock()
        defer { lock.unlock() }
        self._location.settle(loaded, replacing: slot)
        return self._location.value
    }

    init() {
        self._$state = ObjectState()
        self._name = ""
    }

    init(name: String, location: MakoPlace) {
        self._$state = ObjectState()
        self._name = name
        self._location = EntityCoding.codec(MakoPlace?.self).slot(location)
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        self._name = try EntityCoding.codec(String.self).read(row, 0)
        self._location = try EntityCoding.codec(MakoPlace?.self).readSlot(row, 1)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(self._name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(MakoPlace?.self).writeSlot(self._location, &writer, 1) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoSection else { return }
        self._name = other._name
        self._location = other._location
    }

    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = self._location.loadedObject { visit(1, object) }
    }

    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 1 { self._location.resolve(object, key: key) }
    }
}

final class MakoWorker: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoWorker.self, table: "staff",
        properties: [
            .column("name", \MakoWorker.name, EntityCoding.codec(String.self)),
            .column("age", \MakoWorker.age, EntityCoding.codec(Int.self)),
            .column("department", \MakoWorker.department, EntityCoding.codec(MakoSection?.self)),
        ])

    @exclusivity(unchecked) private var _name: String
    private let _age = EntityCoding.ScalarField<Int>()
    @exclusivity(unchecked) private var _department = EntityCoding.codec(MakoSection?.self).emptySlot

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        return self._name
    }
    var age: Int { self._age.value }
    var department: MakoSection? {
        let lock = ObjectLock(self)
        lock.lock()
        if self._department.isSettled {
            defer { lock.unlock() }
            return self._department.value
        }
        let slot = self._department
        lock.unlock()
        let loaded = slot.loaded(by: self, property: 2)
        lock.lock()
        defer { lock.unlock() }
        self._department.settle(loaded, replacing: slot)
        return self._department.value
    }

    init() {
        self._$state = ObjectState()
        self._name = ""
    }

    init(name: String, age: Int, department: MakoSection) {
        self._$state = ObjectState()
        self._name = name
        self._age.value = age
        self._department = EntityCoding.codec(MakoSection?.self).slot(department)
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        self._name = try EntityCoding.codec(String.self).read(row, 0)
        self._age.value = try EntityCoding.codec(Int.self).read(row, 1)
        self._department = try EntityCoding.codec(MakoSection?.self).readSlot(row, 2)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(self._name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(self._age.value, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(MakoSection?.self).writeSlot(self._department, &writer, 2) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoWorker else { return }
        self._name = other._name
        self._age.value = other._age.value
        self._department = other._department
    }

    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = self._department.loadedObject { visit(2, object) }
    }

    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 2 { self._department.resolve(object, key: key) }
    }
}
