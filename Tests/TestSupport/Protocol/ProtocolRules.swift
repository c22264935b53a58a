/// A rule of the protocol that is changed, to see whether the model notices.
package enum ProtocolChange: String, CaseIterable, Sendable {
    case publishBeforeSync = "commits are published before the log is synced"
    case acknowledgeBeforeSync = "commits are acknowledged before the log is synced"
    case scanBeforePublish = "the registry is looked at before the new version is published"
    case pinWithoutSecondLook = "a reader does not look whether the version is still the published one"
    case readersAreOverlooked = "slots are reused without a look at the readers"
    case olderCheckpointIsOverlooked = "slots of the older checkpoint are reused"
    case runningCheckpointIsOverlooked = "slots of the running checkpoint are reused"
    case captureInTwoSteps = "a checkpoint takes its pages first and its version later"
    case metaBeforeData = "the meta is written before the data is synced"
    case metaOverNewest = "the meta goes to the slot of the newer checkpoint"
    case metaIsNotSynced = "a checkpoint counts before its meta is durable"
    case logRetiredForOne = "the log is kept for the newer checkpoint only"
    case logRetiredAtCapture = "the log is retired when a checkpoint begins"
    case writersBuildOnPublished = "a writer builds on the published commit, not on the newest"
    case turnIsNotTaken = "two writers work at a time"
    case slotStaysFree = "a slot that is handed out stays free"
}

/// How much happens in a run of the model.
package struct ProtocolSize: Sendable {
    /// Commits and rollbacks of both writers together.
    package var transactions: Int
    /// The number of snapshots that each reader takes.
    package var readsPerReader: Int
    /// The number of checkpoints.
    package var checkpoints: Int

    package init(transactions: Int = 3, readsPerReader: Int = 1, checkpoints: Int = 2) {
        self.transactions = transactions
        self.readsPerReader = readsPerReader
        self.checkpoints = checkpoints
    }
}

/// The possible next steps. Each step is what the engine does under one lock or with one atomic operation.
struct ProtocolRules {
    let size: ProtocolSize
    let change: ProtocolChange?

    typealias Step = (name: String, state: ProtocolState)

    func steps(_ state: ProtocolState) -> [Step] {
        var steps: [Step] = []
        func step(_ name: String, _ body: (inout ProtocolState) -> Void) {
            var next = state
            body(&next)
            steps.append((name, next))
        }
        for index in 0..<2 {
            writerSteps(state, index, step)
            readerSteps(state, index, step)
        }
        flushSteps(state, step)
        checkpointSteps(state, step)
        return steps
    }

    private typealias Take = (String, (inout ProtocolState) -> Void) -> Void

    // MARK: Writers

    private func writerSteps(_ state: ProtocolState, _ index: Int, _ step: Take) {
        let writer = state.writers[index]
        switch writer.phase {
        case .idle:
            guard state.turns < size.transactions, !state.turnIsTaken || change == .turnIsNotTaken else { return }
            step("writer \(index) takes the turn") {
                $0.turnIsTaken = true
                $0.turns += 1
                $0.writers[index].phase = .holdsWriterLock
                $0.writers[index].commit = change == .writersBuildOnPublished ? $0.published : $0.newest
            }
        case .holdsWriterLock:
            step("writer \(index) copies its page") {
                let slot: Int
                if let free = $0.free.first {
                    slot = free
                    if change != .slotStaysFree { $0.free.remove(free) }
                } else {
                    slot = $0.usedSlots
                    $0.usedSlots += 1
                }
                $0.deaths[slot] = 0
                // The commit number that it gets unless another writer commits first.
                $0.memory[slot] = $0.newest + 2
                $0.writers[index].slot = slot
                $0.writers[index].phase = .hasPage
            }
        case .hasPage:
            step("writer \(index) appends to the log") {
                let commit = $0.newest + 1
                let base = writer.commit
                for page in 0..<2 { $0.roots[page][commit] = $0.roots[page][base] }
                $0.deaths[$0.roots[index][base]] = commit
                $0.roots[index][commit] = writer.slot
                $0.authors[commit] = index
                $0.newest = commit
                $0.turnIsTaken = false
                $0.writers[index].commit = commit
                $0.writers[index].phase = .waits
                if change == .acknowledgeBeforeSync { $0.acknowledged = max($0.acknowledged, commit) }
            }
            step("writer \(index) rolls back") {
                $0.release(writer.slot)
                $0.turnIsTaken = false
                $0.writers[index] = .init()
            }
        case .waits:
            guard state.published >= writer.commit, state.flush != .shown else { return }
            step("writer \(index) returns") {
                $0.acknowledged = max($0.acknowledged, writer.commit)
                $0.writers[index] = .init()
            }
        }
    }

    // MARK: Readers

    private func readerSteps(_ state: ProtocolState, _ index: Int, _ step: Take) {
        let reader = state.readers[index]
        switch reader.phase {
        case .idle:
            guard reader.done < size.readsPerReader else { return }
            step("reader \(index) loads the version") {
                $0.readers[index].version = $0.published
                $0.readers[index].phase = .loaded
            }
        case .loaded:
            step("reader \(index) announces its point") {
                $0.readers[index].point = reader.version + 1
                $0.readers[index].phase = .announced
            }
        case .announced:
            step("reader \(index) looks again") {
                if $0.published == reader.version || change == .pinWithoutSecondLook {
                    $0.readers[index].phase = .pinned
                } else {
                    $0.readers[index].version = $0.published
                    $0.readers[index].phase = .loaded
                }
            }
        case .pinned:
            step("reader \(index) lets go") {
                $0.readers[index] = .init()
                $0.readers[index].done = reader.done + 1
            }
        }
    }

    // MARK: Flush and publication

    private func flushSteps(_ state: ProtocolState, _ step: Take) {
        switch state.flush {
        case .idle:
            guard state.newest > max(state.published, state.flushTarget) else { return }
            step("a flush takes the group") {
                $0.flushTarget = $0.newest
                $0.flush = .taken
                if change == .publishBeforeSync { show(&$0) }
            }
        case .taken:
            step("the group is synced") {
                $0.durableLog = $0.flushTarget
                $0.flush = .synced
            }
        case .synced:
            step("the version is published") {
                if change == .scanBeforePublish { look(&$0, upTo: $0.flushTarget) } else { show(&$0) }
                $0.flush = .shown
            }
        case .shown:
            step("dead pages are looked at") {
                if change == .scanBeforePublish { show(&$0) } else { look(&$0, upTo: $0.published) }
                $0.flush = .idle
            }
        }
    }

    private func show(_ state: inout ProtocolState) {
        for commit in state.published + 1..<max(state.published, state.flushTarget) + 1 {
            state.dirty.insert(state.roots[state.authors[commit]][commit])
        }
        state.published = max(state.published, state.flushTarget)
    }

    /// The points of everything that must keep its pages.
    func points(_ state: ProtocolState) -> SmallSet {
        var points = SmallSet([state.checkpoint.last])
        if change != .olderCheckpointIsOverlooked { points.insert(state.checkpoint.previous) }
        if state.checkpoint.phase != .idle && change != .runningCheckpointIsOverlooked {
            points.insert(state.checkpoint.version)
        }
        if change != .readersAreOverlooked {
            for index in 0..<2 where state.readers[index].point > 0 { points.insert(state.readers[index].point - 1) }
        }
        return points
    }

    /// Frees the dead pages of published commits that no point sees.
    private func look(_ state: inout ProtocolState, upTo limit: Int) {
        let points = points(state)
        for slot in 0..<state.usedSlots
        where state.deaths[slot] > 0 && state.deaths[slot] <= limit && !state.free.contains(slot) {
            if state.isSeen(slot, by: points) {
                state.waiting.insert(slot)
            } else {
                state.release(slot)
            }
        }
    }

    // MARK: Checkpoints

    private func checkpointSteps(_ state: ProtocolState, _ step: Take) {
        let run = state.checkpoint
        switch run.phase {
        case .idle:
            // Under the space lock, as is all of a publication.
            guard run.done < size.checkpoints, state.published != run.last, state.flush != .shown else { return }
            step("a checkpoint takes pages and version") {
                $0.checkpoint.version = $0.published
                $0.checkpoint.pages = $0.dirty
                $0.dirty = SmallSet()
                $0.checkpoint.phase = change == .captureInTwoSteps ? .pagesTaken : .captured
                if change == .logRetiredAtCapture { $0.logStart = min($0.checkpoint.last, $0.published) }
            }
        case .pagesTaken:
            guard state.flush != .shown else { return }
            step("the checkpoint takes its version") {
                $0.checkpoint.version = $0.published
                $0.checkpoint.phase = .captured
            }
        case .captured:
            step("the checkpoint writes its pages") {
                for slot in run.pages { $0.pendingPages[slot] = $0.memory[slot] }
                $0.checkpoint.pages = SmallSet()
                $0.checkpoint.phase = change == .metaBeforeData ? .logSynced : .written
            }
        case .written:
            step("the data file is synced") {
                settle(&$0)
                $0.checkpoint.phase = .dataSynced
            }
        case .dataSynced:
            // The log was synced before the version was published; nothing is left to do, but it is waited for.
            guard state.durableLog >= run.version else { return }
            step("the log is synced") { $0.checkpoint.phase = .logSynced }
        case .logSynced:
            step("the meta is written") {
                let slot = change == .metaOverNewest ? run.lastSlot : 1 - run.lastSlot
                $0.pendingMetas[slot] = run.version + 1
                $0.checkpoint.phase = .metaWritten
                if change == .metaIsNotSynced { finish(&$0) }
            }
        case .metaWritten:
            guard state.flush != .shown else { return }
            step("the meta is synced") {
                settle(&$0)
                finish(&$0)
            }
        }
    }

    /// A sync of the data file: all pending writes become durable.
    private func settle(_ state: inout ProtocolState) {
        for slot in 0..<state.usedSlots where state.pendingPages[slot] > 0 {
            state.durablePages[slot] = state.pendingPages[slot]
        }
        for slot in 0..<2 where state.pendingMetas[slot] > 0 { state.durableMetas[slot] = state.pendingMetas[slot] }
        state.pendingPages = Nibbles()
        state.pendingMetas = Nibbles()
    }

    /// Retires the older checkpoint: its pages, its log.
    private func finish(_ state: inout ProtocolState) {
        state.checkpoint.previous = state.checkpoint.last
        state.checkpoint.last = state.checkpoint.version
        if change != .metaOverNewest { state.checkpoint.lastSlot = 1 - state.checkpoint.lastSlot }
        state.checkpoint.phase = .idle
        state.checkpoint.version = 0
        state.checkpoint.done += 1
        look(&state, upTo: state.published)
        let needed = change == .logRetiredForOne ? state.checkpoint.last : state.checkpoint.previous
        state.logStart = max(state.logStart, needed)
    }
}
