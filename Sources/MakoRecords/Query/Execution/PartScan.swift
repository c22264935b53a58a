import MakoStorage

extension Plan {
    /// The number of parts for each thread that may be started before the first of them has been combined.
    static let partsAhead = 3

    /// Returns the plans of the parts, in the order of the rows.
    func parts(in view: Snapshot) throws(RecordError) -> [Plan] {
        guard case .rows(let range) = access else { return [self] }
        let keys = KeyOrder.treeKey(range.lowerBound)...KeyOrder.treeKey(range.upperBound)
        return try recorded { try view.parts(of: keys, in: table.rows) }.map { keys in
            var part = Plan(self, by: .rows(KeyOrder.rowID(keys.lowerBound)...KeyOrder.rowID(keys.upperBound)))
            part.partition = .part(ofTable: isWholeTable)
            return part
        }
    }

    /// Returns the plan of a part and all parts after it.
    func rest(from part: Plan) -> Plan {
        guard case .rows(let whole) = access, case .rows(let first) = part.access else { return self }
        var rest = Plan(self, by: .rows(first.lowerBound...whole.upperBound))
        rest.partition = part.partition
        return rest
    }

    /// Processes parts on the plan's threads, and consumes the results in the order of the parts.
    ///
    /// - Parameters:
    ///   - measure: the measure of a run, to which the counts of the parts are added.
    ///   - work: is called on any of the threads, concurrently for several parts.
    ///   - take: is called on this thread. Returns `false` if no more results are wanted.
    /// - Throws: the error of the first part that fails, in the order of the rows.
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
            // If the system cannot start another thread, the present ones do the work. Nested expressions need 2 MiB of
            // free stack; with less, each row would switch to a larger stack.
            guard let helper = try? startThread(name: "mako query", stackBytes: 4 << 20, { queue.work() }) else {
                break
            }
            helpers.append(helper)
        }
        for number in parts.indices {
            let result = try queue.result(of: number)
            guard try take(result.found) else { return }
            if let own = result.measure { measure?.add(own.root, isPart: true) }
        }
    }
}

/// The result of a part, with its counts if the run is measured.
private struct PartFinding<Made> {
    let found: Made
    let measure: RunMeasure?
}

/// The parts of a scan, which several threads process, and their results.
private final class PartQueue<Made>: @unchecked Sendable {
    // Unchecked: the lock guards all mutable state, and a result is owned by one thread at a time.

    private let parts: [Plan]
    private let ahead: Int
    private let run: @Sendable (Plan) throws(RecordError) -> PartFinding<Made>
    private let lock = Lock()
    private let hasChanged = ConditionVariable()
    // Guarded by `lock`.
    private var results: [Int: Result<PartFinding<Made>, RecordError>] = [:]
    /// The next part to start, and the number of results consumed.
    private var (next, taken) = (0, 0)
    /// Parts from here on are not started.
    private var end: Int

    init(_ parts: [Plan], ahead: Int, _ run: @escaping @Sendable (Plan) throws(RecordError) -> PartFinding<Made>) {
        self.parts = parts
        self.ahead = ahead
        self.run = run
        end = parts.count
    }

    /// Processes parts until there are none left.
    func work() { while let number = claim() { runPart(number) } }

    /// Returns the result of a part; results are consumed in order. Processes other parts while it waits.
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
                // Another thread processes it.
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
            // Parts after a failed one are not needed.
            if case .failure = result { end = min(end, number + 1) }
            hasChanged.broadcast()
        }
    }
}
