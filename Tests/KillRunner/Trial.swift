import Foundation
import MakoTestSupport

/// Many cycles of the same store.
struct Trial {
    let program: String
    let cycles: Int
    let seed: UInt64
    let folder: String

    /// Kills the writer at random moments. Every fifth one dies before it is open.
    func killProcesses() throws {
        print("\(cycles) cycles of \(Workload.threads) threads, seed \(seed)")
        let start = ContinuousClock.now
        let cycle = Cycle(program: program, path: folder + "/store.mako")
        var random = SplitMix(seed: seed)
        var referee = Referee()
        var refusals = 0
        for number in 1...max(1, cycles) {
            do {
                let isEarly = random.chance(20)
                let time = random.below(isEarly ? 15 : 60)
                let refuses = !isEarly && random.chance(10)
                let acknowledged = try cycle.live(milliseconds: time, isEarly: isEarly, refusesWriters: refuses)
                if refuses { refusals += 1 }
                // Now and then readers beside each other, and beside the referee: all see the same.
                let hasReaders = number % 5 == 0 && FileManager.default.fileExists(atPath: cycle.path)
                let readers = try cycle.startReaders(hasReaders ? 2 : 0)
                let digest = try referee.check(cycle.path, acknowledged: acknowledged, after: .ofProcess)
                guard try readers.allSatisfy({ try $0.digest() == digest }) else {
                    throw Referee.Failure(description: "readers beside each other found different things")
                }
            } catch { throw Referee.Failure(description: "cycle \(number): \(error)") }
            if number % 100 == 0 {
                print("\(number) cycles, \(referee.commits) commits")
                fflush(nil)
            }
        }
        let seconds = (ContinuousClock.now - start).components.seconds
        print(
            "\(cycles) kills, \(referee.commits) commits, none lost; "
                + "\(refusals) times a second writer was refused; \(seconds) s")
    }

    /// Stops the file system below the writer.
    func cutPower() throws {
        let power = try PowerCut(in: folder)
        defer { power.remove() }
        let cycle = Cycle(program: program, path: power.mountPoint + "/store.mako", hearsErrors: false)
        var random = SplitMix(seed: seed)
        var referee = Referee()
        print("\(cycles) power cuts under \(Workload.threads) threads, seed \(seed)")
        for number in 1...max(1, cycles) {
            do {
                let isEarly = random.chance(20)
                let time = random.below(isEarly ? 15 : 100)
                let acknowledged = try cycle.live(
                    milliseconds: time, isEarly: isEarly, refusesWriters: false, end: power.cut)
                try power.unmount()
                try power.mount()
                _ = try referee.check(cycle.path, acknowledged: acknowledged, after: .ofMachine)
            } catch let refusal as PowerCut.NotPermitted { throw refusal } catch {
                throw Referee.Failure(description: "cycle \(number): \(error)")
            }
        }
        print("\(cycles) power cuts, \(referee.commits) commits, none lost that was promised to last")
    }
}
