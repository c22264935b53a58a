import MakoCore

/// An item as Mako stores it: the code that `@Entity` generates for a class without assigned properties.
final class MakoItem: ObjectEntity, @unchecked Sendable {
    @exclusivity(unchecked) var _$state: ObjectState
    static let entityModel = EntityModel(
        MakoItem.self, table: "item", id: \MakoItem.id,
        properties: [
            .column("name", \MakoItem.name, EntityCoding.codec(String.self)),
            .column("note", \MakoItem.note, EntityCoding.codec(String.self)),
            .column("number", \MakoItem.number, EntityCoding.codec(Int.self)),
            .column("code", \MakoItem.code, EntityCoding.codec(Int.self)),
            .column("kind", \MakoItem.kind, EntityCoding.codec(Int.self)),
            .column("lot", \MakoItem.lot, EntityCoding.codec(Int.self)),
            .column("score", \MakoItem.score, EntityCoding.codec(Double.self)),
            .column("city", \MakoItem.city, EntityCoding.codec(Int.self)),
        ],
        indexes: [
            EntityModel.index(MakoItem.self, [\.code], isUnique: false),
            EntityModel.index(MakoItem.self, [\.lot], isUnique: false),
        ])

    @exclusivity(unchecked) private var _name: String
    @exclusivity(unchecked) private var _note: String
    private let _number = EntityCoding.ScalarField<Int>()
    private let _code = EntityCoding.ScalarField<Int>()
    private let _kind = EntityCoding.ScalarField<Int>()
    private let _lot = EntityCoding.ScalarField<Int>()
    private let _score = EntityCoding.ScalarField<Double>()
    private let _city = EntityCoding.ScalarField<Int>()
    static var _$lazyProperties: UInt64 { 1 << 0 | 1 << 1 }

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var name: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        if self._$state.isPending(1 << 0) { self._$decode(1 << 0) }
        return self._name
    }
    var note: String {
        let lock = ObjectLock(self)
        lock.lock()
        defer { lock.unlock() }
        if self._$state.isPending(1 << 1) { self._$decode(1 << 1) }
        return self._note
    }
    var number: Int { self._number.value }
    var code: Int { self._code.value }
    var kind: Int { self._kind.value }
    var lot: Int { self._lot.value }
    var score: Double { self._score.value }
    var city: Int { self._city.value }

    init() {
        self._$state = ObjectState()
        self._name = ""
        self._note = ""
    }

    init(_ data: ItemData) {
        self._$state = ObjectState()
        self._name = data.name
        self._note = data.note
        self._number.value = data.number
        self._code.value = data.code
        self._kind.value = data.kind
        self._lot.value = data.lot
        self._score.value = data.score
        self._city.value = data.city
    }

    init(row: EntityRow) throws(MakoError) {
        self._$state = row.state
        self._name = ""
        self._note = ""
        self._number.value = try EntityCoding.codec(Int.self).read(row, 2)
        self._code.value = try EntityCoding.codec(Int.self).read(row, 3)
        self._kind.value = try EntityCoding.codec(Int.self).read(row, 4)
        self._lot.value = try EntityCoding.codec(Int.self).read(row, 5)
        self._score.value = try EntityCoding.codec(Double.self).read(row, 6)
        self._city.value = try EntityCoding.codec(Int.self).read(row, 7)
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        self._$decode(properties)
        if properties & (1 << 0) != 0 { try EntityCoding.codec(String.self).write(self._name, &writer, 0) }
        if properties & (1 << 1) != 0 { try EntityCoding.codec(String.self).write(self._note, &writer, 1) }
        if properties & (1 << 2) != 0 { try EntityCoding.codec(Int.self).write(self._number.value, &writer, 2) }
        if properties & (1 << 3) != 0 { try EntityCoding.codec(Int.self).write(self._code.value, &writer, 3) }
        if properties & (1 << 4) != 0 { try EntityCoding.codec(Int.self).write(self._kind.value, &writer, 4) }
        if properties & (1 << 5) != 0 { try EntityCoding.codec(Int.self).write(self._lot.value, &writer, 5) }
        if properties & (1 << 6) != 0 { try EntityCoding.codec(Double.self).write(self._score.value, &writer, 6) }
        if properties & (1 << 7) != 0 { try EntityCoding.codec(Int.self).write(self._city.value, &writer, 7) }
    }

    func adoptValues(of object: AnyObject) {
        guard let other = object as? MakoItem else { return }
        other._$decode(.max)
        self._$state.drop(.max)
        self._name = other._name
        self._note = other._note
        self._number.value = other._number.value
        self._code.value = other._code.value
        self._kind.value = other._kind.value
        self._lot.value = other._lot.value
        self._score.value = other._score.value
        self._city.value = other._city.value
    }

    private func _$decode(_ properties: UInt64) {
        self._$state.decode(properties) { pending, row in
            if pending & (1 << 0) != 0 { self._name = EntityCoding.field(row, 0) }
            if pending & (1 << 1) != 0 { self._note = EntityCoding.field(row, 1) }
        }
    }
}

struct MakoCity: Entity {
    var _$value = ValueState()
    static let entityModel = EntityModel(
        MakoCity.self, table: "city", id: \MakoCity.id,
        properties: [.column("country", \MakoCity.country, EntityCoding.codec(Int.self))])

    var country: Int
    var id: Int? { _$value.id }

    init(country: Int) { self.country = country }

    init(row: EntityRow) throws(MakoError) {
        country = try EntityCoding.codec(Int.self).read(row, 0)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(Int.self).write(country, &writer, 0) }
    }
}

struct MakoCountry: Entity {
    var _$value = ValueState()
    static let entityModel = EntityModel(
        MakoCountry.self, table: "country", id: \MakoCountry.id,
        properties: [.column("zone", \MakoCountry.zone, EntityCoding.codec(Int.self))])

    var zone: Int
    var id: Int? { _$value.id }

    init(zone: Int) { self.zone = zone }

    init(row: EntityRow) throws(MakoError) {
        zone = try EntityCoding.codec(Int.self).read(row, 0)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(Int.self).write(zone, &writer, 0) }
    }
}

final class MakoItems: SelectEngine {
    static let name = "Mako"

    private let database: Database

    init(directory: String) throws {
        database = try Database(
            at: directory + "/items.mako", entities: [MakoItem.self, MakoCity.self, MakoCountry.self],
            options: DatabaseOptions(durability: .ordered, cacheBytes: 1 << 30))
    }

    func fill(_ count: Int) throws {
        for start in stride(from: 1, through: count, by: 50_000) {
            let ids = start...min(start + 49_999, count)
            try database.save(ids.map { MakoItem(ItemData(id: $0, count: count)) })
        }
        _ = try database.save((1...ItemData.cities).map { MakoCity(country: ItemData.country(ofCity: $0)) })
        _ = try database.save((1...ItemData.countries).map { MakoCountry(zone: ItemData.zone(ofCountry: $0)) })
        try database.store.checkpoint()
    }

    func items(codes: [Int]) throws -> UInt64 {
        try database.read {
            var sum: UInt64 = 0
            for code in codes {
                sum &+= self.numbers(try self.database.query(MakoItem.self).where(\.code == code).fetch())
            }
            return sum
        }
    }

    private func numbers(_ items: Results<MakoItem>) -> UInt64 {
        var sum: UInt64 = 0
        for item in items { sum &+= UInt64(truncatingIfNeeded: item.number) }
        return sum
    }

    private func query(_ condition: String, _ numbers: [Int]) -> Query<MakoItem> {
        let query = database.query(MakoItem.self)
        return switch numbers.count {
        case 0: query.where(text: condition)
        case 1: query.where(text: condition, numbers[0])
        case 2: query.where(text: condition, numbers[0], numbers[1])
        default: query.where(text: condition, numbers[0], numbers[1], numbers[2])
        }
    }

    func ids(_ condition: String, _ numbers: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        for id in try query(condition, numbers).ids() { sum &+= UInt64(truncatingIfNeeded: id) }
        return sum
    }

    func items(_ condition: String, _ numbers: [Int], orderBy: String, limit: Int) throws -> UInt64 {
        self.numbers(try query(condition, numbers).orderBy(orderBy).limit(limit).fetch())
    }

    func select(_ text: String, _ numbers: [Int]) throws -> UInt64 {
        let found =
            try
            (numbers.isEmpty
            ? database.rawQuery(text: text) : database.rawQuery(text: text, numbers[0]))
        var sum: UInt64 = 0
        for row in found.rows {
            for value in row {
                switch value {
                case .integer(let number): sum &+= Answer.of(number)
                case .double(let number): sum &+= Answer.of(number)
                default: throw BenchmarkError("no number")
                }
            }
        }
        return sum
    }

    func none(_ condition: String, _ number: Int) throws -> Bool { try query(condition, [number]).exists() }

    func prepare(_ condition: String, _ number: Int) throws { try query(condition, [number]).prepare() }

    func close() throws { try database.close() }
}
