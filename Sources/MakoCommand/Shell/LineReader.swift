/// Reads lines from a person or from a pipe.
///
/// On a terminal the line can be edited: arrow keys, Home and End, Ctrl-A, -E, -K, -U, -W, -Y, Ctrl-R to search the
/// history, Tab to complete. Elsewhere plain lines are read and nothing is drawn.
final class LineReader {
    private let isInteractive: Bool
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

    /// The next line without its line break; `nil` at the end of the input.
    func read(prompt: String) -> String? {
        guard isInteractive else { return readLine(strippingNewline: true) }
        let line = Terminal.withRawInput { edit(prompt: prompt) }
        if let line { history.add(line) }
        return line
    }

    private func edit(prompt: String) -> String? {
        let keys = KeyDecoder(readByte: Terminal.readByte)
        var editor = LineEditor(history: history.lines, completions: completions)
        while true {
            Terminal.write(LineDrawing.draw(editor, prompt: prompt, width: Terminal.width ?? 80))
            switch editor.handle(keys.next()) {
            case .editing: break
            case .accepted(let line):
                Terminal.write("\r\n")
                return line
            case .cancelled:
                Terminal.write("^C\r\n")
                editor = LineEditor(history: history.lines, completions: completions)
            case .ended:
                Terminal.write("\r\n")
                return nil
            case .clearScreen: Terminal.write("\u{1B}[H\u{1B}[2J")
            }
        }
    }
}

/// Turns the state of an editor into what a terminal must be sent.
enum LineDrawing {
    /// Draws over the current line. A line longer than the terminal is wide is shown around its cursor.
    static func draw(_ editor: LineEditor, prompt: String, width: Int) -> String {
        let label = editor.search.map { "(search '\($0)') " } ?? prompt
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
            shown.append(character)
        }
        let column = DisplayText.width(label) + before
        return "\r\(label)\(shown)\u{1B}[K\r" + (column > 0 ? "\u{1B}[\(column)C" : "")
    }
}
