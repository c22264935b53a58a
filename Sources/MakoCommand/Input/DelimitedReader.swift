/// Reads delimited rows: CSV (RFC 4180) or tab-separated values.
///
/// Quoted CSV fields may contain delimiters, line breaks and doubled quotes. Tab-separated fields have no quotes: `\t`,
/// `\n`, `\r` and `\\` are escapes, `\N` is a missing value, and an empty field is empty text. Lines end with LF, CR LF
/// or CR. Empty lines are skipped if there are several columns; with one column they are rows.
struct DelimitedReader: InputReader {
    /// The field syntax.
    enum Dialect: Equatable {
        case quoted(delimiter: UInt8)
        case tabs

        static let csv = Dialect.quoted(delimiter: UInt8(ascii: ","))
    }

    private(set) var columns: [String] = []
    var consumed: Int { input.consumed }

    private var input: ByteInput
    private let dialect: Dialect
    private let delimiter: UInt8
    private let fieldEnd: ByteSet
    private var line = 1
    private var bytes: [UInt8] = []

    /// Creates a reader and reads the header, so that `columns` is complete.
    ///
    /// - Parameter header: whether the first row has the column names; otherwise they are `column1`, `column2`…
    init(_ input: ByteInput, dialect: Dialect = .csv, header: Bool = true) throws(InputError) {
        self.input = input
        self.dialect = dialect
        switch dialect {
        case .quoted(let delimiter):
            self.delimiter = delimiter
            fieldEnd = ByteSet(delimiter, .lineFeed, .carriageReturn, .quote)
        case .tabs:
            delimiter = UInt8(ascii: "\t")
            fieldEnd = ByteSet(delimiter, .lineFeed, .carriageReturn)
        }
        try self.input.skipByteOrderMark()
        if header { try readHeader() } else { try countColumns() }
    }

    /// The first row, buffered when the file has no header.
    private var kept: InputRow?

    mutating func next() throws(InputError) -> InputRow? {
        if let row = kept {
            kept = nil
            return row
        }
        guard let row = try readRow() else { return nil }
        guard row.fields.count == columns.count else {
            throw error(
                "expected \(DisplayText.count(columns.count, "field")), as in the first line, and found \(row.fields.count)",
                at: row.line)
        }
        return row
    }

    private mutating func readHeader() throws(InputError) {
        guard let row = try readRow() else {
            throw error("is empty: a header with the column names is needed", at: nil)
        }
        for (index, field) in row.fields.enumerated() {
            guard case .raw(let name) = field, name.contains(where: { !$0.isWhitespace }) else {
                throw error("column \(index + 1) of the header has no name", at: row.line)
            }
            guard !columns.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else {
                throw error("the header names column '\(name)' twice", at: row.line)
            }
            columns.append(name)
        }
    }

    private mutating func countColumns() throws(InputError) {
        guard let row = try readRow() else { return }
        columns = row.fields.indices.map { "column\($0 + 1)" }
        kept = row
    }

    /// Reads one row with any number of fields, after empty lines.
    private mutating func readRow() throws(InputError) -> InputRow? {
        while try input.peek() != nil {
            let start = line
            var fields: [InputField] = []
            fields.reserveCapacity(columns.count)
            var rowEnds = false
            while !rowEnds {
                fields.append(try readField())
                rowEnds = try endField()
            }
            if fields == [blank], columns.count != 1 { continue }
            return InputRow(line: start, fields: fields)
        }
        return nil
    }

    /// The value of an empty line.
    private var blank: InputField { dialect == .tabs ? .raw("") : .missing }

    private mutating func readField() throws(InputError) -> InputField {
        bytes.removeAll(keepingCapacity: true)
        if case .tabs = dialect { return try readTabbedField() }
        if try input.peek() == .quote { return .raw(try readQuotedField()) }
        try input.append(to: &bytes, until: fieldEnd)
        if try input.peek() == .quote {
            throw error(
                "a quote inside a field that does not begin with one; put the field into quotes and double those inside",
                at: line)
        }
        return bytes.isEmpty ? .missing : .raw(try text(bytes, at: line))
    }

    private mutating func readQuotedField() throws(InputError) -> String {
        let start = line
        let quoteOrBreak = ByteSet(.quote, .lineFeed, .carriageReturn)
        _ = try input.next()
        while true {
            try input.append(to: &bytes, until: quoteOrBreak)
            switch try input.next() {
            case .quote:
                guard try input.peek() == .quote else { return try text(bytes, at: start) }
                _ = try input.next()
                bytes.append(.quote)
            case .lineFeed:
                line += 1
                bytes.append(.lineFeed)
            case .carriageReturn:
                // A line break inside quotes is kept unchanged; CR LF counts as one line.
                bytes.append(.carriageReturn)
                if try input.peek() != .lineFeed { line += 1 }
            default:
                throw error("the quote that opens a field on this line is never closed", at: start)
            }
        }
    }

    private mutating func readTabbedField() throws(InputError) -> InputField {
        try input.append(to: &bytes, until: fieldEnd)
        guard bytes.contains(.backslash) else { return .raw(try text(bytes, at: line)) }
        if bytes == [.backslash, UInt8(ascii: "N")] { return .missing }
        var plain: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == .backslash, index < bytes.count else {
                plain.append(byte)
                continue
            }
            switch bytes[index] {
            case UInt8(ascii: "t"): plain.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "n"): plain.append(.lineFeed)
            case UInt8(ascii: "r"): plain.append(.carriageReturn)
            case .backslash: plain.append(.backslash)
            default: plain += [.backslash, bytes[index]]
            }
            index += 1
        }
        return .raw(try text(plain, at: line))
    }

    /// Consumes the delimiter or line break after a field; true when the row ends.
    private mutating func endField() throws(InputError) -> Bool {
        switch try input.next() {
        case nil: return true
        case delimiter: return false
        case .lineFeed:
            line += 1
            return true
        case .carriageReturn:
            if try input.peek() == .lineFeed { _ = try input.next() }
            line += 1
            return true
        default:
            throw error("text after the quote that closes a field; a delimiter or the end of the line is due", at: line)
        }
    }

    private func text(_ bytes: [UInt8], at line: Int) throws(InputError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw error("a field is not UTF-8 text; convert the file to UTF-8 first", at: line)
        }
        return text
    }

    private func error(_ message: String, at line: Int?) -> InputError {
        InputError(source: input.name, line: line, message: message)
    }
}

extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
}
