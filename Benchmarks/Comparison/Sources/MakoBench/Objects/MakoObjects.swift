import Dispatch
import MakoCore

/// A person as Mako stores it: the code that `@Entity` generates for a class of whose properties only the age is assigned.
final class MakoPerson: ObjectEntity, PersonLike, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
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

    @exclusivity(unchecked) private var _name: String
    @exclusivity(unchecked) private var _email: String
    private let _age = EntityCoding.ScalarField<Int>()
    private let _points = EntityCoding.ScalarField<Int>()
    private let _balance = EntityCoding.ScalarField<Double>()
    private let _rating = EntityCoding.ScalarField<Double>()
    private let _isActive = EntityCoding.ScalarField<Bool>()
    private let _joined = EntityCoding.ScalarField<Int>()

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        if self._$state.isPending(1 << 0) { self._$decode(1 << 0) }
        return self._name
    }
    var email: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        if self._$state.isPending(1 << 1) { self._$decode(1 << 1) }
        return self._email
    }
    var age: Int {
        get { self._age.value }
        set {
            let lock = ObjectLock(self)
            lock.lock()
            let old = self._age.value
            let mark = EntityCoding.noteWrite(&self._$state, of: self, property: 2)
            self._age.value = newValue
            lock.unlock()
            if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0._age.value = old } }
        }
    }
    var points: Int { self._points.value }
    var balance: Double { self._balance.value }
    var rating: Double { self._rating.value }
    var isActive: Bool { self._isActive.value }
    var joined: Int { self._joined.value }

    init() {
        self._$state = ObjectState()
        self._name = ""
        self._email = ""
    }

    init(_ data: PersonData) {
        self._$state = ObjectState()
        self._name = data.name
        self._email = data.email
        self._age.value = data.age
        self._points.value = data.points
        self._balance.value = data.balance
        self._rating.value = data.rating
        self._isActive.value = data.isActive
        self._joined.value = data.joined
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        self._name = ""
        self._email = ""
        self._age.value = try EntityCoding.codec(Int.self).read(row, 2)
        self._points.value = try EntityCoding.codec(Int.self).read(row, 3)
        self._balance.value = try EntityCoding.codec(Double.self).read(row, 4)
        self._rating.value = try EntityCoding.codec(Double.self).read(row, 5)
        self._isActive.value = try EntityCoding.codec(Bool.self).read(row, 6)
        self._joined.value = try EntityCoding.codec(Int.self).read(row, 7)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        self._$decode(properties)
        if properties & (1 << 0) != 0 { try EntityCoding.codec(String.self).write(self._name, &writer, 0) }
        if properties & (1 << 1) != 0 { try EntityCoding.codec(String.self).write(self._email, &writer, 1) }
        if properties & (1 << 2) != 0 { try EntityCoding.codec(Int.self).write(self._age.value, &writer, 2) }
        if properties & (1 << 3) != 0 { try EntityCoding.codec(Int.self).write(self._points.value, &writer, 3) }
        if properties & (1 << 4) != 0 { try EntityCoding.codec(Double.self).write(self._balance.value, &writer, 4) }
        if properties & (1 << 5) != 0 { try EntityCoding.codec(Double.self).write(self._rating.value, &writer, 5) }
        if properties & (1 << 6) != 0 { try EntityCoding.codec(Bool.self).write(self._isActive.value, &writer, 6) }
        if properties & (1 << 7) != 0 { try EntityCoding.codec(Int.self).write(self._joined.value, &writer, 7) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoPerson else { return }
        other._$decode(.max)
        self._$state.drop(.max)
        self._name = other._name
        self._email = other._email
        self._age.value = other._age.value
        self._points.value = other._points.value
        self._balance.value = other._balance.value
        self._rating.value = other._rating.value
        self._isActive.value = other._isActive.value
        self._joined.value = other._joined.value
    }

    static var _$lazyProperties: UInt64 { 1 << 0 | 1 << 1 }

    private func _$decode(_ properties: UInt64) {
        self._$state.decode(properties) { pending, row in
            if pending & (1 << 0) != 0 { self._name = EntityCoding.field(row, 0) }
            if pending & (1 << 1) != 0 { self._email = EntityCoding.field(row, 1) }
        }
    }
}

/// Mako's object layer through its public interface.
final class MakoObjects: LiveEngine {
    static let name = "Mako"

    private let database: Database
    private var prepared: [MakoPerson] = []
    private var held: [MakoPerson] = []
    private var followers: [LiveToken] = []

    init(directory: String, durability: SyncMode) throws {
        database = try Database(
            at: directory + "/people.mako", entities: [MakoPerson.self],
            options: DatabaseOptions(durability: durability == .full ? .full : .ordered, cacheBytes: 1 << 30))
    }

    func prepare(_ count: Int) throws {
        prepared = (1...count).map { MakoPerson(PersonData(id: $0, count: count)) }
    }

    func insertPrepared() throws {
        try database.save(prepared)
    }

    func insertEach(_ count: Int) throws {
        for person in prepared.prefix(count) { try database.save(person) }
    }

    func updateHeld() throws {
        for person in held { person.age += 1 }
        try database.save(held)
    }

    func updateTenth() throws {
        let some = held.filter { $0.points % 10 == 0 }
        for person in some { person.age += 1 }
        try database.save(some)
    }

    func deleteAll() throws -> Int { try database.query(MakoPerson.self).where(\.points >= 0).delete() }

    func follow(_ lowest: [Int], told: @escaping @Sendable () -> Void) throws {
        let queue = DispatchQueue(label: "followers")
        followers = lowest.map { number in
            database.query(MakoPerson.self).where(\.points >= number && \.points <= number + 99).observe(on: queue) {
                if case .failure(let error) = $0 { print("Mako: \(error)") }
                told()
            }
        }
    }

    func unfollow() { followers = [] }

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

    func fetchTogether(_ ids: [Int]) throws -> UInt64 {
        let people = try database.find(MakoPerson.self, ids)
        guard people.count == ids.count else { throw missing(UInt64(ids.count)) }
        return people.points
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

    func drop() { held = [] }

    func readHeld() -> UInt64 {
        held.allProperties
    }

    func readAges(_ count: Int, rounds: Int) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<rounds { sum &+= held.prefix(count).ages }
        return sum
    }

    func readNames(_ count: Int, rounds: Int) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<rounds { sum &+= held.prefix(count).names }
        return sum
    }

    func close() throws {
        prepared = []
        held = []
        try database.close()
    }
}
