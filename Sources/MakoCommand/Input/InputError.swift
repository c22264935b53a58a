/// An error in the input, with the file, the line and the remedy.
struct InputError: Error, Equatable, CustomStringConvertible {
    /// The file, or its description.
    var source: String
    /// The line, counted from 1; `nil` when the error concerns no single line.
    var line: Int?
    var message: String
    /// Whether the file does not exist.
    var isMissing = false

    var description: String {
        if let line { return "\(source), line \(line): \(message)" }
        return "\(source): \(message)"
    }
}
