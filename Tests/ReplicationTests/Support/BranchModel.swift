// A model of the protocol of a branch, without bytes: a writer whose commits wait for the object store, a follower that
// is promoted, requests that take effect late or never, lost answers, and crashes. A log is the list of its commits,
// each with a number of its own, in place of its chain value.

/// A rule of the protocol that is changed, to see whether the model notices.
enum BranchChange: String, CaseIterable, Sendable {
    case putReplaces = "a put replaces the object that has the name"
    case adoptsWithoutProof = "a writer takes any object under its number for its own"
    case acknowledgedAtOnce = "commits are confirmed when the request is sent"
    case lossCounts = "a lost answer counts as success"
    case nextNumberAfterLoss = "a writer goes on to the next number after a lost answer"
    case numberFromListing = "a writer takes the number behind the newest object, not behind its own end"
    case attachesWithoutProof = "a writer attaches without a look whether its log has the end of the branch"
    case tailIsShown = "an opened database shows its log before it is shipped"
    case promotesWithoutNumber = "a promotion takes no number"
    case promotesBehindNewest = "a promotion takes the number behind the newest object, and applies nothing before it"
    case promotionAppendedFirst = "a promotion is appended to the log before it has its number"
}

/// How much happens in a run of the model.
struct BranchSize: Sendable {
    /// Commits of each database.
    var commits = 2
    var losses = 1
    var crashes = 1
    var promotions = 2
}

/// Everything that decides what can happen next.
struct BranchState: Hashable {
    /// An object of the sequence: the history of the branch through its commits, of which the first `base` are before it.
    struct Object: Hashable {
        var history: [UInt8] = []
        var base = 0
    }

    /// A put. Its sender may have given up; it takes effect all the same, at any time.
    struct Request: Hashable {
        var sender: Int
        var number: Int
        var object: Object
        /// Whether it created its object; nil before it takes effect.
        var hasCreated: Bool?
        var isAwaited = true
    }

    struct Node: Hashable {
        /// The commits that are durable in its file.
        var log: [UInt8] = []
        /// What its readers and its callers know.
        var seen: [UInt8] = []
        var isWriter: Bool
        // Until the end of the process.
        var isUp = true
        var isFenced = false
        /// The newest object that it knows, and the number of commits through it.
        var position = 0
        var end = 0
        var commits = 0
    }

    /// The first object is the full backup of an empty database.
    var objects: [Object?] = [Object()]
    var requests: [Request] = []
    var nodes = [Node(isWriter: true), Node(isWriter: false)]
    var losses = 0
    var crashes = 0
    var promotions = 0

    /// The number of the last object that no gap is before.
    var newest: Int { (objects.firstIndex { $0 == nil } ?? objects.count) - 1 }
    /// The history of the branch.
    var branch: [UInt8] { objects[newest]?.history ?? [] }

    func object(_ number: Int) -> Object? { number < objects.count ? objects[number] : nil }

    mutating func set(_ object: Object, at number: Int) {
        while objects.count <= number { objects.append(nil) }
        objects[number] = object
    }
}

/// The possible next steps.
struct BranchRules {
    let size: BranchSize
    let change: BranchChange?

    typealias Step = (name: String, state: BranchState)

    func steps(_ state: BranchState) -> [Step] {
        var steps: [Step] = []
        func step(_ name: String, _ body: (inout BranchState) -> Void) {
            var next = state
            body(&next)
            steps.append((name, next))
        }
        for place in state.requests.indices where state.requests[place].hasCreated == nil {
            let request = state.requests[place]
            step("the put of number \(request.number) by \(request.sender) takes effect") { effect(&$0, place) }
        }
        for index in state.nodes.indices {
            if !state.nodes[index].isUp {
                step("\(index) starts again") { start(&$0, index) }
                continue
            }
            if state.crashes < size.crashes {
                step("\(index) crashes") {
                    $0.crashes += 1
                    $0.nodes[index].isUp = false
                    abandon(&$0, index)
                }
            }
            let node = state.nodes[index]
            guard !node.isFenced else { continue }
            if node.isWriter && node.commits < size.commits {
                step("\(index) commits") { $0.commit(index) }
            }
            if let place = state.requests.firstIndex(where: { $0.sender == index && $0.isAwaited }) {
                answerSteps(state, index, place, step)
            } else if node.isWriter {
                guard node.log.count > node.end else { continue }
                step("\(index) ships") { ship(&$0, index) }
            } else {
                followerSteps(state, index, step)
            }
        }
        return steps
    }

    private typealias Take = (String, (inout BranchState) -> Void) -> Void

    // MARK: The object store

    private func effect(_ state: inout BranchState, _ place: Int) {
        let request = state.requests[place]
        let isAbsent = state.object(request.number) == nil
        if isAbsent || change == .putReplaces { state.set(request.object, at: request.number) }
        if request.isAwaited {
            state.requests[place].hasCreated = isAbsent || change == .putReplaces
        } else {
            state.requests.remove(at: place)
        }
    }

    /// The sender no longer waits.
    private func abandon(_ state: inout BranchState, _ index: Int) {
        state.requests.removeAll { $0.sender == index && $0.hasCreated != nil }
        for place in state.requests.indices where state.requests[place].sender == index {
            state.requests[place].isAwaited = false
        }
    }

    private func answerSteps(_ state: BranchState, _ index: Int, _ place: Int, _ step: Take) {
        let request = state.requests[place]
        if let hasCreated = request.hasCreated {
            step("\(index) gets its answer") {
                $0.requests.remove(at: place)
                answer(&$0, index, request, hasCreated)
            }
        }
        guard state.losses < size.losses else { return }
        step("\(index) gives up") {
            $0.losses += 1
            abandon(&$0, index)
            switch change {
            case .lossCounts: accept(&$0, index, request.object, request.number)
            case .nextNumberAfterLoss where $0.nodes[index].isWriter:
                $0.nodes[index].position = request.number
                $0.nodes[index].end = request.object.history.count
            default: break
            }
        }
    }

    private func answer(
        _ state: inout BranchState, _ index: Int, _ request: BranchState.Request, _ hasCreated: Bool
    ) {
        guard !hasCreated, let found = state.object(request.number) else {
            return accept(&state, index, request.object, request.number)
        }
        let node = state.nodes[index]
        if node.isWriter {
            // An object of its own, whose answer was lost, or of another database.
            if node.log.starts(with: found.history) || change == .adoptsWithoutProof {
                accept(&state, index, found, request.number)
            } else {
                state.nodes[index].isFenced = true
            }
        } else if found == request.object {
            accept(&state, index, found, request.number)
        }
        // Else a follower applies the object, and tries again.
    }

    /// A writer's commits through an object are confirmed; a follower is promoted.
    private func accept(_ state: inout BranchState, _ index: Int, _ object: BranchState.Object, _ number: Int) {
        if !state.nodes[index].isWriter {
            state.nodes[index].isWriter = true
            state.nodes[index].log = object.history
        }
        state.nodes[index].position = number
        state.nodes[index].end = object.history.count
        state.nodes[index].seen = Array(state.nodes[index].log.prefix(object.history.count))
    }

    // MARK: Databases

    private func ship(_ state: inout BranchState, _ index: Int) {
        let node = state.nodes[index]
        let number = change == .numberFromListing ? state.newest + 1 : node.position + 1
        state.requests.append(.init(sender: index, number: number, object: .init(history: node.log, base: node.end)))
        if change == .acknowledgedAtOnce { state.nodes[index].seen = node.log }
    }

    private func followerSteps(_ state: BranchState, _ index: Int, _ step: Take) {
        let node = state.nodes[index]
        if let object = state.object(node.position + 1) {
            step("\(index) follows") {
                $0.nodes[index].log = object.history
                $0.nodes[index].seen = object.history
                $0.nodes[index].position += 1
                $0.nodes[index].end = object.history.count
            }
        }
        guard state.promotions < size.promotions else { return }
        step("\(index) promotes") {
            $0.promotions += 1
            let history = node.log + [UInt8(100 + $0.promotions)]
            let object = BranchState.Object(history: history, base: node.log.count)
            let number = change == .promotesBehindNewest ? $0.newest + 1 : node.position + 1
            if change == .promotionAppendedFirst { $0.nodes[index].log = history }
            if change == .promotesWithoutNumber { return accept(&$0, index, object, node.position) }
            $0.requests.append(.init(sender: index, number: number, object: object))
        }
    }

    /// A new process attaches to the branch, by its log alone.
    private func start(_ state: inout BranchState, _ index: Int) {
        state.nodes[index].isUp = true
        state.nodes[index].isFenced = false
        let node = state.nodes[index]
        if node.isWriter {
            guard node.log.starts(with: state.branch) || change == .attachesWithoutProof else {
                state.nodes[index].isFenced = true
                return
            }
            state.nodes[index].position = state.newest
            state.nodes[index].end = min(state.branch.count, node.log.count)
            let shown = change == .tailIsShown ? node.log.count : state.nodes[index].end
            state.nodes[index].seen = Array(node.log.prefix(shown))
        } else if let place = state.objects.firstIndex(where: { $0?.history == node.log }) {
            (state.nodes[index].position, state.nodes[index].end) = (place, node.log.count)
        }
    }
}

extension BranchState {
    /// A commit becomes durable; it is seen when it is confirmed.
    fileprivate mutating func commit(_ index: Int) {
        nodes[index].commits += 1
        nodes[index].log.append(UInt8(10 * (index + 1) + nodes[index].commits))
    }
}
