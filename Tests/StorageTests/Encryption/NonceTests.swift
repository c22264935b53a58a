import MakoTestSupport
import Testing

@testable import MakoStorage

/// A nonce that is used for two messages under one key reveals both. So all writes are recorded, across crashes,
/// failures and restarts: two messages with one nonce must be equal, to the byte.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct NonceTests {
    /// Notes the nonces of pages and frames.
    private final class Watch: @unchecked Sendable {
        private struct State {
            var pages: [[UInt8]: UInt64] = [:]
            var frames: [[UInt64]: UInt64] = [:]
            /// The segment that a file is in use as.
            var segments: [String: SegmentHeader] = [:]
            var repeated: [String] = []
        }

        private let lock = Lock()
        // Guarded by `lock`.
        private var state = State()

        var counts: (pages: Int, frames: Int) { lock.withLock { (state.pages.count, state.frames.count) } }
        var repeated: [String] { lock.withLock { state.repeated } }

        func note(_ path: String, _ bytes: UnsafeRawBufferPointer, _ offset: UInt64) {
            lock.withLock {
                if path.contains("-wal-") {
                    noteLog(path, bytes, offset, &state)
                } else if bytes.count % pageBytes == 0 {
                    for start in stride(from: 0, to: bytes.count, by: pageBytes) {
                        notePage(UnsafeRawBufferPointer(rebasing: bytes[start..<start + pageBytes]), path, &state)
                    }
                }
            }
        }

        private func notePage(_ page: UnsafeRawBufferPointer, _ path: String, _ state: inout State) {
            // Header blocks, and what a part of a backup begins with.
            if page.loadUnaligned(fromByteOffset: 40, as: UInt64.self) == FileHeader.magic { return }
            if page.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == BackupPart.Header.magic { return }
            let content = hash(page)
            if let before = state.pages.updateValue(content, forKey: [UInt8](page.prefix(12))), before != content {
                state.repeated.append("a page in \(path)")
            }
        }

        private func noteLog(_ path: String, _ bytes: UnsafeRawBufferPointer, _ offset: UInt64, _ state: inout State) {
            guard let base = bytes.baseAddress else { return }
            if offset == 0 {
                state.segments[path] = SegmentHeader(base)
                return
            }
            guard let segment = state.segments[path] else { return }
            var place = 0
            while place + LogFrame.headerBytes <= bytes.count {
                let lsn = segment.number * segment.segmentBytes + offset + UInt64(place)
                guard
                    let frame = LogFrame(
                        base + place, available: bytes.count - place, lsn: lsn, salt: segment.salt,
                        overhead: SegmentCipher.overhead)
                else {
                    place += 8
                    continue
                }
                let size = LogFrame.bytes(payload: frame.stored)
                let content = hash(
                    UnsafeRawBufferPointer(rebasing: bytes[place..<place + LogFrame.headerBytes + frame.stored]))
                let nonce = [segment.database.high, segment.number, segment.salt, lsn]
                if let before = state.frames.updateValue(content, forKey: nonce), before != content {
                    state.repeated.append("a frame in \(path)")
                }
                place += size
            }
        }

        private func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
            bytes.baseAddress.map { Checksum.hash($0, count: bytes.count, seed: 5) } ?? 0
        }
    }

    @Test func noNonceIsUsedTwice() throws {
        let watch = Watch()
        try SimulatedDisk.$watcher.withValue({ watch.note($0, $1, $2) }) {
            for seed in UInt64(9000)..<(TestEffort.isSmall ? 9010 : 9060) {
                try RandomRounds<EncryptedStoreWorkload>.run(seed: seed)
            }
        }
        #expect(watch.repeated.isEmpty, "\(watch.repeated.count) of \(watch.counts): \(watch.repeated.prefix(3))")
        #expect(
            watch.counts.pages > (TestEffort.isSmall ? 300 : 1000)
                && watch.counts.frames > (TestEffort.isSmall ? 20 : 200), "\(watch.counts)")
    }

    /// Two stores that go on from one backup take the same write ids: their nonces differ by what each drew at its opening.
    @Test func copiesOfOneDatabaseUseDifferentNonces() throws {
        let watch = Watch()
        try SimulatedDisk.$watcher.withValue({ watch.note($0, $1, $2) }) {
            let disk = SimulatedDisk()
            let store = try Store(
                at: EncryptionTests.path, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
            try EncryptionTests.fill(store, 0..<500)
            for copy in ["d/a", "d/b"] { try store.backup(to: copy) }
            try store.close()
            for (number, copy) in ["d/a", "d/b"].enumerated() {
                let store = try Store(at: copy, options: EncryptionTests.options(disk, TestKeys.encryption(0)))
                try EncryptionTests.fill(store, UInt64(1000 * number)..<UInt64(1000 * number + 300), bytes: 50)
                try store.close()
            }
        }
        #expect(watch.repeated.isEmpty, "\(watch.repeated.prefix(3))")
    }
}
