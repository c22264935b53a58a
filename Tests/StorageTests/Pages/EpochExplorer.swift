/// Goes through every execution of an `EpochModel` that a memory order allows.
///
/// A step is done when its load has read or its store is in the thread's buffer; a store reaches the others when it leaves the buffer. `before`
/// says for each step which of its thread must be done first.
struct EpochExplorer {
    struct Report: CustomStringConvertible {
        var states = 0
        /// States in which the frame holds another page: without any the model would show nothing.
        var reuses = 0
        /// The steps that lead to a reader that reads another page than it looked up; nil when there are none.
        var violation: [String]?
        var description: String { "\(states) states, \(reuses) with a reused frame, violation: \(violation ?? [])" }
    }

    /// A thread: the steps that are done, those whose stores are in its buffer, and four bits for each register.
    private struct ThreadState: Hashable {
        var done: UInt16 = 0
        var buffered: UInt16 = 0
        var registers: UInt32 = 0

        func register(_ index: Int) -> UInt32 { registers >> UInt32(index * 4) & 15 }
        mutating func set(_ index: Int, _ value: UInt32) {
            registers = registers & ~(15 << UInt32(index * 4)) | value << UInt32(index * 4)
        }
    }

    private struct State: Hashable {
        var words: UInt32
        var first = ThreadState()
        var second = ThreadState()
        var third = ThreadState()

        func word(_ word: EpochWord) -> UInt32 { words >> UInt32(word.rawValue * 4) & 15 }
        mutating func set(_ word: EpochWord, _ value: UInt32) {
            words = words & ~(15 << UInt32(word.rawValue * 4)) | value << UInt32(word.rawValue * 4)
        }
        subscript(thread: Int) -> ThreadState {
            get { thread == 0 ? first : thread == 1 ? second : third }
            set {
                switch thread {
                case 0: first = newValue
                case 1: second = newValue
                default: third = newValue
                }
            }
        }
    }

    private let model: EpochModel
    private let order: MemoryOrder
    private let before: [[UInt16]]
    private let words: [[EpochWord?]]

    init(_ model: EpochModel, _ order: MemoryOrder) {
        self.model = model
        self.order = order
        words = model.threads.map { $0.map { $0.word } }
        before = model.threads.map { steps in
            steps.indices.map { later in
                (0..<later).reduce(0) { mask, earlier in
                    EpochExplorer.mustPrecede(steps[earlier], steps[later], order) ? mask | 1 << UInt16(earlier) : mask
                }
            }
        }
    }

    /// Whether a step must be done before a later one of its thread is.
    private static func mustPrecede(_ earlier: EpochStep, _ later: EpochStep, _ order: MemoryOrder) -> Bool {
        if order != .weak { return true }
        if earlier.isFence || later.isFence || earlier.acquires || later.releases { return true }
        if let word = earlier.word, word == later.word { return true }
        return earlier.writes.map { later.reads.contains($0) } ?? false
    }

    /// Searches depth first; every state is looked at once.
    func run() -> Report {
        var report = Report()
        var start = State(words: 0)
        for word in [EpochWord.epoch, .entry, .frame] { start.set(word, 1) }
        var seen: Set<State> = [start]
        var path: [(name: String, next: [(String, State)])] = [("", moves(of: start, &report))]
        while let last = path.indices.last, report.violation == nil {
            guard let (name, state) = path[last].next.popLast() else {
                path.removeLast()
                continue
            }
            guard seen.insert(state).inserted else { continue }
            if state.word(.frame) == 2 { report.reuses += 1 }
            let next = moves(of: state, &report)
            path.append((name, next))
            if report.violation != nil { report.violation = path.map { $0.name } + (report.violation ?? []) }
        }
        report.states = seen.count
        return report
    }

    private func moves(of state: State, _ report: inout Report) -> [(String, State)] {
        var moves: [(String, State)] = []
        for thread in model.threads.indices {
            for index in model.threads[thread].indices {
                let bit: UInt16 = 1 << UInt16(index)
                if state[thread].buffered & bit != 0, mayLeaveBuffer(state[thread], thread, index) {
                    var next = state
                    next[thread].buffered &= ~bit
                    let step = model.threads[thread][index]
                    if let word = step.word { next.set(word, value(of: step, state[thread])) }
                    moves.append(("\(thread): \(step.name) is visible", next))
                }
                if state[thread].done & bit == 0, state[thread].done & before[thread][index] == before[thread][index],
                    let next = done(state, thread, index, &report)
                {
                    moves.append(("\(thread): \(model.threads[thread][index].name)", next))
                }
            }
        }
        return moves
    }

    /// A FIFO buffer releases its oldest store; another one any store without an older one to the same word, and a
    /// release store when all older ones have left.
    private func mayLeaveBuffer(_ state: ThreadState, _ thread: Int, _ index: Int) -> Bool {
        let older = state.buffered & (1 << UInt16(index) - 1)
        if older == 0 { return true }
        if order != .weak || model.threads[thread][index].releases { return false }
        let word = words[thread][index]
        return !(0..<index).contains { older & 1 << UInt16($0) != 0 && words[thread][$0] == word }
    }

    private func value(of step: EpochStep, _ state: ThreadState) -> UInt32 {
        switch step.action {
        case .store(_, let register?, _): state.register(register)
        case .advance(_, let register): state.register(register) + 1
        case .reuse: 2
        default: 0
        }
    }

    /// The value that a thread reads: its own latest store that is still in the buffer, else the shared one.
    private func read(_ word: EpochWord, _ state: State, _ thread: Int, _ index: Int) -> UInt32 {
        for earlier in (0..<index).reversed()
        where state[thread].buffered & 1 << UInt16(earlier) != 0 && words[thread][earlier] == word {
            return value(of: model.threads[thread][earlier], state[thread])
        }
        return state.word(word)
    }

    /// The state after a step, or nil when it has to wait.
    private func done(_ state: State, _ thread: Int, _ index: Int, _ report: inout Report) -> State? {
        var next = state
        let bit: UInt16 = 1 << UInt16(index)
        next[thread].done |= bit
        func stored() -> State {
            if order == .sequential {
                let step = model.threads[thread][index]
                if let word = step.word { next.set(word, value(of: step, next[thread])) }
            } else {
                next[thread].buffered |= bit
            }
            return next
        }
        switch model.threads[thread][index].action {
        case .load(let word, let register, _):
            next[thread].set(register, read(word, state, thread, index))
            return next
        case .store: return stored()
        case .clear(let word), .advance(let word, _):
            // Of an atomic exchange arm64 may show the load before the store. Nothing else changes these words.
            if order == .totalStore && state[thread].buffered != 0 { return nil }
            if case .advance(_, let register) = model.threads[thread][index].action {
                next[thread].set(register, read(word, state, thread, index))
            }
            if order == .weak { return stored() }
            next.set(word, value(of: model.threads[thread][index], next[thread]))
            return next
        case .fence: return state[thread].buffered == 0 ? next : nil
        case .barrier(let reader):
            // The reader is interrupted between two steps, with all before done and visible and none behind begun.
            let isBetweenSteps = state[reader].done & (state[reader].done &+ 1) == 0 && state[reader].buffered == 0
            return isBetweenSteps && state[thread].buffered == 0 ? next : nil
        case .use(let entry):
            if state[thread].register(entry) == 1, read(.frame, state, thread, index) == 2 {
                report.violation = ["\(thread): use"]
            }
            return next
        case .reuse(let epoch, let cells):
            let mayReuse = cells.allSatisfy {
                let announced = state[thread].register($0)
                return announced == 0 || announced > state[thread].register(epoch)
            }
            return mayReuse ? stored() : next
        }
    }
}
