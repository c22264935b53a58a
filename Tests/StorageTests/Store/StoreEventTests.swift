import MakoStorage
import MakoTestSupport
import Testing

/// The events that a store reports to an operator.
@Suite struct StoreEventTests {
    /// The events that a handler got.
    private final class Received: Sendable {
        private let events = Guarded<[StoreEvent]>([])
        func add(_ event: StoreEvent) { events.withLock { $0.append(event) } }
        var all: [StoreEvent] { events.withLock { $0 } }

        /// One word for each.
        var words: [String] {
            all.map { event in
                switch event {
                case .opened: "opened"
                case .checkpointed: "checkpointed"
                case .checkpointFailed: "failed"
                case .becameReadOnly: "readOnly"
                case .snapshotsExpired: "expired"
                case .weakPassphrase: "weak"
                case .shrank: "shrank"
                case .statistics: "statistics"
                case .closed: "closed"
                }
            }
        }
    }

    private func options(_ disk: any FileSystem, _ received: Received) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.shrinksWhenIdle = false
        options.eventHandler = { received.add($0) }
        return options
    }

    private func fill(_ store: Store, _ count: UInt64, tree name: String = "t") throws {
        try store.write { transaction in
            let tree = try transaction.view.tree(named: name) ?? transaction.createTree(named: name, keys: .integer)
            for key in 0..<count { try transaction.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
        }
    }

    @Test func eventsOfALifeAreInOrder() throws {
        let (disk, received) = (MemoryFileSystem(), Received())
        let store = try Store(at: "s.mako", options: options(disk, received))
        try fill(store, 2000)
        try store.checkpoint()
        try store.write { try $0.deleteAll(in: #require($0.view.tree(named: "t"))) }
        let before = try disk.open("s.mako", .readOnly).size()
        try store.shrink()
        try store.close()
        let words = received.words
        #expect(words.first == "opened")
        #expect(words.last == "closed")
        #expect(words.contains("shrank"))
        #expect(words.filter { $0 == "closed" }.count == 1)
        let reports = received.all.compactMap { if case .checkpointed(let report) = $0 { report } else { nil } }
        let first = try #require(reports.first)
        #expect(first.commitNumber == 1)
        // 2,000 records of a hundred bytes are some sixty leaves.
        #expect(first.pages > 50 && first.pages < 120)
        #expect(first.seconds >= 0)
        #expect(reports.map(\.commitNumber) == reports.map(\.commitNumber).sorted())
        let cuts = received.all.compactMap { if case .shrank(let from, let to) = $0 { (from, to) } else { nil } }
        #expect(cuts.first?.0 == before)
        #expect(try cuts.last?.1 == disk.open("s.mako", .readOnly).size())
    }

    @Test func recoveryIsReported() throws {
        let (disk, received) = (SimulatedDisk(), Received())
        let store = try Store(at: "s.mako", options: options(disk, Received()))
        for _ in 0..<3 { try fill(store, 10) }
        let left = SimulatedDisk(disk.crashState().image([]))
        disk.cutPower()
        withExtendedLifetime(store) {}
        let again = try Store(at: "s.mako", options: options(left, received))
        #expect(received.words == ["checkpointed", "opened"])
        guard case .opened(let report, let seconds) = received.all.last else { return }
        #expect(report.replayedCommits == 3)
        #expect(seconds >= 0)
        try again.close()
    }

    @Test func failuresAreReported() throws {
        let (disk, received) = (SimulatedDisk(), Received())
        let store = try Store(at: "s.mako", options: options(disk, received))
        try fill(store, 100)
        disk.inject(.inputOutput, atCall: disk.callCount)
        #expect(throws: StorageError.self) { try store.checkpoint() }
        disk.clearFaults()
        #expect(received.words == ["opened", "failed"])
        try store.checkpoint()
        #expect(received.words.suffix(1) == ["checkpointed"])
        // The next commit's write of the log, after which the content of the device is unknown.
        try fill(store, 10)
        disk.inject(.inputOutput, atCall: disk.callCount)
        #expect(throws: StorageError.self) { try fill(store, 10) }
        disk.clearFaults()
        _ = try store.step()
        guard case .becameReadOnly(let reason) = received.all.last else {
            Issue.record("\(received.words)")
            return
        }
        #expect(reason.contains("reopen"))
        disk.cutPower()
    }

    @Test func numbersComeWhenTheyAreDue() throws {
        let (received, clock) = (Received(), TestClock())
        var options = options(MemoryFileSystem(), received)
        options.clock = clock
        options.statisticsInterval = .seconds(10)
        let store = try Store(at: "s.mako", options: options)
        func numbers() -> Int { received.words.filter { $0 == "statistics" }.count }
        _ = try store.step()
        #expect(numbers() == 1)
        clock.advance(by: .seconds(9))
        _ = try store.step()
        #expect(numbers() == 1)
        clock.advance(by: .seconds(1))
        try fill(store, 10)
        _ = try store.step()
        #expect(numbers() == 2)
        guard
            case .statistics(let stats) = received.all.last(where: { if case .statistics = $0 { true } else { false } })
        else { return }
        #expect(stats.commitNumber == 1)
        try store.close()
    }

    @Test func expiredSnapshotsAreReported() throws {
        let (received, clock) = (Received(), TestClock())
        var options = options(MemoryFileSystem(), received)
        options.clock = clock
        options.snapshotAgeLimit = .seconds(5)
        let store = try Store(at: "s.mako", options: options)
        let snapshot = try store.snapshot()
        _ = try store.step()
        clock.advance(by: .seconds(6))
        _ = try store.step()
        guard case .snapshotsExpired(let count, let limit) = received.all.last else {
            Issue.record("\(received.words)")
            return
        }
        #expect(count == 1)
        #expect(limit == 5)
        withExtendedLifetime(snapshot) {}
        try store.close()
    }

    /// A handler may use the store: events that it causes are delivered after it returns.
    @Test func aHandlerMayUseTheStore() throws {
        let box = Guarded<Store?>(nil)
        let received = Received()
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = MemoryFileSystem()
        options.eventHandler = { event in
            received.add(event)
            guard case .checkpointed(let report) = event, report.commitNumber < 3, let store = box.withLock({ $0 })
            else { return }
            do {
                try store.write { _ = try $0.createTree(named: "\(report.commitNumber)", keys: .integer) }
                try store.checkpoint()
                #expect(store.stats.commitNumber == report.commitNumber + 1)
            } catch { Issue.record(error) }
        }
        let store = try Store(at: "s.mako", options: options)
        box.withLock { $0 = store }
        try store.write { _ = try $0.createTree(named: "first", keys: .integer) }
        try store.checkpoint()
        let commits = received.all.compactMap {
            if case .checkpointed(let report) = $0 { report.commitNumber } else { nil }
        }
        #expect(commits == [1, 2, 3])
        box.withLock { $0 = nil }
        try store.close()
    }

    @Test func severalHandlersAreCalledInTurn() throws {
        let (first, second) = (Received(), Received())
        var options = options(MemoryFileSystem(), first)
        options.addEventHandler { event in
            second.add(event)
            #expect(first.all.count == second.all.count)
        }
        let store = try Store(at: "s.mako", options: options)
        try store.close()
        #expect(first.words == ["opened", "closed"])
        #expect(second.words == first.words)
    }

    /// A reader that follows may have to open the file again; that is not an event.
    @Test func aFollowingReaderReportsItsOpeningOnce() throws {
        let (disk, received) = (MemoryFileSystem(), Received())
        let writer = try Store(at: "s.mako", options: options(disk, Received()))
        try fill(writer, 100)
        try writer.checkpoint()
        var reading = options(disk, received)
        reading.readOnly = true
        let reader = try Store(at: "s.mako", options: reading)
        for round in 0..<4 {
            try fill(writer, 500, tree: "\(round)")
            try writer.checkpoint()
            try reader.refresh()
        }
        try reader.close()
        try writer.close()
        #expect(received.words == ["opened", "closed"])
    }
}
