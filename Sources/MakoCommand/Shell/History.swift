import Foundation

/// The lines typed before, kept in a file between sessions.
struct History {
    private(set) var lines: [String]
    private let path: String?

    static let limit = 1000

    /// - Parameter path: the file; `nil` keeps the lines in memory only.
    init(path: String?) {
        self.path = path
        let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        lines = text.split(separator: "\n").suffix(Self.limit).map(String.init)
    }

    /// The place that shells use: `$MAKO_HISTORY`, or `.mako_history` in the home directory.
    static var defaultPath: String? {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["MAKO_HISTORY"] { return path.isEmpty ? nil : path }
        return environment["HOME"].map { $0 + "/.mako_history" }
    }

    /// Appends a line, unless it is empty or the same as the one before. A history that cannot be written is no
    /// reason to stop anybody from working.
    mutating func add(_ line: String) {
        guard line.contains(where: { !$0.isWhitespace }), line != lines.last else { return }
        lines.append(line)
        if lines.count > Self.limit { lines.removeFirst(lines.count - Self.limit) }
        guard let path else { return }
        try? (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
