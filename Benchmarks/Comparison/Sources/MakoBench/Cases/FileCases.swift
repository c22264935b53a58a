import Foundation

/// The cost of a database as a file: its size, its opening, and its opening after a crash.
struct FileCases {
    let options: Options
    let workspace: Workspace

    static let names = [
        "space-integer-ordered", "space-integer-random", "space-string-ordered", "space-string-random", "open-clean",
        "recovery",
    ]

    private var engines: [any KeyValueEngine.Type] {
        [MakoEngine.self, LMDBEngine<LMDBDefault>.self, SQLiteEngine.self]
    }
    private var records: Int { options.records }

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "open-clean": opening(name)
        case "recovery": recovery(name)
        case _ where name.hasPrefix("space-") && FileCases.names.contains(name): space(name)
        default: nil
        }
    }

    /// The pages that all records need, loaded in one transaction.
    private func space(_ name: String) -> BenchmarkCase {
        let keys: Setup.Keys = name.contains("string") ? .strings : .integers
        let order: KeyOrder = name.hasSuffix("ordered") ? .ascending : .random
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try workspace.make("\(engine.name)-space")
                let database = try engine.init(
                    Setup(directory: directory, keys: keys, durability: .relaxed, records: records))
                switch keys {
                case .integers:
                    let numbers = order != .random ? IntegerKeys.ordered(records) : IntegerKeys.shuffled(records)
                    try database.insert(numbers, order: order)
                case .strings:
                    let strings = order != .random ? StringKeys.ordered(records) : StringKeys.shuffled(records)
                    try database.insert(strings, order: order)
                }
                try database.settle()
                let bytes = try database.reachableBytes()
                let checksum = try database.scan()
                try database.close()
                try workspace.remove(directory)
                return Sample(bytes: bytes, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .relaxed, records: records, operations: records, unit: .bytes, warmsUp: false,
            contenders: contenders)
    }

    /// From the closed file to the first record read.
    private func opening(_ name: String) -> BenchmarkCase {
        let count = 20
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let setup = try Setup(
                    directory: workspace.make("\(engine.name)-open"), keys: .integers, durability: .relaxed,
                    records: records)
                let first = try engine.init(setup)
                try first.insert(IntegerKeys.ordered(records), order: .ascending)
                try first.settle()
                try first.close()
                let keys = IntegerKeys.choices(count, of: records)
                var (time, checksum): (UInt64, UInt64) = (0, 0)
                for key in keys {
                    var database: (any KeyValueEngine)?
                    time += try options.clock.measure {
                        let opened = try engine.init(setup)
                        checksum &+= try opened.gets([key])
                        database = opened
                    }
                    try database?.close()
                }
                try workspace.remove(setup.directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: records, operations: count, warmsUp: false, contenders: contenders)
    }

    /// Opens a file whose log has 64 MiB of random updates, in transactions of 100: the time per MiB, the checkpoint at the end included.
    ///
    /// Without peers: LMDB has no log, and SQLite's and RocksDB's logs of the same writes hold other amounts of bytes.
    private func recovery(_ name: String) -> BenchmarkCase {
        let megabytes = 64
        let contender = Contender(engine: MakoEngine.name) { _ in
            var setup = try Setup(
                directory: workspace.make("log"), keys: .integers, durability: .relaxed, records: records)
            setup.keepsLog = true
            let writing = try MakoEngine(setup)
            try writing.insert(IntegerKeys.ordered(records), order: .ascending)
            try writing.settle()
            let keys = IntegerKeys.choices(1_000_000, of: records)
            var done = 0
            let before = writing.logBytes
            while writing.logBytes - before < UInt64(megabytes << 20) {
                try writing.update(keys[done..<done + 1000], round: 1, perTransaction: 100)
                done = (done + 1000) % keys.count
            }
            let checksum = try writing.scan()
            // The files as a crash leaves them.
            var crashed = setup
            crashed.directory += "-crashed"
            crashed.keepsLog = false
            try FileManager.default.copyItem(atPath: setup.directory, toPath: crashed.directory)
            try writing.close()
            sync()
            var database: MakoEngine?
            let time = try options.clock.measure { database = try MakoEngine(crashed) }
            guard let database, try database.scan() == checksum else { throw BenchmarkError("recovery lost records") }
            try database.close()
            try workspace.remove(setup.directory)
            try workspace.remove(crashed.directory)
            return Sample(nanoseconds: time, checksum: checksum)
        }
        return BenchmarkCase(
            name: name, durability: .full, records: records, operations: megabytes, warmsUp: false,
            contenders: [contender])
    }
}
