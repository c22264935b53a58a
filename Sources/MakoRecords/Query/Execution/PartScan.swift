import MakoStorage

extension Plan {
    /// So many parts for each thread may be begun before the first of them is put to the others.
    static let partsAhead = 3

    /// The plans of the parts of its rows, in their order.
    func parts(in view: Snapshot) throws(RecordError) -> [Plan] {
        guard case .rows(let range) = access else { return [self] }
        let keys = KeyOrder.treeKey(range.lowerBound)...KeyOrder.treeKey(range.upperBound)
        return try recorded { try view.parts(of: keys, in: table.rows) }.map { keys in
            var part = Plan(self, by: .rows(KeyOrder.rowID(keys.lowerBound)...KeyOrder.rowID(keys.upperBound)))
            part.partition = .part(ofTable: isWholeTable)
            return part
        }
    }

    /// The plan of a part and all behind it.
    func rest(from part: Plan) -> Plan {
        guard case .rows(let whole) = access, case .rows(let first) = part.access else { return self }
        var rest = Plan(self, by: .rows(first.lowerBound...whole.upperBound))
        rest.partition = part.partition
        return rest
    }

    /// Does something with each of some parts on the plan's threads, and takes what was found in the order of the parts.
    ///
    /// - Parameters:
    ///   - measure: of a run that is measured, to which the parts' are added.
    ///   - work: is called on any of the threads, for several parts at once.
    ///   - take: is called on this thread. False: no more are wanted.
    /// - Throws: what the first part throws that fails, in the order of the rows.
    func forEachPart<Made>(
        _ parts: [Plan], in view: Snapshot, _ measure: PlanMeasure?,
        _ work: @escaping @Sendable (Plan, PlanMeasure?) throws(RecordError) -> Made,
        _ take: (Made) throws(RecordError) -> Bool
    ) throws(RecordError) {
        let threads = min(threads ?? 1, view.queryThreads, parts.count)
        let before = measure?.run.turn(to: nil)
        defer { measure?.run.turn(to: before) }
        let (isMeasured, cancellation) = (measure != nil, cancellation)
        let queue = PartQueue(parts, ahead: threads * Plan.partsAhead) {
            (part) throws(RecordError) -> PartFinding<Made> in
            if cancellation?.isCancelled == true { throw RecordError.cancelled }
            let own = isMeasured ? RunMeasure() : nil
            return PartFinding(found: try work(part, own?.root), measure: own)
        }
        var helpers: [JoinableThread] = []
        defer {
            queue.stop()
            for helper in helpers { helper.join() }
        }
        for _ in 1..<max(1, threads) {
            // Where the system has no room for another thread those that there are do it all. What is nested deeply is followed with 2 MiB of stack:
            // with less it would go over to a larger one for each row.
            guard let helper = try? startThread(name: "mako query", stackBytes: 4 << 20, { queue.work() }) else {
                break
            }
            helpers.append(helper)
        }
        for number in parts.indices {
            let result = try queue.result(of: number)
            guard try take(result.found) else { return }
            if let own = result.measure { measure?.add(own.root) }
        }
    }
}

/// What was found in a part, and what its run did where that is measured.
private struct PartFinding<Made> {
    let found: Made
    let measure: RunMeasure?
}

/// The parts of a scan, which several threads take one after the other, and what they found.
private final class PartQueue<Made>: @unchecked Sendable {
    // Unchecked: the lock guards all that changes, and what was found is one thread's at a time.

    private let parts: [Plan]
    private let ahead: Int
    private let run: @Sendable (Plan) throws(RecordError) -> PartFinding<Made>
    private let lock = Lock()
    private let hasChanged = ConditionVariable()
    // Guarded by `lock`.
    private var results: [Int: Result<PartFinding<Made>, RecordError>] = [:]
    /// The next part that no thread has, and how many were taken out in the end.
    private var (next, taken) = (0, 0)
    /// No part from here on is begun.
    private var end: Int

    init(_ parts: [Plan], ahead: Int, _ run: @escaping @Sendable (Plan) throws(RecordError) -> PartFinding<Made>) {
        self.parts = parts
        self.ahead = ahead
        self.run = run
        end = parts.count
    }

    /// Runs parts until there are no more.
    func work() { while let number = claim() { runPart(number) } }

    /// What was found in a part; they are taken in their order. Runs parts itself meanwhile.
    func result(of number: Int) throws(RecordError) -> PartFinding<Made> {
        while true {
            lock.lock()
            if let result = results.removeValue(forKey: number) {
                taken = number + 1
                hasChanged.broadcast()
                lock.unlock()
                return try result.get()
            }
            if next < end, next - taken < ahead {
                next += 1
                let mine = next - 1
                lock.unlock()
                runPart(mine)
            } else {
                // Another thread has it.
                hasChanged.wait(lock)
                lock.unlock()
            }
        }
    }

    func stop() {
        lock.withLock {
            end = 0
            hasChanged.broadcast()
        }
    }

    private func claim() -> Int? {
        lock.withLock {
            while next < end, next - taken >= ahead { hasChanged.wait(lock) }
            guard next < end else { return nil }
            next += 1
            return next - 1
        }
    }

    private func runPart(_ number: Int) {
        let result: Result<PartFinding<Made>, RecordError>
        do throws(RecordError) { result = .success(try run(parts[number])) } catch { result = .failure(error) }
        lock.withLock {
            results[number] = result
            // What comes behind an error is not wanted.
            if case .failure = result { end = min(end, number + 1) }
            hasChanged.broadcast()
        }
    }
}
