import Foundation

/// The shell's line history, in a file that only its owner can read.
struct History {
    private(set) var lines: [String]
    private let path: String?

    static let limit = 1000

    /// - Parameter path: the file; `nil` keeps the lines in memory only.
    init(path: String?) {
        self.path = path
        let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        let all = text.split(separator: "\n")
        lines = all.suffix(Self.limit).map(String.init)
        if all.count > 2 * Self.limit { write(lines, O_TRUNC) }
    }

    /// The default file: `$MAKO_HISTORY`, or `.mako_history` in the home directory.
    static var defaultPath: String? {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["MAKO_HISTORY"] { return path.isEmpty ? nil : path }
        return environment["HOME"].map { $0 + "/.mako_history" }
    }

    /// Appends a line, unless it is empty or equal to the previous one.
    mutating func add(_ line: String) {
        guard line.contains(where: { !$0.isWhitespace }), line != lines.last else { return }
        lines.append(line)
        if lines.count > Self.limit { lines.removeFirst(lines.count - Self.limit) }
        write([line], O_APPEND)
    }

    /// Writes lines to the file. Errors are ignored: the shell works without a history.
    private func write(_ lines: [String], _ flag: Int32) {
        guard let path else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var information = stat()
        if fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            information.st_mode & 0o077 != 0
        {
            fchmod(descriptor, 0o600)
        }
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        _ = Foundation.write(descriptor, bytes, bytes.count)
    }
}
