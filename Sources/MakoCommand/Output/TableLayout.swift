import MakoRecords

/// Aligns rows under their column names.
///
/// The first rows determine the widths. With a width limit, the widest text columns shrink and their text is cut;
/// numbers are never cut. Values longer than their column shift the rest of the line to the right.
struct TableLayout {
    private let columns: [String]
    private let width: Int?
    private var waiting: [[Cell]] = []
    private var widths: [Int]?

    private static let rowsMeasured = 1000
    private static let narrowest = 6

    private struct Cell {
        var text: String
        var isNumber: Bool
    }

    init(columns: [String], width: Int? = nil) {
        self.columns = columns.map { DisplayText.onOneLine($0) }
        self.width = width
    }

    /// Adds a row; returns the text that can be written now.
    mutating func add(_ values: [Value]) -> String {
        let cells = values.map(Self.cell)
        if let widths { return line(cells, widths) }
        waiting.append(cells)
        return waiting.count == Self.rowsMeasured ? release() : ""
    }

    /// The remaining text.
    mutating func finish() -> String {
        widths == nil ? release() : ""
    }

    private mutating func release() -> String {
        let widths = fitted()
        self.widths = widths
        let names = columns.map { Cell(text: $0, isNumber: false) }
        var text = line(names, widths)
        text += widths.map { String(repeating: "─", count: $0 + 2) }.joined(separator: "┼") + "\n"
        for cells in waiting { text += line(cells, widths) }
        waiting = []
        return text
    }

    private func fitted() -> [Int] {
        var widths = columns.map { DisplayText.width($0) }
        var narrowest = [Int](repeating: Self.narrowest, count: columns.count)
        for cells in waiting {
            for (index, cell) in cells.enumerated() {
                let needed = DisplayText.width(cell.text)
                widths[index] = max(widths[index], needed)
                if cell.isNumber { narrowest[index] = max(narrowest[index], needed) }
            }
        }
        guard let width else { return widths }
        var excess = widths.reduce(0) { $0 + $1 + 3 } - 1 - width
        while excess > 0 {
            let candidates = widths.indices.filter { widths[$0] > narrowest[$0] }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            let next = widths.filter { $0 < widths[widest] }.max() ?? 0
            let cut = min(excess, max(1, widths[widest] - max(next, narrowest[widest])))
            widths[widest] -= cut
            excess -= cut
        }
        return widths
    }

    private func line(_ cells: [Cell], _ widths: [Int]) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            let isCut = width != nil && !cell.isNumber
            let shown = isCut ? DisplayText.cut(cell.text, to: widths[index]) : cell.text
            let space = String(repeating: " ", count: max(0, widths[index] - DisplayText.width(shown)))
            text += index == 0 ? " " : " │ "
            text += cell.isNumber ? space + shown : index == cells.count - 1 ? shown : shown + space
        }
        return text + "\n"
    }

    private static func cell(_ value: Value) -> Cell {
        switch value {
        case .null: Cell(text: "NULL", isNumber: false)
        case .integer, .unsigned, .double: Cell(text: PlainText.of(value), isNumber: true)
        default: Cell(text: DisplayText.onOneLine(PlainText.of(value)), isNumber: false)
        }
    }
}
