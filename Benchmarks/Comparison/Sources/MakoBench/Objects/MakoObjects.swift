import MakoCore

/// A person as Mako stores it. This is what `@Entity` would write for a class whose properties are not assigned to afterwards;
/// written by hand, the benchmark builds without swift-syntax.
final class MakoPerson: ObjectEntity, PersonLike, @unchecked Sendable {
    var _$state = ObjectState()
    static let entityModel = EntityModel(
        MakoPerson.self, table: "person",
        properties: [
            .column("name", \MakoPerson.name, EntityCoding.codec(String.self)),
            .column("email", \MakoPerson.email, EntityCoding.codec(String.self)),
            .column("age", \MakoPerson.age, EntityCoding.codec(Int.self)),
            .column("points", \MakoPerson.points, EntityCoding.codec(Int.self)),
            .column("balance", \MakoPerson.balance, EntityCoding.codec(Double.self)),
            .column("rating", \MakoPerson.rating, EntityCoding.codec(Double.self)),
            .column("isActive", \MakoPerson.isActive, EntityCoding.codec(Bool.self)),
            .column("joined", \MakoPerson.joined, EntityCoding.codec(Int.self)),
        ],
        indexes: [
            EntityModel.index(MakoPerson.self, [\.name], isUnique: false),
            EntityModel.index(MakoPerson.self, [\.points], isUnique: false),
        ])

    private var _name: String
    private var _email: String
    private var _age: Int
    private var _points: Int
    private var _balance: Double
    private var _rating: Double
    private var _isActive: Bool
    private var _joined: Int

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String { ObjectLock(self).locked { _name } }
    var email: String { ObjectLock(self).locked { _email } }
    var age: Int { ObjectLock(self).locked { _age } }
    var points: Int { ObjectLock(self).locked { _points } }
    var balance: Double { ObjectLock(self).locked { _balance } }
    var rating: Double { ObjectLock(self).locked { _rating } }
    var isActive: Bool { ObjectLock(self).locked { _isActive } }
    var joined: Int { ObjectLock(self).locked { _joined } }

    init(_ data: PersonData) {
        _name = data.name
        _email = data.email
        _age = data.age
        _points = data.points
        _balance = data.balance
        _rating = data.rating
        _isActive = data.isActive
        _joined = data.joined
    }

    init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
        _email = try EntityCoding.codec(String.self).read(row, 1)
        _age = try EntityCoding.codec(Int.self).read(row, 2)
        _points = try EntityCoding.codec(Int.self).read(row, 3)
        _balance = try EntityCoding.codec(Double.self).read(row, 4)
        _rating = try EntityCoding.codec(Double.self).read(row, 5)
        _isActive = try EntityCoding.codec(Bool.self).read(row, 6)
        _joined = try EntityCoding.codec(Int.self).read(row, 7)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & (1 << 0) != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
        if properties & (1 << 1) != 0 { try EntityCoding.codec(String.self).write(_email, &writer, 1) }
        if properties & (1 << 2) != 0 { try EntityCoding.codec(Int.self).write(_age, &writer, 2) }
        if properties & (1 << 3) != 0 { try EntityCoding.codec(Int.self).write(_points, &writer, 3) }
        if properties & (1 << 4) != 0 { try EntityCoding.codec(Double.self).write(_balance, &writer, 4) }
        if properties & (1 << 5) != 0 { try EntityCoding.codec(Double.self).write(_rating, &writer, 5) }
        if properties & (1 << 6) != 0 { try EntityCoding.codec(Bool.self).write(_isActive, &writer, 6) }
        if properties & (1 << 7) != 0 { try EntityCoding.codec(Int.self).write(_joined, &writer, 7) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoPerson else { return }
        _name = other._name
        _email = other._email
        _age = other._age
        _points = other._points
        _balance = other._balance
        _rating = other._rating
        _isActive = other._isActive
        _joined = other._joined
    }
}

/// Mako's object layer through its public interface.
final class MakoObjects: ObjectEngine {
    static let name = "Mako"

    private let database: Database
    private var prepared: [MakoPerson] = []
    private var held: [MakoPerson] = []

    init(directory: String) throws {
        database = try Database(
            at: directory + "/people.mako", entities: [MakoPerson.self],
            options: DatabaseOptions(durability: .full, cacheBytes: 1 << 30))
    }

    func prepare(_ count: Int) throws {
        prepared = (1...count).map { MakoPerson(PersonData(id: $0, count: count)) }
    }

    func insertPrepared() throws {
        try database.save(prepared)
    }

    func settle() throws {
        prepared = []
        try database.store.checkpoint()
    }

    func fetch(_ ids: [Int]) throws -> UInt64 {
        try database.read {
            var sum: UInt64 = 0
            for id in ids {
                guard let person = try self.database.find(MakoPerson.self, id) else { throw missing(UInt64(id)) }
                sum &+= UInt64(truncatingIfNeeded: person.points)
            }
            return sum
        }
    }

    func fetchAll() throws -> UInt64 {
        try database.query(MakoPerson.self).fetch().points
    }

    func query(_ lowest: [Int]) throws -> UInt64 {
        try database.read {
            var sum: UInt64 = 0
            for number in lowest {
                let people = try self.database.query(MakoPerson.self)
                    .where(\.points >= number && \.points <= number + 99).fetch()
                sum &+= people.points
            }
            return sum
        }
    }

    func hold() throws {
        held = Array(try database.query(MakoPerson.self).fetch())
    }

    func readHeld() -> UInt64 {
        held.allProperties
    }

    func close() throws {
        prepared = []
        held = []
        try database.close()
    }
}
