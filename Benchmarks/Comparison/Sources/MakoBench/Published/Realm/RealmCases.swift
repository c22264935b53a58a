import Foundation

/// Realm's performance tests.
final class RealmCases: PublishedDesign {
    private static let insertSteps = ["insert-objects", "insert-values", "insert-single"]
    private static let largeSteps = [
        "count", "read-all", "read-query", "read-ints", "change-query", "change-all", "delete-all",
    ]
    private static let collectionSteps = ["read-list", "read-set"]
    private static let mediumSteps = ["first-and-count", "delete-query", "delete-objects"]
    private static let lookupSteps = ["lookup-unindexed", "lookup-indexed", "in", "sort"]

    static let names =
        (insertSteps + largeSteps + collectionSteps + mediumSteps + lookupSteps + ["open"]).map {
            "published-realm-" + $0
        }
        + RealmCommitCases.names

    private let options: Options
    private let workspace: Workspace
    private let engines: [any RealmEngine.Type] = [MakoRealm.self, SQLiteRealm.self, GRDBRealm.self]
    private let sizes: Sizes
    private var sequences: [StepCases] = []

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
        sizes = Sizes(options)
        sequences = [inserts, large, collections, medium, lookups]
    }

    func make(_ name: String) -> BenchmarkCase? {
        if let found = sequences.lazy.compactMap({ $0.make(name) }).first { return found }
        return name == "published-realm-open" ? opening(name) : RealmCommitCases(options: options).make(name)
    }

    func close() throws {}

    /// - Parameter run: gets a closure that makes an engine with a directory of its own.
    private func sequence(
        _ records: Int, _ steps: [(name: String, operations: Int)],
        _ run: @escaping (_ make: () throws -> any RealmEngine, _ passage: StepCases.Passage) throws -> Void
    ) -> StepCases {
        StepCases(
            "published-realm", records: records, options: options, workspace: workspace,
            steps: steps.map { .init(name: $0.name, operations: $0.operations) },
            engines: engines.map { engine in
                .init(name: engine.name) { directory, passage in
                    var count = 0
                    func make() throws -> any RealmEngine {
                        count += 1
                        let place = "\(directory)/\(count)"
                        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                        return try engine.init(directory: place)
                    }
                    try run(make, passage)
                }
            })
    }

    private var inserts: StepCases {
        let (many, few) = (sizes.scaled(100_000), sizes.scaled(5_000))
        return sequence(many, [("insert-objects", many), ("insert-values", many), ("insert-single", few)]) {
            make, passage in
            func insertion(_ name: String, _ body: (any RealmEngine) throws -> Void) throws {
                let engine = try make()
                try passage.step(name, checksum: { UInt64(try engine.countAll()) }) { try body(engine) }
                try engine.close()
            }
            try insertion("insert-objects") { try $0.insertObjects(many) }
            try insertion("insert-values") { try $0.insertValues(many) }
            try insertion("insert-single") { try $0.insertEach(few) }
        }
    }

    /// A million texts and a million ints; the cases that read precede those that change them.
    private var large: StepCases {
        let pairs = sizes.scaled(500_000)
        let (all, half) = (2 * pairs, pairs)
        let counts = 50
        let operations = [counts, all, half, all, half, all, all]
        let steps = zip(RealmCases.largeSteps, operations).map { (name: $0, operations: $1) }
        return sequence(all, steps) { make, passage in
            let engine = try make()
            try engine.fill(pairs: pairs)
            try passage.step("count") {
                var sum = 0
                for _ in 0..<counts { sum += try engine.countWhere() }
                return UInt64(sum)
            }
            try passage.step("read-all") { try engine.readAll() }
            try passage.step("read-query") { try engine.readQuery() }
            try passage.step("read-ints") { try engine.readInts() }
            try passage.step("change-query", checksum: { try engine.readAll() }) { try engine.changeQuery() }
            try passage.step("change-all", checksum: { try engine.readAll() }) { try engine.changeAll() }
            try passage.step("delete-all") { UInt64(try engine.deleteAll()) }
            try engine.close()
        }
    }

    /// A list and a set of the million texts: in a database of their own, so that no collection has objects that other cases delete.
    private var collections: StepCases {
        let pairs = sizes.scaled(500_000)
        let steps = RealmCases.collectionSteps.map { (name: $0, operations: 2 * pairs) }
        return sequence(2 * pairs, steps) { make, passage in
            let engine = try make()
            try engine.fill(pairs: pairs)
            try engine.collect()
            try passage.step("read-list") { try engine.readList() }
            try passage.step("read-set") { try engine.readSet() }
            try engine.close()
        }
    }

    private var medium: StepCases {
        let pairs = sizes.scaled(50_000)
        let counts = 50
        let all = 2 * pairs
        let steps = [("first-and-count", counts), ("delete-query", all), ("delete-objects", all)]
        return sequence(all, steps) { make, passage in
            let engine = try make()
            try engine.fill(pairs: pairs)
            try passage.step("first-and-count") {
                var sum = 0
                for _ in 0..<counts { sum += try engine.firstAndCount() }
                return UInt64(sum)
            }
            try passage.step("delete-query") { UInt64(try engine.deleteQuery()) }
            try engine.fill(pairs: pairs)
            try engine.hold()
            try passage.step("delete-objects") { UInt64(try engine.deleteHeld()) }
            try engine.close()
        }
    }

    private var lookups: StepCases {
        let (texts, indexed) = (sizes.scaled(10_000), sizes.scaled(50_000))
        let (ints, sorted) = (sizes.scaled(100_000, least: 2), sizes.scaled(8_000))
        let (among, sorts) = (10, 50)
        let steps = [
            ("lookup-unindexed", texts), ("lookup-indexed", indexed), ("in", among), ("sort", sorts),
        ]
        return sequence(indexed, steps) { make, passage in
            let engine = try make()
            try engine.fillTexts(texts)
            try engine.fillIndexed(indexed)
            try engine.fillInts(Array(0..<ints))
            try passage.step("lookup-unindexed") { try engine.lookUp(texts) }
            try passage.step("lookup-indexed") { try engine.lookUpIndexed(indexed) }
            let odd = (0..<ints).filter { $0 % 2 == 1 }
            try passage.step("in") {
                var sum: UInt64 = 0
                for _ in 0..<among { sum &+= try engine.firstAmong(odd) }
                return sum
            }
            try engine.close()
            let other = try make()
            try other.fillInts((0..<sorted).map { Int(Mixer.mix(UInt64($0)) >> 2) })
            try passage.step("sort") {
                var sum: UInt64 = 0
                for _ in 0..<sorts { sum &+= try other.lastSorted() }
                return sum
            }
            try other.close()
        }
    }

    /// Opens a file with empty tables, counts rows, and closes it: a tenth of the published number of times.
    private func opening(_ name: String) -> BenchmarkCase {
        let count = sizes.scaled(500)
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-open")
                try engine.init(directory: directory).close()
                var rows = 0
                let time = try self.options.clock.measure {
                    for _ in 0..<count {
                        let opened = try engine.init(directory: directory)
                        rows += try opened.countAll()
                        try opened.close()
                    }
                }
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: UInt64(rows))
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: count, operations: count, warmsUp: false, contenders: contenders)
    }
}
