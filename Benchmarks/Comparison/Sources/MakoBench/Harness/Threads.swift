import Foundation

/// Runs `body` on `count` threads of the system (not of a pool, which would run only as many as there are cores) and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) throws -> Void) throws {
    let failures = Failures()
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        Thread.detachNewThread {
            do { try body(index) } catch { failures.add("\(error)") }
            group.leave()
        }
    }
    group.wait()
    if let first = failures.first { throw BenchmarkError(first) }
}

private final class Failures: @unchecked Sendable {
    private let lock = NSLock()
    private var texts: [String] = []

    func add(_ text: String) {
        lock.withLock { texts.append(text) }
    }

    var first: String? {
        lock.withLock { texts.first }
    }
}
