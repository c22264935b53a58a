import MakoTestSupport
import Testing

@testable import MakoStorage

/// The writing end of the log by itself.
@Suite struct LogTests {
    private func makeLog() throws -> LogWriter {
        let files = MemoryFileSystem()
        let reader = LogReader(
            fileSystem: files, path: "l.mako", database: DatabaseID(high: 1, low: 2), readOnly: false, required: 0)
        return LogWriter(
            of: reader, dataFile: try files.open("l.mako", .create), segmentBytes: SegmentHeader.smallestSegment,
            entropy: SystemEntropy(), position: .start, lastNumber: 0)
    }

    /// Between `hasRoom` and the append another thread may flush the group, and durable blocks are not written again.
    @Test func aFrameThatFitsStillFitsWhenTheGroupIsFlushed() throws {
        let log = try makeLog()
        defer { log.closeFiles() }
        var random = SplitMix(seed: 7)
        var flushedBetween = 0
        for commit in UInt64(1)...4000 {
            let payload = [UInt8](repeating: 1, count: Int(random.below(900)))
            if !log.hasRoom(payload: payload.count) {
                _ = log.takeGroup(.durable)
                try log.addSegment()
            }
            try #require(log.hasRoom(payload: payload.count))
            if random.chance(30) {
                _ = log.takeGroup(.durable)
                flushedBetween += 1
            }
            let before = log.appendedBytes
            let after = payload.withUnsafeBytes { log.append(.commit, commit: commit, payload: $0) }
            #expect(log.appendedBytes - before == UInt64(LogFrame.bytes(payload: payload.count)), "commit \(commit)")
            #expect(after == log.position)
        }
        #expect(flushedBetween > 500)
        #expect(log.newestSegment > 20)
    }
}
