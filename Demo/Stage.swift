import Foundation
import Mako

/// The output of the demo.
enum Stage {
    private static let isColourful = isatty(1) == 1

    static func title(_ text: String) {
        print("\n" + bold(text) + "\n" + String(repeating: "━", count: width(text)) + "\n")
    }

    /// A paragraph, wrapped.
    static func say(_ text: String) {
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            print(paragraph.hasPrefix(" ") ? String(paragraph) : wrapped(String(paragraph)))
        }
        print()
    }

    static func warn(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// The source text of the next step.
    static func code(_ text: String) {
        for line in text.split(separator: "\n") { print("    " + colour(String(line), "36")) }
        print()
    }

    static func note(_ label: String, _ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        print(
            "    " + colour(label, "2") + " "
                + colour(lines.joined(separator: "\n" + String(repeating: " ", count: 5 + label.count)), "2"))
    }

    /// A table of text, with numbers aligned to the right.
    static func table(_ columns: [String], _ rows: [[String]], limit: Int = .max) {
        let shown = rows.prefix(limit).map { $0.map { cut($0, 46) } }
        var widths = columns.map(width)
        for row in shown { for (index, cell) in row.enumerated() { widths[index] = max(widths[index], width(cell)) } }
        print("    " + line(columns, widths).map(bold).joined(separator: " │ "))
        print("    " + widths.map { String(repeating: "─", count: $0) }.joined(separator: "─┼─"))
        for row in shown { print("    " + line(row, widths).joined(separator: " │ ")) }
        if rows.count > limit { print("    " + colour("… and \(rows.count - limit) more", "2")) }
        print()
    }

    /// Runs a query of the database and prints the result, the plan and the time.
    static func ask<T>(
        _ question: String, _ source: String, _ query: Query<T>, columns: [String], limit: Int = 6,
        row: (T) throws -> [String]
    ) throws {
        heading(question)
        code(source)
        let (found, time) = try timed { try query.fetch() }
        table(columns, try found.map(row), limit: limit)
        note("found", "\(found.count) \(found.count == 1 ? "object" : "objects") in \(time)")
        note("plan ", try query.explain())
        print()
    }

    /// A query whose result is not a list of objects.
    static func ask<R>(_ question: String, _ source: String, _ answer: () throws -> R, show: (R) throws -> Void) throws
    {
        heading(question)
        code(source)
        let (result, time) = try timed(answer)
        try show(result)
        note("took", time)
        print()
    }

    static func heading(_ text: String) { print("  " + bold("▸ " + text)) }

    static func timed<R>(_ body: () throws -> R) rethrows -> (R, String) {
        let clock = ContinuousClock()
        let start = clock.now
        let result = try body()
        return (result, text(clock.now - start))
    }

    static func text(_ duration: Duration) -> String {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        if seconds < 0.001 { return "\(Int((seconds * 1e6).rounded()))\u{A0}µs" }
        return seconds < 1 ? String(format: "%.1f\u{A0}ms", seconds * 1e3) : String(format: "%.2f\u{A0}s", seconds)
    }

    static func bold(_ text: String) -> String { colour(text, "1") }

    private static func colour(_ text: String, _ code: String) -> String {
        isColourful ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> [String] {
        zip(cells, widths).map { cell, width in
            let space = String(repeating: " ", count: width - Stage.width(cell))
            return Double(cell) != nil ? space + cell : cell + space
        }
    }

    private static func width(_ text: String) -> Int { text.count }

    private static func cut(_ text: String, _ limit: Int) -> String {
        text.count > limit ? text.prefix(limit - 1) + "…" : text
    }

    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + word.count >= 96 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return (lines + [line]).joined(separator: "\n")
    }
}
