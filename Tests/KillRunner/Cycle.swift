import Foundation
import MakoStorage

/// One life of a writer: started, listened to, killed, and what it left compared.
struct Cycle {
    let program: String
    let path: String
    var hearsErrors = true

    /// Starts a writer, kills it after so many milliseconds, and returns for each thread the last transaction that it
    /// reported.
    ///
    /// - Parameter isEarly: whether the milliseconds count from the start of the process, not from its first word.
    /// - Parameter end: what kills it; then its process is killed in any case.
    func live(milliseconds: Int, isEarly: Bool, refusesWriters: Bool, end: () throws -> Void = {}) throws -> [UInt64] {
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: program)
        writer.arguments = ["write", path]
        let pipe = Pipe()
        writer.standardOutput = pipe
        // Below a file system that stops, a writer is expected to get errors.
        if !hearsErrors { writer.standardError = FileHandle.nullDevice }
        try writer.run()
        let ear = Ear(pipe.fileHandleForReading)
        if !isEarly { ear.waitForWord() }
        Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
        if refusesWriters, ear.notified.contains(where: { $0 > 0 }) { try expectRefusal() }
        // A writer that ended by itself failed with an error, which it has written to standard error.
        let isAlive = writer.isRunning
        try end()
        kill(writer.processIdentifier, SIGKILL)
        writer.waitUntilExit()
        ear.waitForEnd()
        guard isAlive else { throw Referee.Failure(description: "the writer ended by itself") }
        return ear.notified
    }

    /// A second process does not get in to write while the writer lives.
    private func expectRefusal() throws {
        do throws(StorageError) { _ = try Store(at: path, options: Workload.options()) } catch {
            if case .alreadyOpen = error { return }
            throw error
        }
        throw Referee.Failure(description: "a second writer got in beside the first")
    }

    /// Starts some readers at once.
    func startReaders(_ count: Int) throws -> [Reader] {
        try (0..<count).map { _ in try Reader(program, path) }
    }
}

/// A process that reads the store.
struct Reader {
    private let process = Process()
    private let pipe = Pipe()

    init(_ program: String, _ path: String) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["read", path]
        process.standardOutput = pipe
        try process.run()
    }

    /// Waits for what it found.
    func digest() throws -> UInt64 {
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let digest = UInt64(text.prefix { $0 != "\n" }) else {
            throw Referee.Failure(description: "a reader failed: \(text)")
        }
        return digest
    }
}

/// Collects the output of a writer until it ends: the last transaction of each thread.
private final class Ear: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var latest = [UInt64](repeating: 0, count: Workload.threads)
    private let hasHeard = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ file: FileHandle) {
        Thread.detachNewThread { [self] in
            var rest: [UInt8] = []
            while true {
                let data = file.availableData
                if data.isEmpty { break }
                rest += data
                let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                rest = Array(lines.last ?? [])
                for line in lines.dropLast() { note(line) }
                if lines.count > 1 { hasHeard.signal() }
            }
            hasHeard.signal()
            ended.signal()
        }
    }

    private func note(_ line: ArraySlice<UInt8>) {
        let numbers = line.split(separator: UInt8(ascii: " ")).compactMap {
            UInt64(String(decoding: $0, as: UTF8.self))
        }
        guard numbers.count == 2, numbers[0] < Workload.threads else { return }
        lock.withLock { latest[Int(numbers[0])] = numbers[1] }
    }

    var notified: [UInt64] { lock.withLock { latest } }

    /// Waits for the first word, or the end.
    func waitForWord() { hasHeard.wait() }

    func waitForEnd() { ended.wait() }
}
