import Foundation

/// A file that is written from front to back.
final class OutputFile {
    private let path: String
    private let descriptor: Int32

    /// Opens the file, emptied when it exists.
    init(path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure("\(path) cannot be written: \(systemMessage())", .inputOutput) }
    }

    deinit { close(descriptor) }

    func write(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = Foundation.write(descriptor, Array(rest), rest.count)
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else { throw Failure("\(path) cannot be written: \(systemMessage())", .inputOutput) }
            rest = rest.dropFirst(written)
        }
    }
}
