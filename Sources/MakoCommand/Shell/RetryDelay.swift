/// The delay between two attempts of a command that runs until Ctrl-C: its interval, doubled by each failed attempt, at most a minute.
struct RetryDelay {
    private static let longest = 60.0

    private let interval: Double
    private(set) var seconds: Double

    init(interval: Double) {
        self.interval = interval
        seconds = interval
    }

    mutating func reset() { seconds = interval }

    mutating func double() { seconds = min(seconds * 2, max(interval, Self.longest)) }

    /// Doubles the delay, and writes why the attempt failed and when the next one is.
    mutating func report(_ text: String) {
        double()
        Terminal.writeError("mako: \(text); the next attempt is in \(seconds) seconds\n")
    }
}
