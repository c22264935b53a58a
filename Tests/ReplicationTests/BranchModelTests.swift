import Testing

/// Every state that the protocol of a branch can reach, with two writers.
@Suite struct BranchModelTests {
    private struct Report {
        var states = 0
        var promoted = 0
        var fenced = 0
        var failure: String?
        var trace: [String] = []
    }

    /// Explores breadth first, until a promise is broken.
    private static func run(_ size: BranchSize, _ change: BranchChange? = nil) -> Report {
        let rules = BranchRules(size: size, change: change)
        var report = Report()
        var nodes: [(state: BranchState, parent: Int, step: String)] = [(BranchState(), -1, "")]
        var known: Set<BranchState> = [BranchState()]
        var next = 0
        while next < nodes.count {
            let state = nodes[next].state
            report.states += 1
            if state.nodes[1].isWriter { report.promoted += 1 }
            if state.nodes.contains(where: \.isFenced) { report.fenced += 1 }
            if let failure = brokenPromise(state) {
                report.failure = failure
                var node = next
                while nodes[node].parent >= 0 {
                    report.trace.insert(nodes[node].step, at: 0)
                    node = nodes[node].parent
                }
                return report
            }
            for step in rules.steps(state) where known.insert(step.state).inserted {
                nodes.append((step.state, next, step.name))
            }
            next += 1
        }
        return report
    }

    private static func brokenPromise(_ state: BranchState) -> String? {
        var before: BranchState.Object?
        for (number, object) in state.objects.enumerated() {
            guard let object else { return "number \(number) is left out" }
            if let before, object.base != before.history.count || !object.history.starts(with: before.history) {
                return "object \(number) does not continue the one before it"
            }
            before = object
        }
        let branch = state.branch
        for (index, node) in state.nodes.enumerated() {
            if !branch.starts(with: node.seen) { return "the branch lacks what \(index) has shown" }
            if !node.isWriter && !branch.starts(with: node.log) { return "follower \(index) has a history of its own" }
        }
        // Else a branch would stop for ever: a database that knows its end can extend it, unless it is to be started.
        let canExtend = state.nodes.contains { !$0.isUp || !$0.isWriter || !$0.isFenced }
        return canExtend ? nil : "no database can extend the branch"
    }

    @Test func everyReachableStateKeepsThePromises() {
        let report = Self.run(BranchSize())
        #expect(report.failure == nil, "\(report.trace)")
        #expect(report.states > 10_000 && report.promoted > 1000 && report.fenced > 1000, "\(report)")
    }

    @Test(arguments: BranchChange.allCases) func aChangedRuleBreaksAPromise(_ change: BranchChange) {
        let report = Self.run(BranchSize(), change)
        #expect(report.failure != nil, "unnoticed in \(report.states) states: \(change.rawValue)")
        #expect(report.trace.count < 12)
    }
}
