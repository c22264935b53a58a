import Foundation
import MakoStorage
import Synchronization

/// The standard streams, and the terminal behind them.
enum Terminal {
    /// The standard streams, by descriptor.
    enum Stream: Int32 { case input = 0, output = 1, error = 2 }

    static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// The width of the terminal at standard output; `nil` without a terminal.
    static var width: Int? {
        var size = winsize()
        guard isTerminal(.output), ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    // MARK: Writing

    private static let showsOutput = isTerminal(.output)
    private static let failure = Atomic<Int32>(0)

    /// Whether writing to standard output failed. Later output is discarded.
    static var hasFailed: Bool { failure.load(ordering: .relaxed) != 0 }

    /// Writes to standard output. On a terminal, control characters in stored text are escaped.
    static func write(_ text: String) {
        guard !hasFailed else { return }
        let code = put(showsOutput ? DisplayText.visible(text) : text, .output)
        if code != 0 { failure.store(code, ordering: .relaxed) }
    }

    /// Writes a message to standard error, with control characters escaped.
    static func writeError(_ message: String) { _ = put(DisplayText.visible(message), .error) }

    /// Writes the program's own text to a terminal, including escape sequences.
    static func draw(_ text: String, to stream: Stream = .output) { _ = put(text, stream) }

    /// - Throws: when output was lost. After a closed pipe, as with `head`, the program ends without a message.
    static func checkOutput() throws {
        let code = failure.load(ordering: .relaxed)
        if code == 0 { return }
        if code == EPIPE, Signals.ownsProcess { Signals.end(by: SIGPIPE) }
        throw Failure("standard output cannot be written: \(systemMessage(code))", .inputOutput)
    }

    /// Writes all of the text without buffering; returns the error number, or 0.
    private static func put(_ text: String, _ stream: Stream) -> Int32 {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = Foundation.write(stream.rawValue, Array(rest), rest.count)
            if written < 0 {
                if errno == EINTR { continue }
                return errno
            }
            rest = rest.dropFirst(written)
        }
        return 0
    }

    // MARK: Reading

    /// Reads one byte from standard input; `nil` at its end.
    static func readByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let got = Foundation.read(0, &byte, 1)
            if got == 1 { return byte }
            if got < 0, errno == EINTR { continue }
            return nil
        }
    }

    /// Reads the next byte of a sequence that a key sends at once; `nil` when none comes within 50 milliseconds.
    static func readByteSoon() -> UInt8? {
        var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 50) > 0 ? readByte() : nil
    }

    private static let lock = Lock()
    nonisolated(unsafe) private static var saved: termios?

    /// Runs the body with the terminal in raw mode: each key at once, no echo.
    static func withRawInput<R>(_ body: () -> R) -> R {
        var settings = termios()
        guard tcgetattr(0, &settings) == 0 else { return body() }
        lock.withLock { saved = settings }
        settings.c_iflag &= ~tcflag_t(ICRNL | IXON | BRKINT | INPCK | ISTRIP)
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        tcsetattr(0, TCSADRAIN, &settings)
        defer { restore() }
        return body()
    }

    /// Restores the terminal settings from before `withRawInput`.
    static func restore() {
        lock.withLock {
            if var settings = saved { tcsetattr(0, TCSADRAIN, &settings) }
            saved = nil
        }
    }
}
