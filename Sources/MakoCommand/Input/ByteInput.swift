import Foundation

/// Reads a file, standard input or bytes in memory once, sequentially, in pieces, so that memory use does not depend on
/// the size of the file.
struct ByteInput {
    /// The name in error messages: the path, or "standard input".
    let name: String
    /// The number of bytes consumed.
    private(set) var consumed = 0

    private let file: OpenFile?
    private var piece: [UInt8]
    private var position = 0

    static let pieceSize = 256 << 10

    /// Opens a file for reading.
    ///
    /// - Parameter name: the name in error messages; nil: the path.
    init(path: String, name: String? = nil) throws(InputError) {
        self.name = name ?? path
        file = try OpenFile(path: path)
        piece = []
    }

    /// Reads from an open file.
    init(_ file: OpenFile, name: String) {
        self.name = name
        self.file = file
        piece = []
    }

    /// Reads from bytes in memory.
    init(bytes: [UInt8], name: String = "input") {
        self.name = name
        file = nil
        piece = bytes
    }

    /// Reads from text in memory.
    init(_ text: String, name: String = "input") {
        self.init(bytes: Array(text.utf8), name: name)
    }

    /// Consumes and returns the next byte; `nil` at the end.
    mutating func next() throws(InputError) -> UInt8? {
        guard position < piece.count else {
            guard try refill() else { return nil }
            return try next()
        }
        defer {
            position += 1
            consumed += 1
        }
        return piece[position]
    }

    /// Returns the next byte without consuming it; `nil` at the end.
    mutating func peek() throws(InputError) -> UInt8? {
        guard position < piece.count else {
            guard try refill() else { return nil }
            return try peek()
        }
        return piece[position]
    }

    /// Appends bytes to `field` up to the next byte in `stops`, which is not consumed.
    mutating func append(to field: inout [UInt8], until stops: ByteSet) throws(InputError) {
        while true {
            var end = position
            while end < piece.count, !stops.contains(piece[end]) { end += 1 }
            field.append(contentsOf: piece[position..<end])
            consumed += end - position
            position = end
            if end < piece.count { return }
            guard try refill() else { return }
        }
    }

    /// Skips a UTF-8 byte order mark, which spreadsheet programs write.
    mutating func skipByteOrderMark() throws(InputError) {
        guard try peek() == 0xEF else { return }
        guard position + 2 < piece.count, piece[position + 1] == 0xBB, piece[position + 2] == 0xBF else { return }
        position += 3
        consumed += 3
    }

    private mutating func refill() throws(InputError) -> Bool {
        guard let file else { return false }
        piece = try file.read(upTo: Self.pieceSize)
        position = 0
        return !piece.isEmpty
    }
}

/// A set of byte values with a fast membership test.
struct ByteSet {
    private var low: (UInt64, UInt64) = (0, 0)

    /// Creates a set of bytes, all below 128.
    init(_ bytes: UInt8...) {
        for byte in bytes { insert(byte) }
    }

    mutating func insert(_ byte: UInt8) {
        if byte < 64 { low.0 |= 1 << UInt64(byte) } else { low.1 |= 1 << UInt64(byte & 63) }
    }

    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return low.0 >> UInt64(byte) & 1 == 1 }
        return byte < 128 && low.1 >> UInt64(byte & 63) & 1 == 1
    }
}

/// A file descriptor that is closed on release.
final class OpenFile {
    private let descriptor: Int32
    private let path: String
    /// The offset of the next read; nil: the descriptor's own position.
    private var offset: off_t?

    init(path: String) throws(InputError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let isMissing = errno == ENOENT || errno == ENOTDIR
            throw InputError(
                source: path, line: nil, message: "cannot be opened: \(systemMessage())", isMissing: isMissing)
        }
    }

    /// Takes ownership of a descriptor and reads from its current position.
    init(descriptor: Int32, name: String) {
        path = name
        self.descriptor = descriptor
    }

    /// Another reader of the same file from its start, independent of other readers.
    func again() throws(InputError) -> OpenFile {
        let file = OpenFile(descriptor: dup(descriptor), name: path)
        guard file.descriptor >= 0 else {
            throw InputError(source: path, line: nil, message: "cannot be read: \(systemMessage())")
        }
        file.offset = 0
        return file
    }

    deinit { close(descriptor) }

    /// Whether two paths name the same file.
    static func isSame(_ first: String, _ second: String) -> Bool {
        var one = stat()
        var other = stat()
        return stat(first, &one) == 0 && stat(second, &other) == 0 && one.st_dev == other.st_dev
            && one.st_ino == other.st_ino
    }

    /// The size of a regular file in bytes; for a symbolic link that of its target.
    static func size(of path: String) -> Int? {
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(information.st_size)
    }

    /// Appends bytes.
    func write(_ bytes: [UInt8]) throws(InputError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = Foundation.write(descriptor, Array(rest), rest.count)
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else {
                throw InputError(source: path, line: nil, message: systemMessage())
            }
            rest = rest.dropFirst(written)
        }
    }

    /// Reads up to `count` bytes; empty at the end of the file.
    func read(upTo count: Int) throws(InputError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let got =
                if let offset { pread(descriptor, &bytes, count, offset) } else {
                    Foundation.read(descriptor, &bytes, count)
                }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else {
                throw InputError(source: path, line: nil, message: "cannot be read: \(systemMessage())")
            }
            if let start = offset { offset = start + off_t(got) }
            bytes.removeLast(count - got)
            return bytes
        }
    }
}

/// The system's message for the last failed call.
func systemMessage(_ code: Int32 = errno) -> String {
    String(cString: strerror(code))
}
