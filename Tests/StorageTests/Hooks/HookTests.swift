import MakoStorage
import MakoTestSupport
import Testing

#if Logging
    import Logging

    /// The log lines that swift-log gets.
    @Suite struct EventLogTests {
        private final class Lines: Sendable {
            let all = Guarded<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])
        }

        private struct Handler: LogHandler {
            let lines: Lines
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                lines.all.withLock { $0.append((event.level, "\(event.message)", event.metadata ?? [:])) }
            }
        }

        @Test func eventsAreWrittenAtTheirLevels() throws {
            let (lines, disk) = (Lines(), SimulatedDisk())
            var options = StoreOptions()
            options.fileSystem = disk
            options.background = .manual
            options.logEvents(to: Logger(label: "test") { _ in Handler(lines: lines) })
            let store = try Store(at: "s.mako", options: options)
            try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
            disk.inject(.inputOutput, atCall: disk.callCount)
            #expect(throws: StorageError.self) { try store.checkpoint() }
            disk.clearFaults()
            try store.checkpoint()
            try store.close()
            let found = lines.all.withLock { $0 }
            #expect(found.first?.level == .info)
            #expect(found.first?.message == "opened")
            let failure = found.first { $0.level == .warning }
            #expect(failure?.metadata["mako.error"].map { "\($0)" }?.contains("s.mako") == true)
            #expect(found.contains { $0.level == .debug && $0.metadata["mako.commit"] == "1" })
            #expect(found.last?.message == "closed")
        }

        /// Each event with its log level.
        @Test func everyEventHasItsLevelAndItsWords() throws {
            let lines = Lines()
            var options = StoreOptions()
            options.logEvents(to: Logger(label: "test") { _ in Handler(lines: lines) })
            let handler = try #require(options.eventHandler)
            let stats = try Store.inMemory().stats
            let failure = StorageError.diskFull(path: "d/s.mako")
            let expected: [(StoreEvent, Logger.Level, String, String?)] = [
                (.opened(RecoveryReport(findings: []), seconds: 1), .info, "opened", nil),
                (.opened(RecoveryReport(findings: ["a copy"]), seconds: 1), .warning, "opened", "a copy"),
                (.becameReadOnly(reason: "a sync failed"), .critical, "read-only from here on", "a sync failed"),
                (
                    .snapshotsExpired(count: 3, limitSeconds: 60), .warning, "snapshots were too old and were ended",
                    "60.0"
                ),
                (.shrank(fromBytes: 8192, toBytes: 4096), .info, "the file is shorter", "8192"),
                (.statistics(stats), .trace, "numbers", "\(stats.filePages)"),
                (.closed(error: nil), .info, "closed", nil),
                (.closed(error: failure), .warning, "closed after a failure", "s.mako"),
            ]
            for (event, _, _, _) in expected { handler(event) }
            let found = lines.all.withLock { $0 }
            #expect(found.count == expected.count)
            for (line, (_, level, message, word)) in zip(found, expected) {
                #expect(line.level == level && line.message == message)
                if let word { #expect("\(line.metadata)".contains(word), "\(message): \(line.metadata)") }
            }
        }
    }
#endif

#if Metrics
    import MetricsTestKit

    /// The figures that swift-metrics gets.
    @Suite struct EventMetricsTests {
        @Test func numbersAddUp() throws {
            let (metrics, clock) = (TestMetrics(), TestClock())
            var options = StoreOptions()
            options.fileSystem = MemoryFileSystem()
            options.background = .manual
            options.clock = clock
            options.recordMetrics(every: .seconds(5), dimensions: [("store", "events")], in: metrics)
            let store = try Store(at: "s.mako", options: options)
            _ = try store.step()
            for _ in 0..<3 { try store.write { $0.createdTree() } }
            try store.checkpoint()
            clock.advance(by: .seconds(6))
            _ = try store.step()
            for _ in 0..<2 { try store.write { $0.createdTree() } }
            clock.advance(by: .seconds(6))
            while try store.step() {}
            let dimensions = [("store", "events")]
            #expect(try metrics.expectCounter("mako_commits", dimensions).totalValue == 5)
            #expect(try metrics.expectCounter("mako_checkpoints", dimensions).totalValue == 1)
            #expect(try metrics.expectTimer("mako_checkpoint_duration", dimensions).values.count == 1)
            #expect(
                try metrics.expectGauge("mako_live_bytes", dimensions).lastValue
                    == Double(store.stats.livePages * store.stats.pageBytes))
            #expect(try metrics.expectGauge("mako_read_only", dimensions).lastValue == 0)
            try store.close()
        }

        /// Failures are counted, too.
        @Test func failuresAreCounted() throws {
            let metrics = TestMetrics()
            var options = StoreOptions()
            options.recordMetrics(every: .seconds(5), in: metrics)
            let handler = try #require(options.eventHandler)
            handler(.checkpointFailed(.diskFull(path: "d/s.mako")))
            handler(.checkpointFailed(.diskFull(path: "d/s.mako")))
            handler(.snapshotsExpired(count: 3, limitSeconds: 60))
            handler(.becameReadOnly(reason: "a sync failed"))
            handler(.shrank(fromBytes: 8192, toBytes: 4096))
            handler(.closed(error: nil))
            #expect(try metrics.expectCounter("mako_checkpoint_failures").totalValue == 2)
            #expect(try metrics.expectCounter("mako_snapshots_expired").totalValue == 3)
            #expect(try metrics.expectGauge("mako_read_only").lastValue == 1)
        }
    }

    extension WriteTransaction {
        /// Makes a tree that was not there.
        fileprivate func createdTree() {
            do { _ = try createTree(named: "\(view.trees.count)", keys: .integer) } catch { Issue.record(error) }
        }
    }
#endif
