import MakoTestSupport
import Synchronization
import Testing

@testable import MakoStorage

#if Logging
    import Logging

    /// What swift-log gets.
    @Suite struct EventLogTests {
        private final class Lines: Sendable {
            let all = Mutex<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])
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
    }
#endif

#if Metrics
    import MetricsTestKit

    /// What swift-metrics gets.
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
    }

    extension WriteTransaction {
        /// Makes a tree that was not there.
        fileprivate func createdTree() {
            do { _ = try createTree(named: "\(view.trees.count)", keys: .integer) } catch { Issue.record(error) }
        }
    }
#endif
