import MakoCore

final class MakoStaff: KeepingStaffEngine {
    static let name = "Mako"

    private let database: Database
    private var held: [MakoWorker] = []

    init(directory: String) throws {
        database = try Database(
            at: directory + "/staff.mako", entities: [MakoWorker.self, MakoSection.self, MakoPlace.self],
            options: DatabaseOptions(durability: .ordered, cacheBytes: 1 << 30))
    }

    func fill(_ count: Int) throws {
        let locations = (1...Staff.locations(count)).map { MakoPlace(name: "place \($0)", floors: $0 % 40) }
        let departments = (1...Staff.departments(count)).map {
            MakoSection(name: "section \($0)", location: locations[$0 % locations.count])
        }
        let people = (1...count).map {
            MakoWorker(
                name: "person number \($0)", age: $0 % 70,
                department: departments[Staff.department(of: $0, among: departments.count) - 1])
        }
        try database.save(locations)
        try database.save(departments)
        try database.save(people)
        try database.store.checkpoint()
    }

    func hold(_ count: Int) throws { held = Array(try database.query(MakoWorker.self).limit(count).fetch()) }

    func traverseHeld() throws -> UInt64 { try sum(held) }

    private func sum(_ people: some Sequence<MakoWorker>) throws -> UInt64 {
        var sum: UInt64 = 0
        for person in people {
            guard let location = person.department?.location else { throw missing(UInt64(person.id ?? 0)) }
            sum &+= UInt64(location.floors)
        }
        return sum
    }

    func countDepartments(rounds: Int) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<rounds {
            for person in held where person.department != nil { sum &+= 1 }
        }
        return sum
    }

    func fetchWithLocations() throws -> UInt64 {
        try sum(try database.query(MakoWorker.self).prefetch(\.department.location).fetch())
    }

    func close() throws {
        held = []
        try database.close()
    }
}
