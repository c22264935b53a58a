import Mako

final class MakoBox<Thing: MakoBoxed>: BoxEngine {
    static var name: String { "Mako" }

    private let database: Database
    private var prepared: [Thing] = []
    private var held: [Thing] = []

    /// The type declares which properties are indexed.
    init(directory: String, isIndexed: Bool) throws {
        database = try Database(directory: directory, entities: [Thing.self], durability: .full)
    }

    func prepare(_ data: [BoxData]) { prepared = data.map { Thing($0) } }
    func change(_ data: [BoxData]) { for index in prepared.indices { prepared[index].take(data[index]) } }
    func put(isNew: Bool) throws { try database.save(prepared) }
    func load() throws { held = try database.query(Thing.self).fetch().array }
    func access() -> UInt64 { held.checksum }
    func halve() { for index in held.indices { held[index].long /= 2 } }
    func update() throws { try database.save(held) }
    func count() throws -> Int { try database.query(Thing.self).count() }

    func count(times: Int) throws -> Int {
        try database.read {
            var count = 0
            for _ in 0..<times { count = try self.count() }
            return count
        }
    }

    func removeAll() throws -> Int { try database.query(Thing.self).delete() }

    func drop() {
        prepared = []
        held = []
    }

    func settle() throws { try database.settle() }

    func find(strings: [String]) throws -> UInt64 { try find(strings.compactMap { Thing.hasString($0) }) }
    func find(ints: [Int32]) throws -> UInt64 { try find(ints.map { Thing.hasInt($0) }) }

    private func find(_ conditions: [Condition<Thing>]) throws -> UInt64 {
        try database.read {
            var sum: UInt64 = 0
            for condition in conditions {
                sum &+= try self.database.query(Thing.self).where(condition).fetch().checksum
            }
            return sum
        }
    }

    func find(ids: [Int]) throws -> UInt64 {
        try database.read {
            var sum: UInt64 = 0
            for id in ids {
                guard let thing = try self.database.find(Thing.self, id) else { throw missing(UInt64(id)) }
                sum &+= thing.checksum
            }
            return sum
        }
    }

    func close() throws { try database.close() }
}
