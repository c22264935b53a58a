import Foundation
import MakoReplication
import MakoStorage

/// Shipping to an object store: Mako from within, SQLite by litestream.
struct ReplicationCases {
    private let options: Options
    private let workspace: Workspace
    private let place: ReplicationPlace?

    init(options: Options, workspace: Workspace) throws {
        self.options = options
        self.workspace = workspace
        place = ReplicationPlace.isThere ? try ReplicationPlace() : nil
    }

    static var names: [String] {
        let all = [
            "replicate-bytes", "replicate-bytes-alone", "replicate-commits", "replicate-lag", "replicate-restore",
            "replicate-promote",
        ]
        return ReplicationPlace.isThere ? all : []
    }

    private static var engines: [any ReplicatedDatabase.Type] { [ReplicatedMako.self, ReplicatedSQLite.self] }
    private static let seconds = 1000
    private static let records = 10_000
    private static let restoredRecords = 100_000

    func make(_ name: String) -> BenchmarkCase? {
        guard ReplicationCases.names.contains(name), let place else { return nil }
        return switch name {
        case "replicate-bytes": bytes(name, place, commits: 500) { _, _ in usleep(10_000) }
        case "replicate-bytes-alone": bytes(name, place, commits: 50) { database, _ in try database.ship() }
        case "replicate-commits": commits(name, place)
        case "replicate-lag": lag(name, place)
        case "replicate-promote": promotion(name, place)
        default: restore(name, place)
        }
    }

    /// What the object store has after commits of one row of 100 bytes each, beyond the database before them, by commit: 100 a second and shipped
    /// each second, or each shipped before the next. What is restored from it is compared.
    private func bytes(
        _ name: String, _ place: ReplicationPlace, commits: Int,
        _ pause: @escaping (any ReplicatedDatabase, Int) throws -> Void
    ) -> BenchmarkCase {
        let contenders = ReplicationCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                try with(engine, place, records: ReplicationCases.records, interval: ReplicationCases.seconds) {
                    database, prefix, directory in
                    let before = try place.bytes(prefix)
                    for (index, key) in IntegerKeys.choices(commits, of: ReplicationCases.records).enumerated() {
                        try database.update(key, UInt64(index + 1))
                        try pause(database, index)
                    }
                    try database.ship()
                    let added = try place.bytes(prefix) - before
                    try engine.restore(directory, place, prefix: prefix)
                    return Sample(bytes: added, checksum: try engine.checksum(directory))
                }
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: ReplicationCases.records, operations: commits, unit: .bytes,
            warmsUp: false, contenders: contenders)
    }

    /// A durable commit of one row, without pause, while the database is shipped each second, and while it is not; Mako's also to objects in memory.
    private func commits(_ name: String, _ place: ReplicationPlace) -> BenchmarkCase {
        let count = options.quick ? 2000 : 20_000
        let keys = IntegerKeys.choices(count, of: ReplicationCases.records)
        func time(_ database: any ReplicatedDatabase) throws -> Sample {
            let time = try options.clock.measure {
                for (index, key) in keys.enumerated() { try database.update(key, UInt64(index + 1)) }
            }
            return Sample(nanoseconds: time, checksum: nil)
        }
        var contenders = ReplicationCases.engines.flatMap { engine in
            [true, false].map { isShipped in
                let name = engine.name == ReplicatedSQLite.name ? "SQLite" : engine.name
                return Contender(engine: isShipped ? engine.name : "\(name) alone") { _ in
                    try with(
                        engine, place, isShipped: isShipped, records: ReplicationCases.records,
                        interval: ReplicationCases.seconds
                    ) { database, _, _ in try time(database) }
                }
            }
        }
        contenders.append(
            Contender(engine: "Mako to memory") { _ in
                let directory = try workspace.make("memory")
                let database = try ReplicatedMako(
                    directory, to: MemoryObjects(), prefix: "memory", records: ReplicationCases.records,
                    interval: ReplicationCases.seconds)
                let sample = try time(database)
                try database.close()
                try workspace.remove(directory)
                return sample
            })
        return BenchmarkCase(
            name: name, durability: .full, records: ReplicationCases.records, operations: count, warmsUp: false,
            contenders: contenders)
    }

    /// From the return of a commit until a reader of a followed copy has it, where both sides look every millisecond; and one PUT of 600 bytes.
    private func lag(_ name: String, _ place: ReplicationPlace) -> BenchmarkCase {
        let count = 20
        let put = Contender(engine: "one PUT") { _ in
            let prefix = place.newPrefix("put")
            var time: UInt64 = 0
            for index in 0..<count {
                usleep(50_000)
                time += try options.clock.measure {
                    _ = try place.objects.put(
                        "\(prefix)/\(index)", ObjectContent([UInt8](repeating: 7, count: 600)), .ifAbsent)
                }
            }
            try place.removeAll(prefix)
            return Sample(nanoseconds: time, checksum: nil)
        }
        let contenders = ReplicationCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                try with(engine, place, records: ReplicationCases.records, interval: 1) { database, prefix, _ in
                    let directory = try workspace.make("\(engine.name)-copy")
                    let copy = try engine.follow(directory, place, prefix: prefix, interval: 1)
                    var time: UInt64 = 0
                    for (index, key) in IntegerKeys.choices(count, of: ReplicationCases.records).enumerated() {
                        usleep(50_000)
                        try database.update(key, UInt64(index + 1))
                        time += try options.clock.measure {
                            let end = Date().addingTimeInterval(20)
                            while try !copy.has(key, UInt64(index + 1)) {
                                guard Date() < end else { throw BenchmarkError("the copy is 20 s behind") }
                                usleep(200)
                            }
                        }
                    }
                    try copy.close()
                    try workspace.remove(directory)
                    return Sample(nanoseconds: time, checksum: nil)
                }
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: ReplicationCases.records, operations: count, warmsUp: false,
            contenders: contenders + [put])
    }

    /// The newest state of 100,000 rows, made of a full copy and 500 commits, as a new file.
    private func restore(_ name: String, _ place: ReplicationPlace) -> BenchmarkCase {
        let contenders = ReplicationCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                try with(engine, place, records: ReplicationCases.restoredRecords, interval: ReplicationCases.seconds) {
                    database, prefix, directory in
                    for (index, key) in IntegerKeys.choices(500, of: ReplicationCases.restoredRecords).enumerated() {
                        try database.update(key, UInt64(index + 1))
                    }
                    try database.ship()
                    let time = try options.clock.measure { try engine.restore(directory, place, prefix: prefix) }
                    return Sample(nanoseconds: time, checksum: try engine.checksum(directory))
                }
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: ReplicationCases.restoredRecords, operations: 1, warmsUp: false,
            contenders: contenders)
    }

    /// From the decision until a follower's file is one that programs write, and its first commit is shipped; litestream has no such step.
    private func promotion(_ name: String, _ place: ReplicationPlace) -> BenchmarkCase {
        let contender = Contender(engine: ReplicatedMako.name) { _ in
            try with(ReplicatedMako.self, place, records: ReplicationCases.records, interval: 1) {
                database, prefix, _ in
                let directory = try workspace.make("promoted")
                let follower = try Follower(place.objects, prefix: prefix, at: directory + "/copy.mako")
                for (index, key) in IntegerKeys.choices(100, of: ReplicationCases.records).enumerated() {
                    try database.update(key, UInt64(index + 1))
                }
                try database.ship()
                try follower.follow()
                var options = StoreOptions()
                options.logArchiveBytes = 256 << 20
                let time = try self.options.clock.measure {
                    let store = try follower.promote(options: options)
                    let replicator = try Replicator(store, to: place.objects, prefix: prefix)
                    try store.write { _ = try $0.createTree(named: "promoted", keys: .integer) }
                    try replicator.ship()
                    try store.close()
                }
                try workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: ReplicationCases.records, operations: 1, warmsUp: false,
            contenders: [contender])
    }

    /// Runs `body` with a database, its prefix and its directory.
    private func with(
        _ engine: any ReplicatedDatabase.Type, _ place: ReplicationPlace, isShipped: Bool = true, records: Int,
        interval: Int, _ body: (any ReplicatedDatabase, String, String) throws -> Sample
    ) throws -> Sample {
        let directory = try workspace.make(engine.name)
        let prefix = place.newPrefix(engine.name)
        let database = try engine.init(
            directory, place, prefix: isShipped ? prefix : nil, records: records, interval: interval)
        let sample = try body(database, prefix, directory)
        try database.close()
        try place.removeAll(prefix)
        try workspace.remove(directory)
        return sample
    }
}
