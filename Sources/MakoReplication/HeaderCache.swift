import MakoStorage

/// A cache of headers. Objects of a sequence never change, so that each header is read once.
final class HeaderCache: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var headers: [String: SequenceHeader] = [:]

    func header(_ name: String) -> SequenceHeader? { lock.withLock { headers[name] } }

    func note(_ header: SequenceHeader, _ name: String) { lock.withLock { headers[name] = header } }

    /// Forgets all headers, because objects may have been removed.
    func removeAll() { lock.withLock { headers = [:] } }
}

extension BranchReader {
    /// The number of concurrent requests. Each spends most of its time waiting.
    private static let requestsAtOnce = 16

    /// Reads the headers of objects `first` to `newest`, 16 at a time.
    func headers(
        from first: UInt64 = 1, through newest: UInt64
    ) -> [Result<SequenceHeader?, ReplicationError>] {
        guard first <= newest else { return [] }
        let results = Headers(first...newest)
        let missing = (first...newest).count { cache.header(name($0)) == nil }
        let threads = (1..<max(1, min(BranchReader.requestsAtOnce, missing))).compactMap { _ in
            // If a thread cannot start, the others read its share.
            try? startThread(name: "mako headers") { results.fill(from: self) }
        }
        results.fill(from: self)
        for thread in threads { thread.join() }
        return results.all
    }

    /// The results of reads that several threads share.
    private final class Headers: @unchecked Sendable {
        private let last: UInt64
        private let lock = Lock()
        // Guarded by `lock`: the last number that a thread reads.
        private var next: UInt64
        private var results: [UInt64: Result<SequenceHeader?, ReplicationError>] = [:]
        private var hasFailed = false

        init(_ numbers: ClosedRange<UInt64>) { (next, last) = (numbers.lowerBound - 1, numbers.upperBound) }

        /// Reads headers until all are read, or the object store fails.
        func fill(from reader: BranchReader) {
            while true {
                let number: UInt64? = lock.withLock {
                    guard next < last, !hasFailed else { return nil }
                    next += 1
                    return next
                }
                guard let number else { return }
                let result: Result<SequenceHeader?, ReplicationError>
                do throws(ReplicationError) { result = .success(try reader.header(number)) } catch {
                    result = .failure(error)
                }
                lock.withLock {
                    results[number] = result
                    if case .failure(.objects) = result { hasFailed = true }
                }
            }
        }

        /// The results in the order of the numbers. After a failure of the object store some are missing.
        var all: [Result<SequenceHeader?, ReplicationError>] {
            lock.withLock { results.sorted { $0.key < $1.key }.map(\.value) }
        }
    }
}
