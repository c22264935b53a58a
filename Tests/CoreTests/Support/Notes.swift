import MakoStorage

/// Lines that handlers add, on any thread.
final class Notes: Sendable {
    private let lines = Guarded<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    /// Returns the lines since the last call.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}
