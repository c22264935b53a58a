import Dispatch
import Foundation
import Synchronization

/// The part of Realm's tests about commits and their notifications, in memory.
struct RealmCommitCases {
    static let names = ["commits", "commits-heard", "commits-seen", "ping-pong"].map { "published-realm-" + $0 }

    let options: Options

    private var sizes: Sizes { Sizes(options) }

    func make(_ name: String) -> BenchmarkCase? {
        let all: [any CommitEngine.Type] = [MakoCommits.self, SQLiteCommits.self, GRDBCommits.self]
        let across: [any CrossThreadEngine.Type] = [MakoCommits.self, GRDBCommits.self]
        switch name {
        case "published-realm-commits":
            let count = sizes.scaled(500)
            return benchmark(name, count, all) { engine in
                try self.options.clock.measure { try engine.commit(count) }
            }
        case "published-realm-commits-heard":
            let count = sizes.scaled(5_000)
            return benchmark(name, count, all) { engine in
                let heard = Counter()
                try engine.listen { heard.increment() }
                let time = try self.options.clock.measure { try engine.commit(count) }
                guard heard.value == count else {
                    throw BenchmarkError("\(heard.value) of \(count) commits were delivered")
                }
                return time
            }
        case "published-realm-commits-seen":
            let count = sizes.scaled(1_000)
            return benchmark(name, count, across) { try self.seen($0, count) }
        case "published-realm-ping-pong":
            let count = sizes.scaled(5_000)
            return benchmark(name, count, across) { try self.pingPong($0, count) }
        default: return nil
        }
    }

    /// Until another thread has seen the last of the commits.
    private func seen(_ engine: any CommitEngine, _ count: Int) throws -> UInt64 {
        guard let engine = engine as? any CrossThreadEngine else { throw BenchmarkError("notifies no other thread") }
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try engine.follow(on: DispatchQueue(label: "seen")) { number in
            if number == 0 { begun.signal() }
            if number == count { ended.signal() }
        }
        begun.wait()
        let time = try options.clock.measure {
            try engine.commit(count)
            ended.wait()
        }
        engine.unfollow()
        return time
    }

    /// Two threads alternate: each sees the other's commit and makes the next.
    private func pingPong(_ engine: any CommitEngine, _ count: Int) throws -> UInt64 {
        guard let engine = engine as? any CrossThreadEngine else { throw BenchmarkError("notifies no other thread") }
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let turns = Turns(engine)
        for parity in 0..<2 {
            try engine.follow(on: DispatchQueue(label: "player \(parity)")) { number in
                if number == 0 { return _ = begun.signal() }
                if number == count { return _ = ended.signal() }
                if number % 2 == parity { turns.take(number + 1) }
            }
        }
        for _ in 0..<2 { begun.wait() }
        let time = try options.clock.measure {
            try engine.set(1)
            for _ in 0..<2 { ended.wait() }
        }
        engine.unfollow()
        return time
    }

    private func benchmark(
        _ name: String, _ operations: Int, _ engines: [any CommitEngine.Type],
        _ body: @escaping (any CommitEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.map { type in
            Contender(engine: type.name) { _ in
                let engine = try type.init()
                let time = try body(engine)
                try engine.close()
                return Sample(nanoseconds: time, checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: operations, operations: operations, contenders: contenders)
    }
}

private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }
    func increment() { count.add(1, ordering: .relaxed) }
}

/// The next number, set by the thread whose turn it is.
private final class Turns: @unchecked Sendable {
    // Unchecked: one thread at a time has the turn, and the commit that passes it on orders the accesses.
    private let engine: any CrossThreadEngine

    init(_ engine: any CrossThreadEngine) { self.engine = engine }

    func take(_ number: Int) {
        do { try engine.set(number) } catch { print("\(error)") }
    }
}
