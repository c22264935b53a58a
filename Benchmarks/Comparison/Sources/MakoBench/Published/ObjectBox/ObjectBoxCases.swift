/// ObjectBox's performance app for Swift, and the further cases of its app for Android.
final class ObjectBoxCases: PublishedDesign {
    private static let swiftSteps = ["put", "all", "access", "update", "count", "remove"]
    private static let crudSteps = ["insert", "update", "load", "access", "remove"]
    private static let lookups = ["string", "int", "string-indexed", "int-indexed", "id-sequential", "id-random"]

    static let names =
        swiftSteps.map { "published-objectbox-\($0)" }
        + ["", "-scalars", "-indexed"].flatMap { kind in crudSteps.map { "published-objectbox-android\(kind)-\($0)" } }
        + lookups.map { "published-objectbox-android-by-\($0)" }

    private let options: Options
    private let workspace: Workspace
    private let sequences: [StepCases]
    private var loaded: [String: any BoxEngine] = [:]

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
        let sizes = Sizes(options)
        let (large, small) = (sizes.scaled(1_000_000), sizes.scaled(100_000))
        let crud = { (kind: String, engines: [any BoxEngine.Type]) in
            StepCases(
                "published-objectbox-android\(kind)", records: small, options: options, workspace: workspace,
                steps: ObjectBoxCases.crudSteps.map { .init(name: $0, operations: small) },
                engines: engines.map { engine in
                    .init(name: engine.name) { directory, passage in
                        let box = try engine.init(directory: directory, isIndexed: kind == "-indexed")
                        try ObjectBoxCases.createToDelete(box, small, passage)
                    }
                })
        }
        sequences = [
            StepCases(
                "published-objectbox", records: large, options: options, workspace: workspace,
                steps: ObjectBoxCases.swiftSteps.map { .init(name: $0, operations: $0 == "count" ? 10 : large) },
                engines: ObjectBoxCases.engines(MakoTestEntity.self, PlainTestEntity.self).map { engine in
                    .init(name: engine.name) { directory, passage in
                        try ObjectBoxCases.run(engine.init(directory: directory, isIndexed: false), large, passage)
                    }
                }),
            crud("", ObjectBoxCases.engines(MakoSimpleEntity.self, PlainSimpleEntity.self)),
            crud("-scalars", ObjectBoxCases.engines(MakoScalarEntity.self, PlainScalarEntity.self)),
            crud("-indexed", ObjectBoxCases.engines(MakoIndexedEntity.self, PlainSimpleEntity.self)),
        ]
    }

    private static func engines<M: MakoBoxed, P: PlainBoxed>(_ mako: M.Type, _ plain: P.Type) -> [any BoxEngine.Type] {
        [MakoBox<M>.self, SQLiteBox<P>.self, GRDBBox<P>.self]
    }

    /// The run of the Swift app.
    private static func run(_ box: any BoxEngine, _ count: Int, _ passage: StepCases.Passage) throws {
        box.prepare((0..<count).map { BoxData(index: $0, kind: .numbered) })
        try passage.step("put") {
            try box.put(isNew: true)
            return 0
        }
        try passage.step("all") {
            try box.load()
            return 0
        }
        try passage.step("access") { box.access() }
        box.halve()
        try passage.step("update") {
            try box.update()
            return 0
        }
        try box.load()
        let halved = box.access()
        box.drop()
        try passage.step("count") { UInt64(try box.count(times: 10)) }
        try passage.step("remove", checksum: { (removed: Int) in UInt64(removed) &+ halved }) { try box.removeAll() }
        try box.close()
    }

    /// The steps of the Android app with each kind of entity.
    private static func createToDelete(_ box: any BoxEngine, _ count: Int, _ passage: StepCases.Passage) throws {
        box.prepare((0..<count).map { BoxData(index: $0, kind: .random) })
        try passage.step("insert") {
            try box.put(isNew: true)
            return UInt64(count)
        }
        box.change((0..<count).map { BoxData(index: $0, kind: .random, generation: 1) })
        try passage.step("update") {
            try box.put(isNew: false)
            return UInt64(count)
        }
        box.drop()
        try passage.step("load") {
            try box.load()
            return UInt64(count)
        }
        try passage.step("access") { box.access() }
        box.drop()
        try passage.step("remove") { UInt64(try box.removeAll()) }
        try box.close()
    }

    func make(_ name: String) -> BenchmarkCase? {
        if let found = sequences.lazy.compactMap({ $0.make(name) }).first { return found }
        let start = "published-objectbox-android-by-"
        guard name.hasPrefix(start) else { return nil }
        return lookup(name, by: String(name.dropFirst(start.count)))
    }

    private func lookup(_ name: String, by kind: String) -> BenchmarkCase? {
        let sizes = Sizes(options)
        let count = sizes.scaled(10_000, least: 100)
        // Without an index each query reads all entities: a tenth of the queries.
        let asked = kind == "string" || kind == "int" ? sizes.scaled(1_000, least: 10) : count
        let chosen = IntegerKeys.choices(asked, of: count).map { Int($0) }
        let isIndexed = kind.hasSuffix("-indexed")
        switch kind {
        case "string", "string-indexed":
            let strings = chosen.map { BoxData(index: $0 - 1, kind: .random).string }
            return reading(name, count, asked, isIndexed) { try $0.find(strings: strings) }
        case "int", "int-indexed":
            let ints = chosen.map { BoxData(index: $0 - 1, kind: .random).int }
            return reading(name, count, asked, isIndexed) { try $0.find(ints: ints) }
        case "id-sequential": return reading(name, count, asked, false) { try $0.find(ids: Array(1...count)) }
        case "id-random": return reading(name, count, asked, false) { try $0.find(ids: chosen) }
        default: return nil
        }
    }

    private func reading(
        _ name: String, _ count: Int, _ operations: Int, _ isIndexed: Bool,
        _ body: @escaping (any BoxEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let engines =
            isIndexed
            ? ObjectBoxCases.engines(MakoIndexedEntity.self, PlainSimpleEntity.self)
            : ObjectBoxCases.engines(MakoSimpleEntity.self, PlainSimpleEntity.self)
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let box = try self.box(engine, count, isIndexed)
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure { checksum = try body(box) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: operations, contenders: contenders)
    }

    private func box(_ engine: any BoxEngine.Type, _ count: Int, _ isIndexed: Bool) throws -> any BoxEngine {
        let key = "\(engine.name) \(isIndexed)"
        if let known = loaded[key] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-box"), isIndexed: isIndexed)
        made.prepare((0..<count).map { BoxData(index: $0, kind: .random) })
        try made.put(isNew: true)
        made.drop()
        try made.settle()
        loaded[key] = made
        return made
    }

    func close() throws {
        for box in loaded.values { try box.close() }
        loaded = [:]
    }
}
