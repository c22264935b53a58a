import MakoRecords

/// Writes rows of values in an output format.
///
/// Call `row` for each row and `finish` at the end, or `interrupt` after an error. A table buffers its first rows to
/// compute column widths; the other formats write each row immediately.
struct RowPrinter {
    private let columns: [String]
    private let format: RowFormat
    private var table: TableLayout
    private let output: (String) -> Void
    private(set) var rows = 0
    private var pending = ""
    private let keys: [String]

    /// - Parameters:
    ///   - width: the terminal width to which a table is fitted; `nil`: no limit.
    ///   - output: receives pieces of text.
    init(columns: [String], format: RowFormat, width: Int? = nil, output: @escaping (String) -> Void) {
        self.columns = columns
        self.format = format
        self.output = output
        table = TableLayout(columns: columns, width: width)
        keys = columns.map { JSONText.quoted($0) }
        if format == .csv { pending = columns.map { Delimited.csv($0) }.joined(separator: ",") + "\n" }
        if format == .tsv { pending = columns.map { Delimited.tsv($0) }.joined(separator: "\t") + "\n" }
    }

    mutating func row(_ values: [Value]) {
        switch format {
        case .table: pending += table.add(values)
        case .line: pending += lines(values)
        case .csv: pending += values.map { Delimited.csv($0) }.joined(separator: ",") + "\n"
        case .tsv: pending += values.map { Delimited.tsv($0) }.joined(separator: "\t") + "\n"
        case .json: pending += (rows == 0 ? "[\n  " : ",\n  ") + object(values)
        case .jsonl: pending += object(values) + "\n"
        }
        rows += 1
        if pending.utf8.count >= 64 << 10 { flush() }
    }

    /// Writes buffered rows and closing brackets.
    mutating func finish() {
        switch format {
        case .table: pending += table.finish()
        case .json: pending += rows == 0 ? "[]\n" : "\n]\n"
        default: break
        }
        flush()
    }

    /// Writes buffered rows and ends the line after an error. A list of JSON stays open, because it is not complete.
    mutating func interrupt() {
        guard rows > 0 else { return }
        switch format {
        case .table: pending += table.finish()
        case .json: pending += "\n"
        default: break
        }
        flush()
    }

    private mutating func flush() {
        output(pending)
        pending = ""
    }

    private func object(_ values: [Value]) -> String {
        var text = "{"
        for (index, value) in values.enumerated() {
            if index > 0 { text += ", " }
            text += keys[index] + ": " + JSONText.value(value)
        }
        return text + "}"
    }

    private func lines(_ values: [Value]) -> String {
        let longest = columns.map { DisplayText.width($0) }.max() ?? 0
        var text = rows > 0 ? "\n" : ""
        for (name, value) in zip(columns, values) {
            let indent = String(repeating: " ", count: longest - DisplayText.width(name))
            text += "\(indent)\(name) = \(value.isNull ? "NULL" : DisplayText.onOneLine(PlainText.of(value)))\n"
        }
        return text
    }
}

/// Formats fields of delimited files, so that the readers return the same values.
enum Delimited {
    /// NULL is an empty field, empty text a pair of quotes.
    static func csv(_ value: Value) -> String {
        value.isNull ? "" : csv(text(value))
    }

    /// A double is formatted so that it does not read as an integer.
    private static func text(_ value: Value) -> String {
        if case .double(let number) = value { return DoubleText.exact(number) }
        return PlainText.of(value)
    }

    static func csv(_ text: String) -> String {
        let quoting = ByteSet(UInt8(ascii: ","), .quote, .lineFeed, .carriageReturn)
        let bytes = text.utf8
        guard
            text.isEmpty || bytes.contains(where: { quoting.contains($0) }) || bytes.first == 32 || bytes.last == 32
                || bytes.starts(with: byteOrderMark)
        else { return text }
        var quoted: [UInt8] = [.quote]
        quoted.reserveCapacity(bytes.count + 2)
        // By bytes, so that a quote followed by a combining mark is doubled too.
        for byte in bytes {
            if byte == .quote { quoted.append(.quote) }
            quoted.append(byte)
        }
        quoted.append(.quote)
        return String(decoding: quoted, as: UTF8.self)
    }

    /// At the start of a file it would not be part of a name.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// NULL is `\N`; tabs, line breaks and backslashes are escaped.
    static func tsv(_ value: Value) -> String {
        value.isNull ? "\\N" : tsv(text(value))
    }

    static func tsv(_ text: String) -> String {
        let escaped = ByteSet(.backslash, .lineFeed, .carriageReturn, UInt8(ascii: "\t"))
        guard text.utf8.contains(where: { escaped.contains($0) }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case .backslash: bytes += [.backslash, .backslash]
            case .lineFeed: bytes += [.backslash, UInt8(ascii: "n")]
            case .carriageReturn: bytes += [.backslash, UInt8(ascii: "r")]
            case UInt8(ascii: "\t"): bytes += [.backslash, UInt8(ascii: "t")]
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
