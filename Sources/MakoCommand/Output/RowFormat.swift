import ArgumentParser

/// The forms in which rows are shown or written.
enum RowFormat: String, CaseIterable, ExpressibleByArgument {
    /// Columns under their names, for people.
    case table
    /// One `name = value` to a line, for wide rows.
    case line
    case csv, tsv, json, jsonl

    init?(path: String) {
        guard let format = InputFormat(path: path) else { return nil }
        self.init(rawValue: format.rawValue)
    }
}
