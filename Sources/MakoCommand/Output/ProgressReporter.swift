/// Shows on standard error how far a long piece of work has come.
///
/// On a terminal one line is drawn over and over, ten times a second at most. Elsewhere it says nothing, or, when
/// asked to, writes a line each second.
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
    ///   - total: the amount of work, when it is known, in the unit in which `update` counts.
    ///   - isForced: report even where nobody sits before a terminal.
    ///   - isTerminal: whether standard error is one.
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

    /// Tells how much is done. Cheap enough to be called for each row.
    ///
    /// - Parameter note: what else to show; only asked for when a line is drawn.
    mutating func update(_ done: Int, note: @autoclosure () -> String = "") {
        guard mode != .silent else { return }
        let now = now()
        guard now - shownAt >= (mode == .drawing ? .milliseconds(100) : .seconds(1)) else { return }
        shownAt = now
        show(line(done, at: now, note: note()))
    }

    /// Clears the line that was drawn.
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
