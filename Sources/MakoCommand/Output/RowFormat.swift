import ArgumentParser

/// The output formats of rows.
enum RowFormat: String, CaseIterable, ExpressibleByArgument {
    /// Aligned columns under their names.
    case table
    /// One `name = value` per line, for wide rows.
    case line
    case csv, tsv, json, jsonl

    init?(path: String) {
        guard let format = InputFormat(path: path) else { return nil }
        self.init(rawValue: format.rawValue)
    }
}
