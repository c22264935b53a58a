import Foundation

/// The terminal that the program may or may not be talking to.
enum Terminal {
    /// The three standard streams by their descriptors.
    enum Stream: Int32 { case input = 0, output = 1, error = 2 }

    static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// Characters in a line of the terminal behind standard output; `nil` when there is none.
    static var width: Int? {
        var size = winsize()
        guard isTerminal(.output), ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes all of the text, unbuffered. A reader that went away ends the program quietly, as in any pipe.
    static func write(_ text: String, to stream: Stream = .output) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = Foundation.write(stream.rawValue, Array(rest), rest.count)
            if written < 0 {
                if errno == EINTR { continue }
                if errno == EPIPE { exit(0) }
                return
            }
            rest = rest.dropFirst(written)
        }
    }

    /// One byte from standard input; `nil` at its end.
    static func readByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let got = Foundation.read(0, &byte, 1)
            if got == 1 { return byte }
            if got < 0, errno == EINTR { continue }
            return nil
        }
    }

    /// Runs the body while the terminal hands over each key at once and echoes nothing.
    static func withRawInput<R>(_ body: () -> R) -> R {
        var saved = termios()
        guard tcgetattr(0, &saved) == 0 else { return body() }
        var raw = saved
        raw.c_iflag &= ~tcflag_t(ICRNL | IXON | BRKINT | INPCK | ISTRIP)
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        tcsetattr(0, TCSADRAIN, &raw)
        defer { tcsetattr(0, TCSADRAIN, &saved) }
        return body()
    }
}
