import Foundation
import MakoReplication
import MakoStorage
import MakoTestSupport

/// Rounds of three machines that share a folder of objects. A round begins anew, and follows from its seed but for the moments at which the system lets
/// processes run, so that one that failed is run again by itself.
struct Trial {
    let program: String
    let cycles: Int
    let seed: UInt64

    /// The cycles of a round.
    private static let cyclesPerRound = 10

    func run() throws {
        print("\(cycles) cycles, seed \(seed)")
        fflush(nil)
        let start = ContinuousClock.now
        var totals = Totals()
        var rest = max(1, cycles)
        var next = seed
        while rest > 0 {
            let count = min(rest, Trial.cyclesPerRound)
            let folder = NSTemporaryDirectory() + "mako-kill-replication-\(ProcessInfo.processInfo.processIdentifier)"
            try? FileManager.default.removeItem(atPath: folder)
            do {
                let round = try Round(program: program, folder: folder, seed: next)
                defer { totals.add(round.totals) }
                for _ in 0..<count { try round.cycle() }
                try round.finish()
            } catch {
                throw Failure(
                    "\(error)\nagain: make kill-replication CYCLES=\(count) SEED=\(next)\nthe files are in \(folder)")
            }
            try? FileManager.default.removeItem(atPath: folder)
            rest -= count
            next += 1
            if (cycles - rest) % 50 == 0 {
                print("\(cycles - rest) cycles: \(totals)")
                fflush(nil)
            }
        }
        // About one of 150 has.
        guard totals.naming > 0 || totals.transactions < 20_000 else {
            throw Failure("none of \(totals.transactions) transactions has a value that the log only names")
        }
        print("\(cycles) cycles: \(totals); \((ContinuousClock.now - start).components.seconds) s")
    }
}

/// What happened.
struct Totals: CustomStringConvertible {
    var kills = 0
    var transactions = 0
    var acknowledged = 0
    var promotions = 0
    var fenced = 0
    var restored = 0
    var gaplessCycles = 0
    var gaps = 0
    var naming = 0

    mutating func add(_ other: Totals) {
        kills += other.kills
        transactions += other.transactions
        acknowledged += other.acknowledged
        promotions += other.promotions
        fenced += other.fenced
        restored += other.restored
        gaplessCycles += other.gaplessCycles
        gaps += other.gaps
        naming += other.naming
    }

    var description: String {
        "\(kills) processes killed, \(transactions) transactions shipped, \(naming) with a value that the log only "
            + "names, none of \(acknowledged) acknowledgements lost, \(promotions) promotions, \(fenced) writers "
            + "fenced, \(restored) restores, no gap in \(gaplessCycles) cycles without large transactions, "
            + "\(gaps) gaps examined in others"
    }
}

/// The cycles of one branch.
final class Round {
    /// A machine, of which a process writes, follows, or did once.
    private struct Machine {
        let path: String
        /// Whether a process said so. A file that is fenced stays so.
        var isFenced = false
        /// Whether another machine has begun to take over since this one did.
        var mayBeFenced = false
        /// The transactions of the file, of a writer.
        var history: [UInt64] = []
        /// The number of transactions, of a follower.
        var followed: UInt64 = 0
    }

    private enum Kind { case none, follower, writer }

    private let program: String
    private let folder: String
    private let objects: String
    private var random: SplitMix
    private var machines: [Machine]
    private var referee: Referee
    private var lives: UInt64
    private(set) var totals = Totals()

    init(program: String, folder: String, seed: UInt64) throws {
        self.program = program
        self.folder = folder
        objects = folder + "/objects"
        random = SplitMix(seed: seed)
        lives = seed << 12
        machines = (0..<3).map { Machine(path: "\(folder)/machine\($0)/store.mako") }
        for machine in machines {
            try FileManager.default.createDirectory(
                atPath: FilePath.directory(of: machine.path), withIntermediateDirectories: true)
        }
        referee = Referee(objects: objects, scratch: folder + "/restored.mako")
    }

    private func kind(_ machine: Int) throws -> Kind {
        var options = Workload.options(readOnly: true)
        options.logArchiveBytes = 0
        guard let look = try FollowerFile.look(at: machines[machine].path, options) else { return .none }
        return look.isFollower ? .follower : .writer
    }

    // MARK: A cycle

    /// Starts two or three processes, kills each at a moment of its own, and looks at what they left.
    func cycle() throws {
        var children: [Child] = []
        defer { for child in children { child.kill() } }
        var starts = try choose()
        while !starts.isEmpty { children.append(try start(starts.remove(at: random.below(starts.count)))) }
        var alive = children
        while !alive.isEmpty {
            for child in alive where child.isDue {
                child.kill()
                try child.waitForDeath()
                alive.removeAll { $0 === child }
            }
            Thread.sleep(forTimeInterval: 0.003)
        }
        try check(children)
    }

    private func start(_ start: Child.Start) throws -> Child { try Child(start, program, objects: objects) }

    private func choose() throws -> [Child.Start] {
        let kinds = try machines.indices.map(kind)
        var starts: [Child.Start] = []
        var hasWriter = false
        for machine in machines.indices where kinds[machine] == .writer {
            // One that is fenced tries again now and then, else it becomes a new follower.
            if machines[machine].isFenced && random.chance(50) { continue }
            starts.append(plan(.write, machine))
            hasWriter = hasWriter || !machines[machine].isFenced
        }
        if !hasWriter && !kinds.contains(.follower) && !kinds.contains(.writer) {
            starts.append(plan(.write, 0))
            hasWriter = true
        }
        for machine in machines.indices where !starts.contains(where: { $0.machine == machine }) && starts.count < 3 {
            if hasWriter && random.chance(35) { continue }
            if kinds[machine] == .writer { try wipe(machine) }
            var start = plan(.follow, machine)
            if random.chance(hasWriter ? 25 : 80) { start.promotion = 0.05 + Double(random.below(200)) / 1000 }
            starts.append(start)
        }
        if starts.count < 2 || starts.count < 3 && random.chance(50) {
            var start = plan(.restore, -1)
            start.path = folder + "/copy.mako"
            starts.append(start)
        }
        return starts
    }

    private func plan(_ role: Child.Role, _ machine: Int) -> Child.Start {
        lives += 1
        let isEarly = random.chance(15)
        return Child.Start(
            role: role, machine: machine, life: Life(id: lives), path: machine < 0 ? "" : machines[machine].path,
            death: Double(isEarly ? random.below(100) : 10 + random.below(500)) / 1000, isEarly: isEarly,
            callOfDeath: random.chance(35) ? 1 + random.below(60) : 0)
    }

    private func wipe(_ machine: Int) throws {
        let directory = FilePath.directory(of: machines[machine].path)
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
        }
        machines[machine] = Machine(path: machines[machine].path)
    }

    // MARK: What is left

    private func check(_ children: [Child]) throws {
        do {
            for child in children { try hear(child) }
            noteWriters(children)
            for child in children where child.said(.fenced) { try noteFence(child) }
            try referee.checkBranch(&random)
            for machine in machines.indices { try checkFile(machine, children) }
            totals.transactions += referee.branch.count - counted
            counted = referee.branch.count
            (totals.gaplessCycles, totals.gaps) = (referee.gaplessCycles, referee.gaps)
            totals.naming = referee.naming
        } catch {
            throw Failure("\(error)\n" + children.map(\.story).joined(separator: "\n"))
        }
        for child in children { child.forget() }
    }

    private var counted = 0

    private func hear(_ child: Child) throws {
        try referee.hear(child)
        totals.kills += child.said(.fenced) ? 0 : 1
        totals.acknowledged += child.words.count { $0.word == .acknowledged }
        totals.restored += child.words.count { $0.word == .restored }
        guard child.said(.promoting) else { return }
        totals.promotions += child.said(.promoted) ? 1 : 0
        for machine in machines.indices { machines[machine].mayBeFenced = true }
    }

    /// A writer that attaches while no other takes over is the writer of the branch, and no earlier promotion fences it.
    private func noteWriters(_ children: [Child]) {
        guard !children.contains(where: { $0.said(.promoting) }) else { return }
        for child in children where child.machine >= 0 && child.said(.attached) {
            machines[child.machine].mayBeFenced = false
        }
    }

    private func noteFence(_ child: Child) throws {
        guard child.machine >= 0, machines[child.machine].mayBeFenced else {
            throw Failure("\(child.description) is fenced, and no other has taken over")
        }
        totals.fenced += 1
        machines[child.machine].isFenced = true
    }

    private func checkFile(_ machine: Int, _ children: [Child]) throws {
        let child = children.first { $0.machine == machine }
        let path = machines[machine].path
        let name = "the file of machine \(machine)"
        if let child, child.role == .write, machines[machine].isFenced, !child.said(.fenced), child.said(.attached) {
            throw Failure("\(child.description) was fenced and is no longer")
        }
        switch try kind(machine) {
        case .none:
            guard machines[machine].history.isEmpty, machines[machine].followed == 0 else {
                throw Failure("\(name) is gone")
            }
        case .follower:
            if let child { machines[machine].followed = max(machines[machine].followed, child.greatest(.durable) ?? 0) }
            try referee.checkFollower(path, name, least: machines[machine].followed)
        case .writer:
            let durable = child.map { child in
                child.wordsAsWriter.filter { $0.word == .durable }.map { (life: child.life.id, number: $0.number) }
            }
            machines[machine].history = try referee.checkWriter(
                path, name, before: machines[machine].history, durable: durable ?? [])
        }
    }

    // MARK: The end

    /// The log goes on: a writer ships, or a follower is promoted and ships. A follower then has it all.
    func finish() throws {
        var start = plan(.follow, 0)
        let kinds = try machines.indices.map(kind)
        if let writer = machines.indices.first(where: {
            kinds[$0] == .writer && !machines[$0].isFenced && !machines[$0].mayBeFenced
        }) {
            start = plan(.write, writer)
        } else {
            if referee.branch.isEmpty { return }
            // On a machine of its own: the file of the old writer stays as it is.
            start.path = folder + "/last.mako"
            start.machine = -1
            start.promotion = 0.05
        }
        start.callOfDeath = 0
        let child = try self.start(start)
        defer { child.kill() }
        try wait(child) { child.said(.acknowledged) }
        child.kill()
        try child.waitForDeath()
        let copy = folder + "/end.mako"
        var following = plan(.follow, -1)
        (following.path, following.callOfDeath) = (copy, 0)
        let follower = try self.start(following)
        defer { follower.kill() }
        let last = child.greatest(.acknowledged) ?? 0
        try wait(follower) { (follower.greatest(.durable) ?? 0) >= last }
        follower.kill()
        try follower.waitForDeath()
        if start.machine < 0 { for machine in machines.indices { machines[machine].mayBeFenced = true } }
        try check([child, follower])
        try referee.checkFollower(copy, "the last follower", least: follower.greatest(.durable) ?? 0)
    }

    private func wait(_ child: Child, until isDone: () -> Bool) throws {
        let end = Date().addingTimeInterval(60)
        while !isDone() {
            guard child.isRunning, Date() < end else { throw Failure("nothing goes on\n\(child.story)") }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }
}
