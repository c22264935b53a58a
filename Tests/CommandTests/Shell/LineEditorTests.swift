import Foundation
import Testing

@testable import MakoCommand

@Suite struct LineEditorTests {
    private func type(_ keys: [Key], into editor: inout LineEditor) {
        for key in keys { _ = editor.handle(key) }
    }

    private func keys(_ text: String) -> [Key] { text.map { .character($0) } }

    @Test func typingMovingAndDeleting() {
        var editor = LineEditor()
        type(keys("helo") + [.left, .character("l"), .home, .character(">"), .end, .character("!")], into: &editor)
        #expect(editor.line == ">hello!")
        type([.backspace, .home, .delete], into: &editor)
        #expect(editor.line == "hello")
        type([.left, .left, .backspace, .control("e"), .right, .delete], into: &editor)
        #expect(editor.line == "hello")
        #expect(editor.handle(.enter) == .accepted("hello"))
    }

    @Test func cuttingAndPuttingBack() {
        var editor = LineEditor()
        type(keys("one two three") + [.control("w")], into: &editor)
        #expect(editor.line == "one two ")
        type([.control("y"), .control("a"), .wordRight, .control("k")], into: &editor)
        #expect(editor.line == "one")
        type([.control("u")], into: &editor)
        #expect(editor.line.isEmpty)
        type([.control("y")], into: &editor)
        #expect(editor.line == "one")
    }

    @Test func theHistoryKeepsWhatIsBeingTyped() {
        var editor = LineEditor(history: ["first", "second"])
        type(keys("draft") + [.up], into: &editor)
        #expect(editor.line == "second")
        type([.up, .up], into: &editor)
        #expect(editor.line == "first")
        type([.down, .down, .down], into: &editor)
        #expect(editor.line == "draft")
    }

    @Test func searchingBackwards() {
        var editor = LineEditor(history: ["select a", "update b", "select c"])
        type([.control("r")] + keys("sel"), into: &editor)
        #expect(editor.line == "select c")
        type([.control("r")], into: &editor)
        #expect(editor.line == "select a")
        #expect(editor.handle(.enter) == .accepted("select a"))
        var other = LineEditor(history: ["x"])
        type(keys("typed") + [.control("r"), .character("x"), .control("g")], into: &other)
        #expect(other.line == "typed")
    }

    @Test func completionGoesAsFarAsCandidatesAgree() {
        let words = ["Person", "PersonName", "Place"]
        var editor = LineEditor { text in words.filter { $0.hasPrefix(text) } }
        type(keys("from P") + [.tab], into: &editor)
        #expect(editor.line == "from P")
        type(keys("e") + [.tab], into: &editor)
        #expect(editor.line == "from Person")
        type(keys("N") + [.tab], into: &editor)
        #expect(editor.line == "from PersonName ")
    }

    @Test func waysToLeave() {
        var editor = LineEditor()
        #expect(editor.handle(.control("d")) == .ended)
        #expect(editor.handle(.endOfInput) == .ended)
        #expect(editor.handle(.control("c")) == .cancelled)
        _ = editor.handle(.character("x"))
        #expect(editor.handle(.control("d")) == .editing)
        #expect(editor.handle(.endOfInput) == .accepted("x"))
    }

    @Test func bytesBecomeKeys() {
        var bytes: [UInt8] = Array("aé\r\t\u{1B}[A\u{1B}[1;5C\u{1B}[3~\u{1B}OH\u{1}\u{7F}".utf8)
        var decoder = KeyDecoder(read: { bytes.isEmpty ? nil : bytes.removeFirst() })
        let expected: [Key] = [
            .character("a"), .character("é"), .enter, .tab, .up, .wordRight, .delete, .home, .control("a"), .backspace,
            .endOfInput,
        ]
        for key in expected { #expect(decoder.next() == key) }
    }

    @Test func theEscapeKeyIsAKeyAndSoIsTheNext() {
        var bytes: [UInt8] = Array("\u{1B}\u{1B}x\u{1B}".utf8)
        func read() -> UInt8? { bytes.isEmpty ? nil : bytes.removeFirst() }
        var decoder = KeyDecoder(read: read)
        for key in [.escape, .escape, .character("x"), .escape, .endOfInput] as [Key] {
            #expect(decoder.next() == key)
        }
        // Nothing follows at once: the key is there before the next one is pressed.
        bytes = Array("\u{1B}b".utf8)
        var alone = KeyDecoder(read: read, readSoon: { nil })
        #expect(alone.next() == .escape)
        #expect(alone.next() == .character("b"))
    }

    @Test func drawingShowsTheEndOfALongLine() {
        var editor = LineEditor()
        type(keys(String(repeating: "a", count: 50) + "END"), into: &editor)
        let drawn = LineDrawing.draw(editor, prompt: "> ", width: 20)
        #expect(drawn.contains("END"))
        #expect(drawn.hasPrefix("\r> a"))
        #expect(!drawn.contains(String(repeating: "a", count: 20)))
    }

    @Test func theHistoryIsKeptInItsFile() throws {
        let path = try temporaryPath("history")
        var history = History(path: path)
        for line in ["a", "a", "  ", "b"] { history.add(line) }
        #expect(History(path: path).lines == ["a", "b"])
        for n in 0..<1100 { history.add("line \(n)") }
        #expect(History(path: path).lines.count == History.limit)
        #expect(History(path: path).lines.last == "line 1099")
        for n in 0..<1100 { history.add("more \(n)") }
        #expect(History(path: path).lines.count == History.limit)
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == History.limit)
        #expect(History(path: path).lines.last == "more 1099")
    }

    @Test func theHistoryIsItsOwnersAlone() throws {
        let path = try temporaryPath("history")
        try "old\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let new = try temporaryPath("history")
        for path in [path, new] {
            var history = History(path: path)
            history.add("secret")
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
        #expect(History(path: path).lines == ["old", "secret"])
    }

    /// Pasted text may hold what the terminal would obey.
    @Test func drawingShowsNoControlCharacters() {
        var editor = LineEditor()
        type(keys("a\u{9B}31m"), into: &editor)
        #expect(LineDrawing.draw(editor, prompt: "> ", width: 80).contains("a\u{FFFD}31m"))
    }
}
