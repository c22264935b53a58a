import Foundation

/// The workloads of YCSB, and durable batches: values of 1 KiB under keys of 20 bytes, a fifth as many as there are records elsewhere.
final class WorkloadCases {
    private let options: Options
    private let workspace: Workspace

    private var records: Int { max(10_000, options.records / 5) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static var engines: [any WorkloadEngine.Type] {
        var engines: [any WorkloadEngine.Type] = [
            MakoWorkload.self, LMDBWorkload<LMDBDefault>.self, LMDBWorkload<LMDBWriteMap>.self, SQLiteWorkload.self,
        ]
        #if ROCKSDB
            engines.append(RocksDBWorkload.self)
        #endif
        return engines
    }

    /// `ycsb-a-1`: workload A by one thread, without waiting for the disk; `ycsb-a-4-durable`: by four, with.
    static let names =
        Workload.all.flatMap { workload in
            [1, 4].flatMap { threads in
                ["", "-durable"].compactMap { mode in
                    // Nothing is written in C.
                    workload.letter == "c" && mode == "-durable" ? nil : "ycsb-\(workload.letter)-\(threads)\(mode)"
                }
            }
        } + ["batch-durable", "commit-durable-8-1k"]

    func make(_ name: String) -> BenchmarkCase? {
        if name == "batch-durable" { return batches(name) }
        if name == "commit-durable-8-1k" { return commits(name) }
        let words = name.split(separator: "-")
        guard words.count >= 3, words[0] == "ycsb", let threads = Int(words[2]),
            let workload = Workload.all.first(where: { String($0.letter) == words[1] })
        else { return nil }
        let isDurable = words.last == "durable"
        // Scans read fifty records each, and durable cases are slow.
        let perThread = isDurable ? 1_000 : workload.letter == "e" ? 10_000 : 50_000
        return running(
            name, workload, threads: threads, isDurable ? .full : .relaxed,
            options.quick ? perThread / 5 : perThread)
    }

    /// A loaded database for each repetition: records inserted in one are not there for the next.
    private func loaded(_ engine: any WorkloadEngine.Type, _ name: String, _ durability: SyncMode) throws -> (
        engine: any WorkloadEngine, directory: String
    ) {
        let directory = try workspace.make("\(engine.name)-\(name)")
        let database = try engine.init(
            Setup(directory: directory, keys: .strings, durability: durability, records: records))
        try database.load(0..<UInt64(records))
        try database.settle()
        return (database, directory)
    }

    private func timed(
        _ name: String, _ durability: SyncMode, threads: Int, operations: Int,
        _ body: @escaping @Sendable (_ thread: Int, any WorkloadSession) throws -> Void
    ) -> BenchmarkCase {
        let contenders = WorkloadCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                let (database, directory) = try self.loaded(engine, name, durability)
                let time = try self.options.clock.measure {
                    try onThreads(threads) { thread in
                        let session = try database.session()
                        try body(thread, session)
                        try session.end()
                    }
                }
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: records, operations: operations, threads: threads,
            warmsUp: false, contenders: contenders)
    }

    private func running(
        _ name: String, _ workload: Workload, threads: Int, _ durability: SyncMode, _ perThread: Int
    ) -> BenchmarkCase {
        let records = records
        let steps = (0..<threads).map { thread in
            workload.steps(
                perThread, records: records, firstNew: UInt64(records + thread * perThread), seed: UInt64(thread + 1))
        }
        return timed(name, durability, threads: threads, operations: perThread * threads) { thread, session in
            let maker = RecordMaker()
            var sum: UInt64 = 0
            for step in steps[thread] {
                maker.make(step.record)
                switch step.kind {
                case .read: sum &+= try session.read(maker.key)
                case .update, .insert: try session.write(maker.key, maker.value)
                case .modify: try session.modify(maker.key, maker.value)
                case .scan: sum &+= try session.scan(from: maker.key, step.length)
                }
            }
            withExtendedLifetime(sum) {}
        }
    }

    /// A thousand scattered records in each durable transaction.
    private func batches(_ name: String) -> BenchmarkCase {
        let count = options.quick ? 5 : 20
        let records = records
        return timed(name, .full, threads: 1, operations: count) { _, session in
            for batch in 0..<count {
                let first = UInt64(records + batch * 1000)
                try session.write((first..<first + 1000).map { $0 })
            }
        }
    }

    /// Durable transactions of one record by eight threads.
    private func commits(_ name: String) -> BenchmarkCase {
        let count = options.quick ? 200 : 1000
        let records = records
        return timed(name, .full, threads: 8, operations: count * 8) { thread, session in
            let maker = RecordMaker()
            for number in 0..<count {
                maker.make(UInt64(records + thread * count + number))
                try session.write(maker.key, maker.value)
            }
        }
    }
}
