/// Explores every state that the protocol can reach, breadth first, and looks for one that breaks a promise.
package struct ProtocolExplorer: Sendable {
    /// The result of an exploration.
    package struct Report: Sendable, CustomStringConvertible {
        /// Different states that were reached.
        package var states = 0
        /// Steps from one state to another.
        package var steps = 0
        /// Crashes that were recovered from: one for each state and each outcome of pending writes.
        package var crashes = 0
        /// The broken promise, and the steps that lead to it.
        package var failure: String?
        /// The steps to the broken promise.
        package var trace: [String] = []

        package var description: String {
            let figures = "\(states) states, \(steps) steps, \(crashes) crashes"
            guard let failure else { return "\(figures), nothing wrong" }
            return "\(figures); \(failure):\n" + trace.map { "  \($0)" }.joined(separator: "\n")
        }
    }

    /// - Parameter change: a rule to be broken.
    package static func run(_ size: ProtocolSize = ProtocolSize(), change: ProtocolChange? = nil) -> Report {
        let rules = ProtocolRules(size: size, change: change)
        var report = Report()
        let start = ProtocolState()
        var nodes: [(state: ProtocolState, parent: Int, step: String)] = [(start, -1, "")]
        var known: Set<ProtocolState> = [start]
        var next = 0
        while next < nodes.count {
            let state = nodes[next].state
            if let failure = check(state, rules, &report) {
                report.failure = failure
                report.trace = trace(nodes, to: next)
                break
            }
            for step in rules.steps(state) {
                report.steps += 1
                if known.insert(step.state).inserted { nodes.append((step.state, next, step.name)) }
            }
            next += 1
        }
        report.states = known.count
        return report
    }

    private static func trace(_ nodes: [(state: ProtocolState, parent: Int, step: String)], to end: Int) -> [String] {
        var names: [String] = []
        var node = end
        while nodes[node].parent >= 0 {
            names.append(nodes[node].step)
            node = nodes[node].parent
        }
        return names.reversed()
    }

    // MARK: Promises

    private static func check(_ state: ProtocolState, _ rules: ProtocolRules, _ report: inout Report) -> String? {
        for index in 0..<2
        where state.readers[index].phase == .pinned && !state.holds(state.memory, state.readers[index].version) {
            return "reader \(index) sees a page that is not of its commit \(state.readers[index].version)"
        }
        if !state.holds(state.memory, state.published) { return "the published commit has lost a page" }
        if !state.holds(state.memory, state.newest) { return "the newest commit has lost a page" }
        for commit in 1..<max(1, state.newest + 1) {
            let other = 1 - state.authors[commit]
            if state.roots[other][commit] != state.roots[other][commit - 1] {
                return "commit \(commit) does not build on commit \(commit - 1): an update is lost"
            }
        }
        if state.published > state.durableLog { return "commit \(state.published) is seen and not durable" }
        return checkSpace(state, rules) ?? checkDevice(state, &report)
    }

    /// Checks that no slot is both free and in use, and that every slot of a replaced page is free or waits to be.
    private static func checkSpace(_ state: ProtocolState, _ rules: ProtocolRules) -> String? {
        for slot in state.free where state.roots[0][state.newest] == slot || state.roots[1][state.newest] == slot {
            return "slot \(slot) is free and in use"
        }
        guard state.flush == .idle, state.newest == state.published else { return nil }
        for slot in 0..<state.usedSlots
        where state.deaths[slot] > 0 && !state.free.contains(slot) && !state.waiting.contains(slot) {
            return "slot \(slot) is dead and forgotten"
        }
        return nil
    }

    private static func checkDevice(_ state: ProtocolState, _ report: inout Report) -> String? {
        let run = state.checkpoint
        for version in [run.last, run.previous] {
            if !state.holds(state.durablePages, version) {
                return "the checkpoint of commit \(version) is retained and lacks a page on the device"
            }
            if state.logStart > version { return "the log behind the checkpoint of commit \(version) is gone" }
            // The meta of the older one may just be written over.
            if run.phase != .metaWritten, !(0..<2).contains(where: { state.durableMetas[$0] == version + 1 }) {
                return "the checkpoint of commit \(version) is retained and no meta page names it"
            }
        }
        for slot in 0..<state.usedSlots where state.pendingPages[slot] > 0 {
            for version in [run.last, run.previous] where (0..<2).contains(where: { state.roots[$0][version] == slot })
            {
                return "a page of the checkpoint of commit \(version) is being written over"
            }
        }
        return everyCrash(state) { outcome in
            report.crashes += 1
            return recover(outcome, state)
        }
    }

    // MARK: Crashes

    private struct Outcome {
        var pages: Nibbles
        var metas: Nibbles
        var log: Int
    }

    /// Every subset of the pending writes may have arrived; a meta page may be torn; the log may end behind any frame.
    private static func everyCrash(_ state: ProtocolState, _ body: (Outcome) -> String?) -> String? {
        let pages = (0..<state.usedSlots).filter { state.pendingPages[$0] > 0 }
        let metas = (0..<2).filter { state.pendingMetas[$0] > 0 }
        let logs = state.durableLog...max(state.durableLog, state.flush == .taken ? state.flushTarget : 0)
        for subset in 0..<1 << pages.count {
            var outcome = Outcome(pages: state.durablePages, metas: state.durableMetas, log: 0)
            for (bit, slot) in pages.enumerated() where subset >> bit & 1 == 1 {
                outcome.pages[slot] = state.pendingPages[slot]
            }
            for fate in 0..<(metas.count == 2 ? 9 : metas.count == 1 ? 3 : 1) {
                for (place, slot) in metas.enumerated() {
                    let old = state.durableMetas[slot]
                    outcome.metas[slot] = [old, state.pendingMetas[slot], 0][place == 0 ? fate % 3 : fate / 3]
                }
                for log in logs {
                    outcome.log = log
                    if let failure = body(outcome) { return failure }
                }
            }
        }
        return nil
    }

    /// Opens what a crash left: the newest meta that can be read, then the log behind it.
    private static func recover(_ outcome: Outcome, _ state: ProtocolState) -> String? {
        let newest = max(outcome.metas[0], outcome.metas[1])
        guard newest > 0 else { return "after a crash neither meta can be read" }
        let version = newest - 1
        if !state.holds(outcome.pages, version) {
            return "after a crash the checkpoint of commit \(version) lacks a page"
        }
        if state.logStart > version { return "after a crash the log behind commit \(version) is gone" }
        if max(version, outcome.log) < state.acknowledged {
            return "after a crash commit \(state.acknowledged), which was acknowledged, is lost"
        }
        if version > max(outcome.log, state.durableLog) { return "after a crash the log ends before the checkpoint" }
        return nil
    }
}
