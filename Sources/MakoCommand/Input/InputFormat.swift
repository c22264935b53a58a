import ArgumentParser

/// The file formats of tables.
enum InputFormat: String, CaseIterable, ExpressibleByArgument {
    case csv, tsv, json, jsonl

    /// The format of a file name's extension.
    init?(path: String) {
        switch path.split(separator: ".", omittingEmptySubsequences: false).last?.lowercased() {
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "json": self = .json
        case "jsonl", "ndjson": self = .jsonl
        default: return nil
        }
    }

    /// Returns a reader for the format.
    ///
    /// - Parameter delimiter: the CSV delimiter; nil: a comma.
    func reader(_ input: ByteInput, delimiter: UInt8? = nil, header: Bool = true) throws(InputError) -> any InputReader
    {
        switch self {
        case .csv:
            try DelimitedReader(input, dialect: .quoted(delimiter: delimiter ?? UInt8(ascii: ",")), header: header)
        case .tsv: try DelimitedReader(input, dialect: .tabs, header: header)
        case .json: try JSONReader(input, layout: .array)
        case .jsonl: try JSONReader(input, layout: .lines)
        }
    }
}
