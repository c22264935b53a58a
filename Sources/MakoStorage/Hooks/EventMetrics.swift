#if Metrics
    public import Metrics

    extension StoreOptions {
        /// Reports the store's statistics to swift-metrics, in addition to the existing ``eventHandler``.
        ///
        /// Counters: `mako_commits`, `mako_flushes`, `mako_log_bytes`, `mako_page_loads`, `mako_page_evictions`,
        /// `mako_checkpoints`, `mako_checkpoint_failures`, `mako_snapshots_expired`. Gauges: `mako_live_bytes`,
        /// `mako_file_bytes`, `mako_waiting_bytes`, `mako_cache_used_bytes`, `mako_open_snapshots`,
        /// `mako_oldest_snapshot_seconds`, `mako_read_only` (0 or 1). A timer: `mako_checkpoint_duration`.
        ///
        /// ```swift
        /// var options = StoreOptions()
        /// options.recordMetrics(dimensions: [("store", "events")])
        /// ```
        ///
        /// Needs the package trait `Metrics`.
        ///
        /// - Parameters:
        ///   - interval: the interval of reports; sets ``statisticsInterval``, unless that is shorter.
        ///   - dimensions: the dimensions that distinguish this store from others.
        ///   - factory: the metrics factory; nil for that of `MetricsSystem`.
        public mutating func recordMetrics(
            every interval: Duration = .seconds(10), dimensions: [(String, String)] = [],
            in factory: (any MetricsFactory)? = nil
        ) {
            statisticsInterval = min(statisticsInterval ?? interval, interval)
            let recorder = MetricsRecorder(dimensions, factory ?? MetricsSystem.factory)
            addEventHandler { recorder.record($0) }
        }
    }

    /// The instruments of one store. `last` needs no lock, because events come from one thread at a time.
    private final class MetricsRecorder: @unchecked Sendable {
        private let commits, flushes, logBytes, loads, evictions, checkpoints, failures, expired: Counter
        private let live, file, waiting, cache, snapshots, oldest, readOnly: Gauge
        private let checkpointTime: Metrics.Timer
        /// The statistics reported last.
        private var last: StoreStats?

        init(_ dimensions: [(String, String)], _ factory: any MetricsFactory) {
            func counter(_ name: String) -> Counter {
                Counter(label: "mako_" + name, dimensions: dimensions, factory: factory)
            }
            func gauge(_ name: String) -> Gauge {
                Gauge(label: "mako_" + name, dimensions: dimensions, factory: factory)
            }
            commits = counter("commits")
            flushes = counter("flushes")
            logBytes = counter("log_bytes")
            loads = counter("page_loads")
            evictions = counter("page_evictions")
            checkpoints = counter("checkpoints")
            failures = counter("checkpoint_failures")
            expired = counter("snapshots_expired")
            live = gauge("live_bytes")
            file = gauge("file_bytes")
            waiting = gauge("waiting_bytes")
            cache = gauge("cache_used_bytes")
            snapshots = gauge("open_snapshots")
            oldest = gauge("oldest_snapshot_seconds")
            readOnly = gauge("read_only")
            checkpointTime = Metrics.Timer(
                label: "mako_checkpoint_duration", dimensions: dimensions, factory: factory)
        }

        func record(_ event: StoreEvent) {
            switch event {
            case .checkpointed(let report):
                checkpoints.increment()
                checkpointTime.recordNanoseconds(Int64(report.seconds * 1e9))
            case .checkpointFailed: failures.increment()
            case .becameReadOnly: readOnly.record(1)
            case .snapshotsExpired(let count, _): expired.increment(by: count)
            case .statistics(let stats): record(stats)
            case .opened: readOnly.record(0)
            case .shrank, .weakPassphrase, .closed: break
            }
        }

        private func record(_ stats: StoreStats) {
            let page = stats.pageBytes
            // The first report has no earlier commit number to count from.
            if let last { add(stats.commitNumber, since: last.commitNumber, to: commits) }
            add(stats.flushes, since: last?.flushes ?? 0, to: flushes)
            add(stats.logBytes, since: last?.logBytes ?? 0, to: logBytes)
            add(stats.pageLoads, since: last?.pageLoads ?? 0, to: loads)
            add(stats.evictions, since: last?.evictions ?? 0, to: evictions)
            live.record(stats.livePages * page)
            file.record(Double(stats.filePages) * Double(page))
            waiting.record(stats.waitingPages * page)
            cache.record(stats.cacheUsedBytes)
            snapshots.record(stats.openSnapshots)
            oldest.record(stats.oldestSnapshot?.seconds ?? 0)
            last = stats
        }

        private func add(_ value: UInt64, since before: UInt64, to counter: Counter) {
            if value > before { counter.increment(by: Int64(clamping: value - before)) }
        }
    }
#endif
