import Foundation
import MakoStorage

/// The most memory of its own that the process has while something runs, beyond what it had at the beginning.
///
/// Counts `RssAnon` of Linux, every few milliseconds: pages of memory that belong to the process alone. Those of the program's code come and go
/// with what runs, and are no memory of the database.
final class MemoryMeter: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var isRunning = true
    private var peak = 0
    // Set before anything else runs.
    private var base = 0
    private let ended = DispatchSemaphore(value: 0)

    init() {
        let begun = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            // The first time allocates what each look needs.
            _ = Self.resident()
            base = Self.resident() ?? 0
            begun.signal()
            while lock.withLock({ isRunning }) {
                note()
                Thread.sleep(forTimeInterval: 0.005)
            }
            ended.signal()
        }
        begun.wait()
    }

    /// The bytes since the beginning, or since the last call; nil where the system does not say.
    func lap() -> Int? {
        note()
        return lock.withLock {
            defer { peak = 0 }
            return Self.resident() == nil ? nil : peak
        }
    }

    /// Ends the counting, with the bytes of the last lap.
    @discardableResult
    func end() -> Int? {
        lock.withLock { isRunning = false }
        ended.wait()
        return lap()
    }

    private func note() {
        let bytes = (Self.resident() ?? 0) - base
        lock.withLock { peak = max(peak, bytes) }
    }

    private static func resident() -> Int? {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("RssAnon:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }
}
