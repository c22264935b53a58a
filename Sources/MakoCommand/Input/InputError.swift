/// Why input could not be taken: which file, which line, what is wrong with it and what would be right.
struct InputError: Error, Equatable, CustomStringConvertible {
    /// The file, or what stands for it.
    var source: String
    /// The line, counted from 1; `nil` where no single line is at fault.
    var line: Int?
    var message: String
    /// There is no such file.
    var isMissing = false

    var description: String {
        if let line { return "\(source), line \(line): \(message)" }
        return "\(source): \(message)"
    }
}
