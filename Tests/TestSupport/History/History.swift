/// The reads and writes of threads on a store, to be checked afterwards.
///
/// Two operations are ordered in real time when one ended before the other began, by their `Moment`s. Each thread keeps
/// a list of its own, so that recording orders nothing.
package struct History: Sendable {
    /// A point in real time, as a count that all threads share.
    package typealias Moment = UInt64

    /// A read on one snapshot: its commit number and what the keys were.
    package struct Read: Sendable {
        package var began: Moment
        package var ended: Moment
        /// The commit number of the snapshot.
        package var commit: UInt64
        /// The values that it read; nil: no entry.
        package var values: [UInt64: UInt64?]

        package init(began: Moment, ended: Moment, commit: UInt64, values: [UInt64: UInt64?]) {
            self.began = began
            self.ended = ended
            self.commit = commit
            self.values = values
        }
    }

    /// The end of a write transaction: acknowledged, unknown because of a crash or an error, or rolled back.
    package enum Outcome: Sendable { case acknowledged, unknown, rolledBack }

    /// A write transaction: the commit it built on, what it read there, what it wrote (nil: deleted).
    package struct Write: Sendable {
        package var began: Moment
        package var ended: Moment
        /// The number of the commit that it built on.
        package var base: UInt64
        /// The values that it read; nil: no entry.
        package var seen: [UInt64: UInt64?]
        /// The values that it wrote; nil: deleted.
        package var written: [UInt64: UInt64?]
        /// How it ended.
        package var outcome: Outcome
        /// Whether it was durable when it was acknowledged.
        package var isDurable: Bool
        /// Whether new snapshots were to see it when it was acknowledged. One that waits for nothing may stand behind
        /// others that do.
        package var isVisible: Bool

        package init(
            began: Moment, ended: Moment, base: UInt64, seen: [UInt64: UInt64?], written: [UInt64: UInt64?],
            outcome: Outcome, isDurable: Bool, isVisible: Bool = true
        ) {
            self.began = began
            self.ended = ended
            self.base = base
            self.seen = seen
            self.written = written
            self.outcome = outcome
            self.isDurable = isDurable
            self.isVisible = isVisible
        }
    }

    /// The commit number before the first write.
    package var start: UInt64
    /// The values of the keys before the first write.
    package var initial: [UInt64: UInt64]
    /// All reads on snapshots.
    package var reads: [Read] = []
    /// All write transactions.
    package var writes: [Write] = []

    /// - Parameters:
    ///   - start: the commit number before the first write.
    ///   - initial: what the keys were then.
    package init(start: UInt64, initial: [UInt64: UInt64]) {
        self.start = start
        self.initial = initial
    }

    /// Everything that contradicts a serial order by commit numbers; empty when there is nothing.
    ///
    /// - Each commit number is one transaction's, and each builds on the one before: no update is lost.
    /// - Each read, in a snapshot or in a transaction, is the state of its commit number.
    /// - Who begins after another has ended sees what that one saw or committed: real-time order.
    /// - Values that were rolled back are never visible.
    package func contradictions() -> [String] {
        var found: [String] = []
        var states = [initial]
        let made = writes.filter { $0.outcome != .rolledBack }.sorted { $0.base < $1.base }
        for write in made {
            let number = start + UInt64(states.count)
            guard write.base + 1 == number else {
                if write.outcome == .unknown { continue }
                found.append(
                    write.base + 1 < number
                        ? "two transactions built on commit \(write.base): an update is lost"
                        : "commit \(number) belongs to no transaction; the next builds on \(write.base)")
                return found
            }
            compare(write.seen, states[states.count - 1], "a transaction on commit \(write.base)", &found)
            var state = states[states.count - 1]
            for (key, value) in write.written { state[key] = value }
            states.append(state)
        }
        for write in writes where write.outcome == .rolledBack {
            guard let state = state(write.base, in: states) else {
                found.append("a rolled-back transaction built on commit \(write.base), which belongs to no transaction")
                continue
            }
            compare(write.seen, state, "a transaction on commit \(write.base), rolled back", &found)
        }
        for read in reads {
            guard let state = state(read.commit, in: states) else {
                found.append("a snapshot shows commit \(read.commit), which belongs to no transaction")
                continue
            }
            compare(read.values, state, "a snapshot of commit \(read.commit)", &found)
        }
        checkRealTime(&found)
        return found
    }

    /// The state of a commit number, as the writes give it; nil when there is no such commit.
    package func state(at commit: UInt64) -> [UInt64: UInt64]? {
        var state = initial
        var number = start
        for write in writes.filter({ $0.outcome != .rolledBack }).sorted(by: { $0.base < $1.base }) {
            if number == commit { break }
            guard write.base == number else { continue }
            for (key, value) in write.written { state[key] = value }
            number += 1
        }
        return number == commit ? state : nil
    }

    private func state(_ commit: UInt64, in states: [[UInt64: UInt64]]) -> [UInt64: UInt64]? {
        guard commit >= start, commit - start < UInt64(states.count) else { return nil }
        return states[Int(commit - start)]
    }

    private func compare(
        _ seen: [UInt64: UInt64?], _ state: [UInt64: UInt64], _ who: String, _ found: inout [String]
    ) {
        for (key, value) in seen where state[key] != value {
            found.append("\(who) sees \(describe(value)) under key \(key), where \(describe(state[key])) is")
            if found.count > 20 { return }
        }
    }

    private func describe(_ value: UInt64?) -> String { value.map { "\($0)" } ?? "nothing" }

    /// Goes through beginnings and endings in their order. What has ended sets a floor for what begins.
    ///
    /// A transaction builds on the newest commit, which may not be visible to snapshots yet: so what it saw binds later
    /// transactions, and what it committed binds snapshots once it is visible.
    private func checkRealTime(_ found: inout [String]) {
        struct Event {
            var moment: Moment
            var isEnd: Bool
            var isWrite: Bool
            /// At the beginning: what it sees. At the end: what later transactions and later snapshots must see.
            var number: UInt64
            var visible: UInt64
        }
        var events: [Event] = []
        for read in reads {
            for (moment, isEnd) in [(read.began, false), (read.ended, true)] {
                events.append(
                    Event(moment: moment, isEnd: isEnd, isWrite: false, number: read.commit, visible: read.commit))
            }
        }
        for write in writes {
            let number = write.outcome == .acknowledged ? write.base + 1 : write.base
            let visible = write.outcome == .acknowledged && write.isVisible ? number : start
            events.append(Event(moment: write.began, isEnd: false, isWrite: true, number: write.base, visible: start))
            events.append(Event(moment: write.ended, isEnd: true, isWrite: true, number: number, visible: visible))
        }
        events.sort { ($0.moment, $0.isEnd ? 1 : 0) < ($1.moment, $1.isEnd ? 1 : 0) }
        var newest = start
        var visible = start
        for event in events {
            if event.isEnd {
                newest = max(newest, event.number)
                visible = max(visible, event.visible)
            } else if event.number < (event.isWrite ? newest : visible), found.count < 20 {
                let (who, floor) = event.isWrite ? ("transaction", newest) : ("snapshot", visible)
                found.append("a \(who) begins with commit \(event.number) after another has ended with \(floor)")
            }
        }
    }
}
