import Foundation
import MakoStorage
import MakoTestSupport

/// One transaction that outgrows the cache, in a file of the real file system, and a verification of what it left: the size of the file beside
/// that of its data, and the memory beside the budget.
///
/// What the transaction changes is made by a process of its own, and what it left is verified by another, so that the memory of one step does
/// not serve the other, and is not counted for it.
struct ScaleCommand {
    /// The work of the transaction.
    enum Kind: String, CaseIterable {
        /// Entries at random keys into an empty tree.
        case puts
        /// Other values for all entries of a tree, in random order.
        case updates
        /// Three of four entries of a tree, in random order.
        case deletes
        /// Three of four entries of a tree, by one range of keys.
        case range
        /// Two indexes of a table.
        case index
        /// A full-text index of a table.
        case text
        /// A column that is converted and one that is added.
        case migration
    }

    /// At most so many bytes of file for each byte of data.
    private static let mostFile = 1.5
    /// At most so many bytes of memory for each byte of the budget.
    private static let mostMemory = 1.1

    let kind: Kind
    /// Entries of the tree, or rows of the table.
    let count: Int
    let cacheBytes: Int
    let valueBytes: Int

    /// - Parameter words: entries or rows, the cache in MiB (0: the default), the kind, and the bytes of a value (8 when left out).
    init?(_ words: [String]) {
        guard words.count == 3 || words.count == 4, let count = Int(words[0]), let cache = Int(words[1]),
            let kind = Kind(rawValue: words[2]), let bytes = words.count < 4 ? 8 : Int(words[3]), count > 0, bytes > 0
        else { return nil }
        (self.kind, self.count, valueBytes) = (kind, count, bytes)
        cacheBytes = cache == 0 ? StoreOptions().cacheBytes : cache << 20
    }

    /// Answers whether file and memory stay within their limits.
    func run() throws -> Bool {
        let folder = NSTemporaryDirectory() + "mako-scale-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/scale.mako"
        _ = try elsewhere("scale-prepare", path)

        var options = StoreOptions()
        options.cacheBytes = cacheBytes
        let store = try Store(at: path, options: options)
        let before = store.stats.livePages
        let start = ContinuousClock.now
        let meter = MemoryMeter()
        let work = ScaleWork(kind: kind, count: count, valueBytes: valueBytes)
        try store.write { tx in try work.run(in: tx) }
        let memory = meter.end()
        let duration = ContinuousClock.now - start
        let stats = store.stats
        // The former content must outlive the transaction, and new pages are added to it. Deletions at random keys
        // change every leaf before any becomes empty.
        let pages = kind == .deletes ? 2 * before : stats.livePages + (work.replaces ? before : 0)
        let sizes = try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            return (name, (attributes[.size] as? NSNumber)?.intValue ?? 0)
        }
        let file = sizes.first { folder + "/" + $0.0 == path }?.1 ?? 0
        try store.close()
        let verified = try elsewhere("scale-verify", path)
        return report(
            Figures(
                file: file, log: sizes.reduce(0) { $0 + $1.1 } - file, data: pages * stats.pageBytes, memory: memory,
                verifying: Int(verified.output), isWhole: verified.status == 0, duration: duration))
    }

    private struct Figures {
        var file: Int
        var log: Int
        var data: Int
        var memory: Int?
        var verifying: Int?
        var isWhole: Bool
        var duration: Duration
    }

    private func report(_ figures: Figures) -> Bool {
        let fileShare = Double(figures.file) / Double(max(figures.data, 1))
        print("\(kind) of \(count) with a cache of \(cacheBytes >> 20) MiB, \(figures.duration.components.seconds) s")
        print(
            "    file \(megabytes(figures.file)), data \(megabytes(figures.data)): \(rounded(fileShare)) of at most \(Self.mostFile); log \(megabytes(figures.log))"
        )
        var isWithin = fileShare <= Self.mostFile
        for (name, memory) in [("memory", figures.memory), ("memory of verify", figures.verifying)] {
            guard let memory else {
                print("    \(name) is not measured on this system")
                continue
            }
            let share = Double(memory) / Double(cacheBytes)
            print(
                "    \(name) \(megabytes(memory)), budget \(megabytes(cacheBytes)): \(rounded(share)) of at most \(Self.mostMemory)"
            )
            isWithin = isWithin && share <= Self.mostMemory
        }
        if !figures.isWhole { print("    verify finds damage") }
        return isWithin && figures.isWhole
    }

    private func megabytes(_ bytes: Int) -> String { String(format: "%.1f MB", Double(bytes) / 1e6) }

    private func rounded(_ share: Double) -> String { String(format: "%.2f", share) }

    // MARK: Other processes

    /// Runs a step in a process that does nothing else.
    private func elsewhere(_ step: String, _ path: String) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        process.arguments = [step, "\(count)", "\(cacheBytes >> 20)", kind.rawValue, "\(valueBytes)", path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard [0, Self.damaged].contains(process.terminationStatus) else { throw StepFailed(step: step) }
        return (output.trimmingCharacters(in: .whitespacesAndNewlines), process.terminationStatus)
    }

    private struct StepFailed: Error {
        let step: String
    }

    private static let damaged: Int32 = 3

    /// Makes the database.
    func prepare(_ path: String) throws {
        let store = try Store(at: path)
        try ScaleWork(kind: kind, count: count, valueBytes: valueBytes).prepare(store)
        try store.close()
    }

    /// Verifies the database, and prints the memory that it took.
    ///
    /// - Returns: the status of the process.
    func verify(_ path: String) throws -> Int32 {
        var options = StoreOptions()
        options.cacheBytes = cacheBytes
        let store = try Store(at: path, options: options)
        let meter = MemoryMeter()
        let isWhole = try store.verify().isClean
        print(meter.end().map { "\($0)" } ?? "")
        try store.close()
        return isWhole ? 0 : Self.damaged
    }
}
