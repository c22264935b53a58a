/// A line being edited: its text, the cursor, the position in the history, and the history search.
///
/// Handles keys and text only; the line reader reads and draws.
struct LineEditor {
    /// The result of a key press.
    enum Outcome: Equatable {
        case editing
        case accepted(String)
        /// Ctrl-C: the line is discarded.
        case cancelled
        /// Ctrl-D on an empty line, or the end of the input.
        case ended
        /// Ctrl-L.
        case clearScreen
    }

    private(set) var text: [Character] = []
    private(set) var cursor = 0
    /// The search text of a reverse search (Ctrl-R); `nil` outside a search.
    private(set) var search: String?

    private let history: [String]
    private var historyIndex: Int
    private var draft: [Character] = []
    private var cut: [Character] = []
    private let completions: (String) -> [String]

    /// - Parameters:
    ///   - history: earlier lines, oldest first.
    ///   - completions: returns words that begin with the given text.
    init(history: [String] = [], completions: @escaping (String) -> [String] = { _ in [] }) {
        self.history = history
        historyIndex = history.count
        self.completions = completions
    }

    var line: String { String(text) }

    mutating func handle(_ key: Key) -> Outcome {
        if search != nil, let outcome = searchKey(key) { return outcome }
        switch key {
        case .character(let character): insert([character])
        case .enter: return .accepted(line)
        case .tab: complete()
        case .backspace, .control("h"): if cursor > 0 { remove(cursor - 1..<cursor) }
        case .delete: if cursor < text.count { remove(cursor..<cursor + 1) }
        case .left, .control("b"): cursor = max(0, cursor - 1)
        case .right, .control("f"): cursor = min(text.count, cursor + 1)
        case .wordLeft: cursor = wordStart()
        case .wordRight: cursor = wordEnd()
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = text.count
        case .up, .control("p"): recall(historyIndex - 1)
        case .down, .control("n"): recall(historyIndex + 1)
        case .control("k"): kill(cursor..<text.count)
        case .control("u"): kill(0..<cursor)
        case .control("w"): kill(wordStart()..<cursor)
        case .control("y"): insert(cut)
        case .control("r"): search = ""
        case .control("l"): return .clearScreen
        case .control("c"): return .cancelled
        case .control("d"):
            if text.isEmpty { return .ended }
            if cursor < text.count { remove(cursor..<cursor + 1) }
        case .endOfInput: return text.isEmpty ? .ended : .accepted(line)
        case .control, .escape: break
        }
        return .editing
    }

    private mutating func insert(_ characters: [Character]) {
        text.insert(contentsOf: characters, at: cursor)
        cursor += characters.count
    }

    private mutating func remove(_ range: Range<Int>) {
        text.removeSubrange(range)
        cursor = range.lowerBound
    }

    private mutating func kill(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        cut = Array(text[range])
        remove(range)
    }

    private func wordStart() -> Int {
        var index = cursor
        while index > 0, !Self.isWord(text[index - 1]) { index -= 1 }
        while index > 0, Self.isWord(text[index - 1]) { index -= 1 }
        return index
    }

    private func wordEnd() -> Int {
        var index = cursor
        while index < text.count, !Self.isWord(text[index]) { index += 1 }
        while index < text.count, Self.isWord(text[index]) { index += 1 }
        return index
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// Shows another line of the history; after the newest, the line being edited.
    private mutating func recall(_ index: Int) {
        guard (0...history.count).contains(index), index != historyIndex else { return }
        if historyIndex == history.count { draft = text }
        historyIndex = index
        text = index == history.count ? draft : Array(history[index])
        cursor = text.count
    }

    /// Completes the word before the cursor with the common prefix of all candidates.
    private mutating func complete() {
        var start = cursor
        while start > 0, Self.isWord(text[start - 1]) || text[start - 1] == "." { start -= 1 }
        let word = String(text[start..<cursor])
        let candidates = completions(word)
        guard let first = candidates.first else { return }
        let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
        guard common.count >= word.count else { return }
        remove(start..<cursor)
        insert(Array(common))
        if candidates.count == 1 { insert([" "]) }
    }

    /// Handles a key during a search; `nil` ends the search and passes the key on.
    private mutating func searchKey(_ key: Key) -> Outcome? {
        guard let searched = search else { return nil }
        switch key {
        case .character(let character):
            search = searched + String(character)
            find(before: historyIndex + 1)
        case .backspace:
            search = String(searched.dropLast())
            find(before: history.count)
        case .control("r"):
            find(before: historyIndex)
        case .control("c"), .control("g"), .escape:
            search = nil
            recall(history.count)
        default:
            search = nil
            return nil
        }
        return .editing
    }

    private mutating func find(before end: Int) {
        guard let searched = search, !searched.isEmpty else { return }
        guard let index = history.prefix(max(0, min(end, history.count))).lastIndex(where: { $0.contains(searched) })
        else { return }
        recall(index)
    }
}

extension String {
    fileprivate func commonPrefix(with other: String) -> String {
        String(zip(self, other).prefix { $0 == $1 }.map(\.0))
    }
}
