/// Shows the progress of a long operation on standard error.
///
/// On a terminal it redraws one line, at most ten times per second. Elsewhere it writes nothing or, on request, one
/// line per second.
struct ProgressReporter {
    enum Mode { case silent, drawing, lines }

    private let title: String
    private let mode: Mode
    private let total: Int?
    private let output: (String) -> Void
    private let now: () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    private var shownAt: ContinuousClock.Instant
    private var hasShown = false

    /// - Parameters:
    ///   - total: the total amount of work, if known, in the unit of `update`.
    ///   - isForced: whether to report without a terminal.
    ///   - isTerminal: whether standard error is a terminal.
    init(
        _ title: String, total: Int?, isForced: Bool = false, isTerminal: Bool = Terminal.isTerminal(.error),
        now: @escaping () -> ContinuousClock.Instant = { .now },
        output: @escaping (String) -> Void = { Terminal.draw($0, to: .error) }
    ) {
        self.title = DisplayText.onOneLine(title)
        self.total = total
        self.now = now
        self.output = output
        mode = isTerminal ? .drawing : isForced ? .lines : .silent
        start = now()
        shownAt = start
    }

    /// Reports progress. Cheap enough to be called for each row.
    ///
    /// - Parameter note: additional text; evaluated only when a line is drawn.
    mutating func update(_ done: Int, note: @autoclosure () -> String = "") {
        guard mode != .silent else { return }
        let now = now()
        guard now - shownAt >= (mode == .drawing ? .milliseconds(100) : .seconds(1)) else { return }
        shownAt = now
        show(line(done, at: now, note: note()))
    }

    /// Clears the drawn line.
    mutating func finish() {
        if mode == .drawing, hasShown { output("\r\u{1B}[K") }
        hasShown = false
    }

    private mutating func show(_ line: String) {
        output(mode == .drawing ? "\r\(line)\u{1B}[K" : line + "\n")
        hasShown = true
    }

    private func line(_ done: Int, at now: ContinuousClock.Instant, note: String) -> String {
        var line = title
        if let total, total > 0 { line += " \(min(100, done * 100 / total))%" }
        if !note.isEmpty { line += ", \(note)" }
        return line + ", \(DisplayText.duration(now - start))"
    }
}
