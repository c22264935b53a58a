/// Reads lines from a terminal or a pipe.
///
/// A terminal has line editing: arrow keys, Home and End, Ctrl-A, -E, -K, -U, -W, -Y, Ctrl-R for the history search,
/// Tab for completion. From a pipe it reads plain lines byte by byte and draws nothing.
final class LineReader {
    enum Input: Equatable {
        /// A line without its line break.
        case line(String)
        /// Ctrl-C: the line, and the pending input before it, is discarded.
        case cancelled
        case end
    }

    private let isInteractive: Bool
    private var input = ByteInput(OpenFile(descriptor: 0, name: "standard input"), name: "standard input")
    private var line = 0
    private var history: History
    private let completions: (String) -> [String]

    init(
        history: History, isInteractive: Bool = Terminal.isTerminal(.input) && Terminal.isTerminal(.output),
        completions: @escaping (String) -> [String] = { _ in [] }
    ) {
        self.history = history
        self.isInteractive = isInteractive
        self.completions = completions
    }

    func read(prompt: String) throws(InputError) -> Input {
        guard isInteractive else { return try readLine() }
        let input = Terminal.withRawInput { edit(prompt: prompt) }
        if case .line(let line) = input { history.add(line) }
        return input
    }

    private func readLine() throws(InputError) -> Input {
        if line == 0 { try input.skipByteOrderMark() }
        line += 1
        var bytes: [UInt8] = []
        try input.append(to: &bytes, until: ByteSet(.lineFeed))
        if try input.next() == nil, bytes.isEmpty { return .end }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw InputError(source: input.name, line: line, message: "is not UTF-8 text; convert it to UTF-8 first")
        }
        return .line(text)
    }

    private func edit(prompt: String) -> Input {
        var keys = KeyDecoder(read: Terminal.readByte, readSoon: Terminal.readByteSoon)
        var editor = LineEditor(history: history.lines, completions: completions)
        while true {
            Terminal.draw(LineDrawing.draw(editor, prompt: prompt, width: Terminal.width ?? 80))
            switch editor.handle(keys.next()) {
            case .editing: break
            case .accepted(let line):
                Terminal.draw("\r\n")
                return .line(line)
            case .cancelled:
                Terminal.draw("^C\r\n")
                return .cancelled
            case .ended:
                Terminal.draw("\r\n")
                return .end
            case .clearScreen: Terminal.draw("\u{1B}[H\u{1B}[2J")
            }
        }
    }
}

/// Renders the state of an editor to terminal output.
enum LineDrawing {
    /// Redraws the current line. Shows the part around the cursor if the line is wider than the terminal.
    static func draw(_ editor: LineEditor, prompt: String, width: Int) -> String {
        let label = editor.search.map { "(search '\(DisplayText.onOneLine($0))') " } ?? prompt
        let room = max(10, width - DisplayText.width(label) - 1)
        var start = 0
        var before = editor.text[..<editor.cursor].reduce(0) { $0 + DisplayText.width($1) }
        while before > room {
            before -= DisplayText.width(editor.text[start])
            start += 1
        }
        var shown = ""
        var taken = 0
        for character in editor.text[start...] {
            taken += DisplayText.width(character)
            if taken > room { break }
            shown.append(isControl(character) ? "\u{FFFD}" : character)
        }
        let column = DisplayText.width(label) + before
        return "\r\(label)\(shown)\u{1B}[K\r" + (column > 0 ? "\u{1B}[\(column)C" : "")
    }

    /// Pasted text and the history may contain control characters.
    private static func isControl(_ character: Character) -> Bool {
        character.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
