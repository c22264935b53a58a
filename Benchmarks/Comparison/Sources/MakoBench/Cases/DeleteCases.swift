/// Deletions, without syncing: the records that a loaded database deletes in one transaction.
struct DeleteCases {
    let options: Options
    let workspace: Workspace
    let engines: [any KeyValueEngine.Type]

    private var records: Int { options.records }

    static let names = [
        "delete-range-integer", "delete-range-string", "delete-random-half-integer", "delete-random-half-string",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        // A tenth, out of the middle.
        let range = records / 10 * 4..<records / 10 * 5
        let half = records / 2
        // Deletes the first record before the measured time begins.
        switch name {
        case "delete-range-integer":
            return deleting(name, .integers, range.count) {
                try $0.deleteRange(UInt64(range.lowerBound + 1)...UInt64(range.upperBound))
            }
        case "delete-range-string":
            let keys = StringKeys.ordered(records)
            return deleting(name, .strings, range.count) { try $0.deleteRange(range, of: keys) }
        case "delete-random-half-integer":
            let keys = Array(IntegerKeys.shuffled(records).prefix(half).filter { $0 > 1 })
            return deleting(name, .integers, keys.count) { try $0.delete(keys) }
        case "delete-random-half-string":
            let keys = StringKeys.shuffled(records).prefix(half, without: StringKeys.ordered(records).numbers[0])
            return deleting(name, .strings, keys.count) { try $0.delete(keys) }
        default: return nil
        }
    }

    /// The commit is timed; loading, and the check of the remaining records, are not.
    private func deleting(
        _ name: String, _ keys: Setup.Keys, _ count: Int, _ delete: @escaping (any KeyValueEngine) throws -> Void
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try workspace.make("\(engine.name)-delete")
                let database = try engine.init(
                    Setup(directory: directory, keys: keys, durability: .relaxed, records: records))
                switch keys {
                case .integers: try database.insert(IntegerKeys.ordered(records), order: .ascending)
                case .strings: try database.insert(StringKeys.ordered(records), order: .ascending)
                }
                try database.settle()
                // Work at the first use of a file is done before the measured time.
                switch keys {
                case .integers: try database.deleteRange(1...1)
                case .strings: try database.deleteRange(0..<1, of: StringKeys.ordered(records))
                }
                let time = try options.clock.measure { try delete(database) }
                let checksum = try database.scan()
                try database.close()
                try workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .relaxed, records: records, operations: count, warmsUp: false,
            contenders: contenders)
    }
}
