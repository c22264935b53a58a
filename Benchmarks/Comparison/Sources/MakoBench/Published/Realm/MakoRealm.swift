import Mako

final class MakoRealm: RealmEngine {
    static let name = "Mako"

    private let database: Database
    private var held: [MakoStringObject] = []

    init(directory: String) throws {
        database = try Database(
            directory: directory,
            entities: [
                MakoStringObject.self, MakoIntObject.self, MakoIndexedObject.self, MakoListObject.self,
                MakoSetObject.self,
            ], durability: .full)
    }

    func close() throws {
        held = []
        try database.close()
    }

    func fill(pairs: Int) throws {
        for start in stride(from: 0, to: pairs, by: 50_000) {
            let places = start..<min(start + 50_000, pairs)
            try database.save(
                places.flatMap { _ in [MakoStringObject(stringCol: "a"), MakoStringObject(stringCol: "b")] })
            try database.save(places.flatMap { _ in [MakoIntObject(intCol: 1), MakoIntObject(intCol: 2)] })
        }
        try database.settle()
    }

    func fillTexts(_ count: Int) throws {
        try database.save((0..<count).map { MakoStringObject(stringCol: String($0)) })
    }

    func fillInts(_ numbers: [Int]) throws { try database.save(numbers.map { MakoIntObject(intCol: $0) }) }

    func fillIndexed(_ count: Int) throws {
        try database.save((0..<count).map { MakoIndexedObject(stringCol: String($0), intCol: $0) })
    }

    func collect() throws {
        let objects = try texts().fetch().array
        try database.save(MakoListObject(name: "name", array: objects))
        try database.save(MakoSetObject(name: "name", set: Set(objects)))
        try database.settle()
    }

    private func texts() -> Query<MakoStringObject> { database.query(MakoStringObject.self) }

    func insertObjects(_ count: Int) throws {
        try database.transaction { _ in
            for _ in 0..<count { try self.database.save(MakoStringObject(stringCol: "a")) }
        }
    }

    func insertValues(_ count: Int) throws {
        try database.transaction { _ in
            for _ in 0..<count { try self.database.save(MakoStringObject(["stringCol": "a"])) }
        }
    }

    func insertEach(_ count: Int) throws {
        for _ in 0..<count { try database.save(MakoStringObject(stringCol: "a")) }
    }

    func countAll() throws -> Int { try texts().count() }

    func countWhere() throws -> Int { try texts().where(\.stringCol == "a").count() }

    func firstAndCount() throws -> Int {
        let some = texts().where(\.stringCol == "a")
        guard try some.first() != nil else { return 0 }
        return try some.count()
    }

    private func weight(_ objects: some Sequence<MakoStringObject>) -> UInt64 {
        var sum: UInt64 = 0
        for object in objects { sum &+= object.stringCol.weight }
        return sum
    }

    func readAll() throws -> UInt64 { weight(try texts().fetch()) }
    func readQuery() throws -> UInt64 { weight(try texts().where(\.stringCol == "a").fetch()) }

    func readInts() throws -> UInt64 {
        var sum: UInt64 = 0
        for object in try database.query(MakoIntObject.self).fetch() { sum &+= UInt64(object.intCol) }
        return sum
    }

    func readList() throws -> UInt64 {
        guard let list = try database.query(MakoListObject.self).first() else { return 0 }
        return weight(list.array)
    }

    func readSet() throws -> UInt64 {
        guard let owner = try database.query(MakoSetObject.self).first() else { return 0 }
        return weight(owner.set)
    }

    func lookUp(_ count: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        for number in 0..<count {
            sum &+= try texts().where(\.stringCol == String(number)).first()?.stringCol.weight ?? 0
        }
        return sum
    }

    func lookUpIndexed(_ count: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        for number in 0..<count {
            let found = try database.query(MakoIndexedObject.self).where(\.stringCol == String(number)).first()
            sum &+= UInt64(found?.intCol ?? 0)
        }
        return sum
    }

    func firstAmong(_ numbers: [Int]) throws -> UInt64 {
        UInt64(try database.query(MakoIntObject.self).where(\.intCol << numbers).first()?.intCol ?? 0)
    }

    func lastSorted() throws -> UInt64 {
        UInt64(try database.query(MakoIntObject.self).orderBy(\.intCol).fetch().last?.intCol ?? 0)
    }

    func changeAll() throws { try change(texts()) }
    func changeQuery() throws { try change(texts().where(\.stringCol != "b")) }

    private func change(_ query: Query<MakoStringObject>) throws {
        try database.transaction { _ in
            let objects = try query.fetch().array
            for object in objects { object.stringCol = "c" }
            try self.database.save(objects)
        }
    }

    func deleteAll() throws -> Int { try texts().delete() }
    func deleteQuery() throws -> Int { try texts().where(\.stringCol == "a" || \.stringCol == "b").delete() }
    func hold() throws { held = try texts().fetch().array }
    func deleteHeld() throws -> Int { try database.delete(held) }
}
