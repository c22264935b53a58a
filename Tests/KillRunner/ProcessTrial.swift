import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport

/// Two and three processes at the same files, each stopped before each of its calls while others go on.
///
/// First all pairs: one is stopped before its n-th call, for every n, and the other runs to its end meanwhile. Then three at a time, and
/// deaths, in random orders, for as long as there is time.
final class ProcessTrial {
    private let program: String
    private let folder: String
    private let end: ContinuousClock.Instant
    private var random: SplitMix
    private let seed: UInt64
    private var workers: [Worker] = []
    private var trials = (pairs: 0, triples: 0, deaths: 0)
    private var acknowledged = 0
    private var refusals: [String: Int] = [:]

    init(program: String, folder: String, seconds: Int, seed: UInt64) {
        self.program = program
        self.folder = folder
        self.seed = seed
        end = ContinuousClock.now.advanced(by: .seconds(seconds))
        random = SplitMix(seed: seed)
    }

    func run() throws {
        print("processes at the same files, seed \(seed)")
        defer { for worker in workers { worker.kill() } }
        for _ in 0..<3 { workers.append(try Worker(program)) }
        var skipped = 0
        for pair in pairs() {
            var stop = 0
            while true {
                guard ContinuousClock.now < end else {
                    skipped += 1
                    break
                }
                let wasStopped = try pairTrial(pair, stop)
                trials.pairs += 1
                if !wasStopped { break }
                stop += 1
            }
        }
        while ContinuousClock.now < end { try sample() }
        print(
            "\(trials.pairs) pairs of processes, \(trials.triples) triples, \(trials.deaths) deaths, \(acknowledged) commits, none lost; "
                + "\(skipped) pairs not finished in the time")
        for (reason, count) in refusals.sorted(by: { $0.key < $1.key }) { print("refused \(count) times: \(reason)") }
    }

    private struct Pair {
        var stopped: Deed
        var other: Deed
        var isThere: Bool
    }

    private func pairs() -> [Pair] {
        var pairs: [Pair] = []
        for isThere in [true, false] {
            // A deed that creates a database fails where one exists; a deed that changes one fails where none exists.
            let deeds: [Deed] =
                isThere
                ? [.write, .compact, .key, .backup, .restore, .importing]
                : [.write, .copy, .restore, .compact, .backup, .importing]
            for stopped in deeds where isPossible(stopped) {
                for other in deeds where isPossible(other) {
                    pairs.append(Pair(stopped: stopped, other: other, isThere: isThere))
                }
            }
        }
        // In another order each time, so that a short run does not always look at the same ones.
        for index in pairs.indices.reversed() { pairs.swapAt(index, random.below(index + 1)) }
        return pairs
    }

    private func isPossible(_ deed: Deed) -> Bool {
        switch deed {
        case .key: Encryption.isAvailable
        case .importing: SteppedImport.isPossible
        default: true
        }
    }

    // MARK: Trials

    /// - Returns: false when the process ended before it was to be stopped.
    private func pairTrial(_ pair: Pair, _ stop: Int) throws -> Bool {
        let description =
            "\(pair.stopped) stopped before call \(stop), \(pair.other), \(pair.isThere ? "of a database" : "of none")"
        return try trial(description, pair.isThere, [pair.stopped, pair.other]) { workers in
            var steps = 0
            while steps <= stop, try workers[0].advance() { steps += 1 }
            let wasStopped = !workers[0].isIdle
            while try workers[1].advance() {}
            while try workers[0].advance() {}
            return wasStopped
        }
    }

    /// Three processes, one call at a time, each as chance has it; now and then one of them dies.
    private func sample() throws {
        let possible = Deed.allCases.filter(isPossible)
        let deeds = (0..<3).map { _ in possible[random.below(possible.count)] }
        let kills = random.chance(30)
        let ownSeed = random.next()
        try trial("\(deeds) in the order \(ownSeed)", random.chance(50), deeds) { workers in
            var order = SplitMix(seed: ownSeed)
            let deathAt = kills ? order.below(120) : -1
            var calls = 0
            while true {
                let busy = workers.indices.filter { !workers[$0].isIdle }
                guard !busy.isEmpty else { return }
                let next = workers[busy[order.below(busy.count)]]
                if calls == deathAt {
                    next.die()
                    trials.deaths += 1
                } else {
                    // Long runs of one process interleave with the others at more places than single calls.
                    var run = order.chance(20) ? order.below(20) : 1
                    while run > 0, try next.advance() { run -= 1 }
                }
                calls += 1
            }
        }
        trials.triples += 1
        for index in workers.indices where workers[index].isDead { workers[index] = try Worker(program) }
    }

    private func trial<R>(
        _ description: String, _ isThere: Bool, _ deeds: [Deed], _ body: ([Worker]) throws -> R
    ) throws -> R {
        let place = DeedFolder(path: folder + "/trial")
        // Made once, and copied for each trial: to make it takes longer than most trials.
        let template = DeedFolder(path: folder + (isThere ? "/database" : "/none"))
        if !FileManager.default.fileExists(atPath: template.path) { try template.prepare(isThere: isThere) }
        try? FileManager.default.removeItem(atPath: place.path)
        try FileManager.default.copyItem(atPath: template.path, toPath: place.path)
        let taking = Array(workers.prefix(deeds.count))
        do {
            for (index, (worker, deed)) in zip(taking, deeds).enumerated() {
                try worker.begin(deed, place, row: UInt64(100 + index))
            }
            let result = try body(taking)
            try check(place, isThere: isThere, taking)
            return result
        } catch {
            throw Referee.Failure(
                description: "\(description): \(error)\n\(taking.map(\.story).joined(separator: "\n"))")
        }
    }

    // MARK: What must be so afterwards

    private func check(_ place: DeedFolder, isThere: Bool, _ workers: [Worker]) throws {
        for stranger in place.strangers {
            guard try Data(contentsOf: URL(fileURLWithPath: stranger)) == Data("another's".utf8) else {
                throw Referee.Failure(description: "\(stranger) was written to")
            }
        }
        var rows = isThere ? [DeedFolder.firstOrigin] : []
        var tables: [String] = []
        for worker in workers {
            if worker.deed == .importing {
                tables += worker.acknowledged.map(SteppedImport.table)
            } else {
                rows += worker.acknowledged
            }
            acknowledged += worker.acknowledged.count
            if let refusal = worker.refusal { try note(refusal, isThere) }
            if worker.isDone, let origin = worker.deed?.origin { rows.append(origin) }
        }
        let files = POSIXFileSystem()
        if files.exists(place.database) {
            let store = try place.eitherWay(files) { try Store(at: place.database, options: $0) }
            try expect(rows, in: store)
            try expect(tables, in: store)
            try store.close()
        } else if !rows.isEmpty || !tables.isEmpty {
            throw Referee.Failure(description: "the database is gone")
        }
        let backups = workers.filter { $0.isDone && $0.deed == .backup }
        guard backups.count < 2 else { throw Referee.Failure(description: "a backup was written over another one") }
        if !backups.isEmpty {
            let store = try place.eitherWay(files, readOnly: true) { try Store(at: place.backup, options: $0) }
            try expect(isThere ? [DeedFolder.firstOrigin] : [], in: store)
            try store.close()
        }
        // The dead could not clean up.
        if workers.contains(where: \.isDead) { return }
        let known = Set(
            (place.strangers + [
                place.database, place.backup, place.source, place.base, place.base + "-origin", place.rows,
                place.keyFile,
            ]).map(FilePath.name))
        let left = try files.list(directory: place.path).filter { !known.contains($0) }
        guard left.isEmpty else { throw Referee.Failure(description: "left behind: \(left)") }
    }

    private func expect(_ rows: [UInt64], in store: Store) throws {
        let found = try store.read { view in
            var found: Set<UInt64> = []
            guard let tree = view.tree(named: "rows") else { return found }
            for row in rows where try view.get(row, in: tree) != nil { found.insert(row) }
            return found
        }
        let lost = Set(rows).subtracting(found)
        guard lost.isEmpty else { throw Referee.Failure(description: "rows \(lost.sorted()) are lost") }
        let report = try store.verify()
        guard report.isClean else { throw Referee.Failure(description: "verify: \(report.findings)") }
    }

    /// Imported tables are there, with all of their rows.
    private func expect(_ tables: [String], in store: Store) throws {
        let found = try store.read { view in
            let catalogue = try Catalogue.load(view: view)
            return try tables.filter { name in
                try catalogue.table(named: name).map { try $0.count(in: view) } == DeedFolder.importedRows
            }
        }
        guard found == tables else {
            throw Referee.Failure(description: "of the tables \(tables) only \(found) are whole")
        }
    }

    /// A process may be refused because of another one, in the engine's words; every other failure is one.
    ///
    /// - Parameter isThere: whether there is a database throughout.
    private func note(_ refusal: String, _ isThere: Bool) throws {
        var reasons = ["is in use elsewhere", "exists already"]
        if !isThere { reasons += ["no database at", "without the database it belongs to"] }
        guard let reason = reasons.first(where: refusal.contains) else {
            throw Referee.Failure(description: "a process failed: \(refusal)")
        }
        refusals[reason, default: 0] += 1
    }
}

/// A process that waits before each call.
private final class Worker {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer: [UInt8] = []
    private var lines: [String] = []
    private var place = ""
    private(set) var deed: Deed?
    private(set) var isIdle = true
    private(set) var isDone = false
    private(set) var isDead = false
    private(set) var acknowledged: [UInt64] = []
    private(set) var refusal: String?
    private var isAtCall = false
    private static let patience: Int32 = 60_000

    init(_ program: String) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["step", "-"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// The calls that it made, for the report of a failure.
    var story: String { "\(deed.map { "\($0)" } ?? "nothing"): " + lines.suffix(60).joined(separator: ", ") }

    func begin(_ deed: Deed, _ place: DeedFolder, row: UInt64) throws {
        self.deed = deed
        (isIdle, isDone, isAtCall, acknowledged, refusal, lines) = (false, false, false, [], nil, [])
        try send("\(deed.rawValue) \(place.path) \(row)")
        try listen()
    }

    /// Lets one call pass, and waits for the next. False when there is none.
    func advance() throws -> Bool {
        guard !isIdle else { return false }
        try send("go")
        try listen()
        return !isIdle
    }

    private func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Reads on up to the next call, or the end.
    private func listen() throws {
        while true {
            let line = try readLine()
            lines.append(line)
            if line.hasPrefix("call ") { return }
            if line.hasPrefix("acknowledged ") { acknowledged.append(UInt64(line.dropFirst(13)) ?? 0) }
            guard line == "done" || line.hasPrefix("failed ") else { continue }
            isIdle = true
            isDone = line == "done"
            if !isDone { refusal = String(line.dropFirst(7)) }
            return
        }
    }

    private func readLine() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeFirst(end + 1)
                return line
            }
            var watched = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&watched, 1, Worker.patience) > 0 else {
                throw Referee.Failure(description: "a process does not go on")
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Referee.Failure(description: "a process ended by itself") }
            buffer += data
        }
    }

    /// Kills the process in the middle of what it does.
    func die() {
        kill()
        isIdle = true
        isDead = true
    }

    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
