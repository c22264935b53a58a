import Foundation

/// Users without relationships.
protocol UserEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws
    func instantiate(_ data: [UserData])
    /// Stores the prepared users, in one transaction.
    func create() throws
    /// The users whose name is Jane, by their age.
    func read() throws -> UInt64
    /// Renames them to Wendy.
    func update() throws -> Int
    func wendys() throws -> Int
    func deleteAll() throws -> Int
    /// The bytes of the file with the data, without the log.
    func fileSize() throws -> UInt64
    func close() throws
}

/// Students with a school and with grades.
protocol SchoolEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws
    func instantiate(_ data: [StudentData])
    /// Stores the prepared students, in one transaction.
    func create() throws
    /// The students with an A* in physics.
    func read() throws -> UInt64
    /// Sets the maths grades of one school to F.
    func update() throws -> Int
    func countFailed() throws -> Int
    /// Deletes students with their grades, and schools. Returns the number of students and of schools.
    func deleteAll() throws -> Int
    func countGrades() throws -> Int
    func fileSize() throws -> UInt64
    func close() throws
}

func size(of path: String) throws -> UInt64 {
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    return size?.uint64Value ?? 0
}

/// J. Bartlett's comparison of Realm and SwiftData.
final class SwiftDataCases: PublishedDesign {
    private static let steps = ["instantiate", "create", "read", "update", "file-size", "delete"]
    private static let kinds = ["users", "users-million", "students"]

    static let names = kinds.flatMap { kind in steps.map { "published-swiftdata-\(kind)-\($0)" } }

    private let options: Options
    private let workspace: Workspace
    private var sequences: [StepCases] = []

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
        let sizes = Sizes(options)
        sequences = [
            users("users-million", sizes.scaled(1_000_000, least: 100)),
            users("users", sizes.scaled(100_000, least: 100)),
            students(sizes.scaled(100_000, least: 100)),
        ]
    }

    func make(_ name: String) -> BenchmarkCase? { sequences.lazy.compactMap { $0.make(name) }.first }
    func close() throws {}

    /// Figures are for one object, those of reading and updating for the whole step.
    private func sequence(_ kind: String, _ count: Int, _ engines: [StepCases.Engine]) -> StepCases {
        StepCases(
            "published-swiftdata-\(kind)", records: count, options: options, workspace: workspace,
            steps: SwiftDataCases.steps.map { name in
                let isWhole = name == "read" || name == "update"
                return .init(
                    name: name, operations: isWhole ? 1 : count, unit: name == "file-size" ? .bytes : .nanoseconds)
            }, engines: engines)
    }

    private func users(_ kind: String, _ count: Int) -> StepCases {
        let engines: [any UserEngine.Type] = [MakoUsers.self, SQLiteUsers.self, GRDBUsers.self]
        return sequence(
            kind, count,
            engines.map { engine in
                .init(name: engine.name) { directory, passage in
                    let database = try engine.init(directory: directory)
                    let data = (0..<count).map { UserData(number: $0, ages: 18..<100) }
                    try passage.step("instantiate", checksum: { UInt64(count) }) { database.instantiate(data) }
                    try passage.step("create", checksum: { UInt64(count) }) { try database.create() }
                    try passage.step("read") { try database.read() }
                    try passage.step(
                        "update", checksum: { (changed: Int) in UInt64(changed + (try database.wendys())) }
                    ) {
                        try database.update()
                    }
                    passage.note("file-size", bytes: try database.fileSize())
                    try passage.step("delete") { UInt64(try database.deleteAll()) }
                    try database.close()
                }
            })
    }

    private func students(_ count: Int) -> StepCases {
        let engines: [any SchoolEngine.Type] = [MakoSchools.self, SQLiteSchools.self, GRDBSchools.self]
        return sequence(
            "students", count,
            engines.map { engine in
                .init(name: engine.name) { directory, passage in
                    let database = try engine.init(directory: directory)
                    let data = (0..<count).map { StudentData(number: $0, students: count) }
                    try passage.step("instantiate", checksum: { UInt64(count) }) { database.instantiate(data) }
                    try passage.step("create", checksum: { UInt64(try database.countGrades()) }) {
                        try database.create()
                    }
                    try passage.step("read") { try database.read() }
                    try passage.step(
                        "update", checksum: { (changed: Int) in UInt64(changed + (try database.countFailed())) }
                    ) {
                        try database.update()
                    }
                    passage.note("file-size", bytes: try database.fileSize())
                    try passage.step("delete", checksum: { (gone: Int) in UInt64(gone + (try database.countGrades())) })
                    {
                        try database.deleteAll()
                    }
                    try database.close()
                }
            })
    }
}
