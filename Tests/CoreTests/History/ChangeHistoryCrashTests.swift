import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Commits and their history, the power cut before and after every call: they are there together or not at all.
@Suite struct ChangeHistoryCrashTests {
    struct State: Equatable {
        var countries: [Country] = []
        /// The events of the change history.
        var notified: [String] = []

        static func == (left: State, right: State) -> Bool {
            left.notified == right.notified
                && left.countries.map { "\($0.code) \($0.people)" }
                    == right.countries.map { "\($0.code) \($0.people)" }
        }
    }

    struct Workload: CrashWorkload {
        let limit: Int?

        private func open(_ disk: SimulatedDisk) throws -> Database {
            var storage = StoreOptions()
            storage.fileSystem = disk
            storage.background = .manual
            storage.entropy = SeededEntropy(seed: 3)
            storage.logSegmentBytes = 64 << 10
            var options = DatabaseOptions(cacheBytes: 1 << 20, storage: storage)
            options.history = .kept(maximumTransactions: limit)
            return try Database(at: "d/world.mako", entities: [Country.self], options: options)
        }

        /// Reads the history commit by commit, each from the token of the one before.
        private func state(_ db: Database) throws -> State {
            var state = State(countries: Array(try db.query(Country.self).orderBy("code").fetch()))
            var token: HistoryToken?
            while let event = try db.history(since: token, limit: 1).first {
                state.notified.append(event.text)
                token = event.token
            }
            return state
        }

        func run(on disk: SimulatedDisk) throws -> CrashHistory<State> {
            let history = CrashHistory(State(), on: disk)
            var db = try open(disk)
            history.acknowledge()
            for round in 0..<12 {
                try db.transaction { _ in
                    try db.set("c\(round % 5)", round)
                    if round % 4 == 3 { _ = try db.delete(Country(code: "c\(round % 5)")) }
                    try db.set("d\(round % 3)", round)
                    if round == 5 {
                        _ = try? db.transaction { _ in
                            try db.set("never", 1)
                            throw Stop()
                        }
                    }
                    var next = State(countries: Array(try db.query(Country.self).orderBy("code").fetch()))
                    next.notified = try expected(after: history.states[history.states.count - 1], next)
                    history.begin(next)
                }
                history.acknowledge()
                guard try state(db) == history.states[history.states.count - 1] else {
                    throw Disagreement("\(try state(db)) instead of \(history.states[history.states.count - 1])")
                }
                if round == 7 { try db.store.checkpoint() }
                if round == 9 {
                    try db.close()
                    db = try open(disk)
                }
            }
            try db.close()
            return history
        }

        private func expected(after last: State, _ next: State) throws -> [String] {
            var texts: [String] = []
            let old = Dictionary(uniqueKeysWithValues: last.countries.map { ($0.code, $0.people) })
            let new = Dictionary(uniqueKeysWithValues: next.countries.map { ($0.code, $0.people) })
            for code in Set(old.keys).union(new.keys).sorted() where old[code] != new[code] {
                if new[code] == nil {
                    texts.append("delete Country '\(code)'")
                } else {
                    texts.append(old[code] == nil ? "insert Country '\(code)'" : "update Country '\(code)' (people)")
                }
            }
            return (last.notified + [texts.joined(separator: "; ")]).suffix(limit ?? .max)
        }

        func recover(on disk: SimulatedDisk, served: () -> Void) throws -> State {
            let db = try open(disk)
            let found = try state(db)
            served()
            // Goes on where it was.
            let token = try db.historyToken()
            guard try db.notified(since: token) == [] else { throw Disagreement("something is behind the end") }
            try db.close()
            return found
        }
    }

    private static let effort: CrashRunner.Effort =
        ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full" ? .standard : .small

    @Test(arguments: [nil, 3]) func aCommitAndItsRecordAreThereTogether(limit: Int?) throws {
        let report = try CrashRunner.run(Workload(limit: limit), effort: Self.effort)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.opened > 10, "\(report)")
    }
}
