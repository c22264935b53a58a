import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct ImportCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Puts a CSV, TSV, JSON or JSON lines file into a table.",
        discussion: """
            The types of the columns are found from all rows: integer, unsigned, double, bool, date (ISO 8601) or text;
            a column with empty fields is optional. A table that exists is added to, column by name. All rows are
            stored in one transaction: when a line is wrong, it is named, and nothing at all is imported.

              mako import people.csv people.mako --index name
              mako import events.jsonl people.mako --table Event
            """)

    @Argument(help: "The file to read; - for standard input.", completion: .file())
    var source: String

    @Argument(help: "The database file; made when it is not there.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Option(name: .shortAndLong, help: "The table; named after the file when left out.")
    var table: String?

    @Option(name: .shortAndLong, help: "csv, tsv, json or jsonl; taken from the extension of its name when omitted.")
    var format: InputFormat?

    @Option(name: .shortAndLong, help: "The character between the fields of CSV, or 'tab'.")
    var delimiter: String?

    @Flag(help: "The first line is data and does not name the columns.")
    var noHeader = false

    @Option(
        help: "The key: a column, or several with commas. An integer column 'id' is taken by itself; '' takes none.")
    var key: String?

    @Option(name: .shortAndLong, help: "A column to be indexed; may be repeated.")
    var index: [String] = []

    @Flag(help: "Drop a table of that name first; rows that refer to its rows must find them in the new one.")
    var replace = false

    @Flag(help: "Store keys that lead to no row, and replace rows whatever refers to them.")
    var ignoreReferences = false

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        let name = try tableName()
        let options = TableImport.Options(
            format: try inputFormat(), delimiter: try delimiterByte(), hasHeader: !noHeader,
            key: key.map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }, indexes: index,
            replaces: replace, ignoresReferences: ignoreReferences)
        TemporaryFiles.removeAtSignals()
        let start = ContinuousClock.now
        let input = try ImportInput(source)
        let size = input.size
        var reading = ProgressReporter("reading", total: size, isForced: progress)
        var storing = ProgressReporter("storing", total: size, isForced: progress)
        let work = TableImport(
            source: input.name, table: name, options: options,
            progress: { pass, bytes, rows in
                switch pass {
                case .reading: reading.update(bytes, note: DisplayText.count(rows, "row"))
                case .storing: storing.update(bytes, note: DisplayText.count(rows, "row"))
                }
            }, open: input.open)
        let report = try run(work)
        reading.finish()
        storing.finish()
        summarize(report, .now - start)
    }

    /// Inspects the whole input before it opens the database.
    private func run(_ work: TableImport) throws -> TableImport.Report {
        let (columns, _) = try work.inspect()
        guard !columns.isEmpty else {
            throw InputError(source: source, line: nil, message: "there are no rows, so the columns are not known")
        }
        if !FileManager.default.fileExists(atPath: file) {
            let new = try NewDatabase(at: file)
            defer { new.remove() }
            let report = try new.naming { try run(work, columns, in: new.path) }
            if try new.publish() { return report }
            // Another program has created the database meanwhile.
        }
        return try run(work, columns, in: file)
    }

    private func run(_ work: TableImport, _ columns: [InferredColumn], in path: String) throws -> TableImport.Report {
        let database = try DatabaseFile(writing: path, access)
        return try database.closing { try work.run(columns: columns, in: database.store) }
    }

    func validate() throws {
        guard let format, format != .csv else { return }
        if delimiter != nil {
            throw ValidationError("--delimiter is for CSV; the fields of \(format.rawValue) have none.")
        }
        if noHeader, format != .tsv { throw ValidationError("--no-header is for CSV and TSV.") }
    }

    private func inputFormat() throws -> InputFormat {
        if let format { return format }
        if delimiter != nil { return .csv }
        if let format = InputFormat(path: source) { return format }
        throw Failure(
            "the format of \(source) is not clear from its name; say --format csv, tsv, json or jsonl", .usage)
    }

    private func tableName() throws -> String {
        if let table {
            guard !table.isEmpty else { throw Failure("the table needs a name", .usage) }
            return table
        }
        guard source != "-" else { throw Failure("name the table with --table when reading standard input", .usage) }
        let stem = URL(fileURLWithPath: source).deletingPathExtension().lastPathComponent
        return ColumnNames.plain(stem, otherwise: "data")
    }

    private func delimiterByte() throws -> UInt8? {
        guard let delimiter else { return nil }
        if ["tab", "\\t", "\t"].contains(delimiter) { return UInt8(ascii: "\t") }
        let bytes = Array(delimiter.utf8)
        guard bytes.count == 1, bytes[0] < 128, ![.quote, .lineFeed, .carriageReturn].contains(bytes[0]) else {
            throw Failure("the delimiter must be one ASCII character, or 'tab'", .usage)
        }
        return bytes[0]
    }

    private func summarize(_ report: TableImport.Report, _ duration: Duration) {
        let verb = report.isNew ? "imported into the new table" : "added to table"
        Terminal.write(
            "\(DisplayText.count(report.rows, "row")) \(verb) \(report.table) of \(file) in "
                + "\(DisplayText.duration(duration)).\n")
        if report.isNew {
            let columns = report.columns.map { column in
                let name = report.renamed.first { $0.from == column.name }?.to ?? column.name
                return "\(name) \(column.type.name)\(column.isOptional ? "?" : "")"
            }
            Terminal.write("Columns: \(columns.joined(separator: ", "))\n")
        }
        for (from, to) in report.renamed {
            Terminal.write("Column '\(DisplayText.onOneLine(from))' is called \(to).\n")
        }
    }
}

/// Input that can be read twice: the named file, or a copy of a stream.
struct ImportInput {
    /// The name in messages.
    let name: String
    /// The number of bytes, if known.
    let size: Int?
    /// Opens the input at its start.
    let open: () throws(InputError) -> ByteInput

    init(_ source: String) throws {
        let name = source == "-" ? "standard input" : source
        self.name = name
        guard source == "-" || Self.isStream(source) else {
            size = OpenFile.size(of: source)
            open = { () throws(InputError) in try ByteInput(path: source) }
            return
        }
        let stream = try source == "-" ? OpenFile(descriptor: dup(0), name: name) : OpenFile(path: source)
        let (copy, count) = try Self.copy(stream, name)
        size = count
        open = { () throws(InputError) in ByteInput(try copy.again(), name: name) }
    }

    /// Whether a path is a pipe or a device, which can be read only once.
    private static func isStream(_ path: String) -> Bool {
        var information = stat()
        guard stat(path, &information) == 0 else { return false }
        return ![S_IFREG, S_IFDIR].contains(information.st_mode & S_IFMT)
    }

    /// Copies a stream to an unlinked file, which is removed with its last descriptor, however the process ends.
    private static func copy(_ stream: OpenFile, _ name: String) throws -> (OpenFile, bytes: Int) {
        let folder = NSTemporaryDirectory()
        let (path, descriptor) = try TemporaryFiles.makeFile(beside: folder + "/copy", mode: 0o600)
        TemporaryFiles.remove(path)
        let copy = OpenFile(descriptor: descriptor, name: name)
        var count = 0
        while true {
            let piece = try stream.read(upTo: 1 << 20)
            if piece.isEmpty { return (copy, count) }
            count += piece.count
            do { try copy.write(piece) } catch {
                throw Failure("\(name) cannot be copied to \(folder): \(error.message)", .inputOutput)
            }
        }
    }
}
