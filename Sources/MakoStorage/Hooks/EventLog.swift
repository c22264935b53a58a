#if Logging
    public import Logging

    extension StoreOptions {
        /// Logs the store's events with swift-log, in addition to the existing ``eventHandler``.
        ///
        /// Levels: `debug` for checkpoints, `trace` for statistics; `info` for opening, closing and a truncated file;
        /// `warning` for skipped damage, a failed checkpoint, expired snapshots and a weak passphrase; `critical` when
        /// the store becomes read-only. The details of an event are in its metadata, under names that start with
        /// `mako`.
        ///
        /// ```swift
        /// var options = StoreOptions()
        /// options.logEvents(to: Logger(label: "events.mako"))
        /// ```
        ///
        /// Needs the package trait `Logging`.
        public mutating func logEvents(to logger: Logger) {
            addEventHandler { $0.log(to: logger) }
        }
    }

    extension StoreEvent {
        fileprivate func log(to logger: Logger) {
            switch self {
            case .opened(let report, let seconds):
                let level: Logger.Level = report.findings.isEmpty ? .info : .warning
                logger.log(
                    level: level, "opened",
                    metadata: [
                        "mako.seconds": "\(seconds)", "mako.replayedCommits": "\(report.replayedCommits)",
                        "mako.findings": .array(report.findings.map { .string($0) }),
                    ])
            case .checkpointed(let report):
                logger.debug(
                    "checkpoint",
                    metadata: [
                        "mako.commit": "\(report.commitNumber)", "mako.pages": "\(report.pages)",
                        "mako.seconds": "\(report.seconds)",
                    ])
            case .checkpointFailed(let error):
                logger.warning("a checkpoint failed; it is tried again", metadata: ["mako.error": "\(error)"])
            case .becameReadOnly(let reason):
                logger.critical("read-only from here on", metadata: ["mako.reason": "\(reason)"])
            case .snapshotsExpired(let count, let limit):
                logger.warning(
                    "snapshots were too old and were ended",
                    metadata: ["mako.snapshots": "\(count)", "mako.limitSeconds": "\(limit)"])
            case .shrank(let before, let after):
                logger.info(
                    "the file is shorter", metadata: ["mako.fromBytes": "\(before)", "mako.toBytes": "\(after)"])
            case .weakPassphrase(let rounds):
                logger.warning(
                    "the passphrase is locked with few rounds", metadata: ["mako.rounds": "\(rounds)"])
            case .statistics(let stats):
                logger.trace(
                    "numbers",
                    metadata: [
                        "mako.commit": "\(stats.commitNumber)", "mako.filePages": "\(stats.filePages)",
                        "mako.livePages": "\(stats.livePages)", "mako.waitingPages": "\(stats.waitingPages)",
                        "mako.cacheUsedBytes": "\(stats.cacheUsedBytes)",
                        "mako.openSnapshots": "\(stats.openSnapshots)",
                    ])
            case .closed(let error):
                if let error {
                    logger.warning("closed after a failure", metadata: ["mako.error": "\(error)"])
                } else {
                    logger.info("closed")
                }
            }
        }
    }
#endif
