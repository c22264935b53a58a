import CPlatform

/// Files in memory that end with the value: for `Store.inMemory` and for fast tests.
///
/// Every directory exists, and only the names of files count.
public final class MemoryFileSystem: FileSystem, @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var files: [TextKey: MemoryContent] = [:]
    /// How the paths of files begin that are never read: they have a size and no content.
    private let forgotten: String?

    /// Creates an empty file system.
    public init() { forgotten = nil }

    /// Creates an empty file system that keeps nothing of what is written to files whose paths begin so.
    init(forgetting paths: String?) { forgotten = paths }

    /// Opens or creates a file.
    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        let content = try lock.withLock { () throws(FileError) -> MemoryContent in
            if let existing = files[TextKey(path)] {
                if mode == .createNew { throw FileError(operation: "open", path: path, code: EEXIST) }
                return existing
            }
            guard mode == .create || mode == .createNew else {
                throw FileError(operation: "open", path: path, code: ENOENT)
            }
            let created = MemoryContent(isForgotten: forgotten.map(path.hasPrefix) ?? false)
            files[TextKey(path)] = created
            return created
        }
        return MemoryFile(path: path, content: content, files: self, isReadOnly: mode == .readOnly)
    }

    fileprivate func isNamed(_ path: String, _ content: MemoryContent) -> Bool {
        lock.withLock { files[TextKey(path)] === content }
    }

    /// Removes a file's name.
    public func remove(_ path: String) throws(FileError) {
        let removed = lock.withLock { files.removeValue(forKey: TextKey(path)) }
        guard removed != nil else { throw FileError(operation: "remove", path: path, code: ENOENT) }
    }

    /// Renames a file, replacing a file of that name.
    public func rename(_ from: String, to: String) throws(FileError) {
        try lock.withLock { () throws(FileError) in
            guard let content = files.removeValue(forKey: TextKey(from)) else {
                throw FileError(operation: "rename", path: from, code: ENOENT)
            }
            files[TextKey(to)] = content
        }
    }

    /// Renames a file, unless the name is taken.
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        try lock.withLock { () throws(FileError) in
            guard files[TextKey(to)] == nil else { throw .taken(to) }
            guard let content = files.removeValue(forKey: TextKey(from)) else {
                throw FileError(operation: "rename", path: from, code: ENOENT)
            }
            files[TextKey(to)] = content
        }
    }

    /// Returns the names of the files in a directory, sorted.
    public func list(directory: String) throws(FileError) -> [String] {
        lock.withLock {
            let directory = TextKey(directory)
            return files.keys.map(\.text).filter { TextKey(FilePath.directory(of: $0)) == directory }
                .map(FilePath.name(of:)).sorted()
        }
    }

    /// Does nothing: names in memory are not durable.
    public func syncDirectory(_ path: String) throws(FileError) {}

    /// Whether a path is the directory of a file.
    public func isDirectory(_ path: String) -> Bool {
        let path = TextKey(path)
        return lock.withLock {
            files[path] == nil && files.keys.contains { TextKey(FilePath.directory(of: $0.text)) == path }
        }
    }

    /// Whether a file has this path.
    public func exists(_ path: String) -> Bool {
        lock.withLock { files[TextKey(path)] != nil }
    }
}

/// A file's bytes in chunks that are never moved, so that growing copies nothing. An empty chunk is all zeros.
private final class MemoryContent: @unchecked Sendable {
    private static let pieceBytes = 64 << 10

    let lock = Lock()
    /// Whether all bytes read as zeros, whatever is written.
    private let isForgotten: Bool
    // All guarded by `lock`.
    private(set) var size: UInt64 = 0
    private var pieces: [[UInt8]] = []
    var sharedHolders = 0
    var exclusiveHolders = 0
    /// The pins of each handle.
    var pins: [ObjectIdentifier: [UInt64]] = [:]

    init(isForgotten: Bool) { self.isForgotten = isForgotten }

    /// The size and the chunks, which are copied when they are written.
    var all: (size: UInt64, pieces: [[UInt8]]) {
        get { (size, pieces) }
        set { (size, pieces) = newValue }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        guard offset < size else { return 0 }
        let count = ByteCount.step(size - offset, most: buffer.count)
        forEachPiece(offset, count) { piece, start, range in
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[range])
            if pieces[piece].isEmpty {
                _ = target.initializeMemory(as: UInt8.self, repeating: 0)
            } else {
                pieces[piece].withUnsafeBytes {
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + range.count]))
                }
            }
        }
        return count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) {
        let end = offset + UInt64(buffer.count)
        if end > size { resize(to: end) }
        if isForgotten { return }
        forEachPiece(offset, buffer.count) { piece, start, range in
            let source = UnsafeRawBufferPointer(rebasing: buffer[range])
            if pieces[piece].isEmpty {
                // A log is filled with zeros ahead of its frames, most of which are never written.
                if source.isAllZeros { return }
                pieces[piece] = [UInt8](repeating: 0, count: MemoryContent.pieceBytes)
            }
            pieces[piece].withUnsafeMutableBytes {
                UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + range.count]).copyMemory(from: source)
            }
        }
    }

    func resize(to newSize: UInt64) {
        let pieceBytes = MemoryContent.pieceBytes
        let count = Int((newSize + UInt64(pieceBytes) - 1) / UInt64(pieceBytes))
        if count < pieces.count { pieces.removeLast(pieces.count - count) }
        while pieces.count < count { pieces.append([]) }
        // Zero the rest of the last chunk, because it must read as zeros when the file grows again.
        let kept = Int(newSize % UInt64(pieceBytes))
        if newSize < size, kept > 0, !pieces[count - 1].isEmpty {
            for index in kept..<pieceBytes { pieces[count - 1][index] = 0 }
        }
        size = newSize
    }

    /// Calls `body` for each chunk of a range: the chunk, the offset in it, and the range of the caller's bytes.
    private func forEachPiece(_ offset: UInt64, _ count: Int, _ body: (Int, Int, Range<Int>) -> Void) {
        let pieceBytes = MemoryContent.pieceBytes
        var done = 0
        while done < count {
            let position = offset + UInt64(done)
            let start = Int(position % UInt64(pieceBytes))
            let length = min(pieceBytes - start, count - done)
            body(Int(position / UInt64(pieceBytes)), start, done..<done + length)
            done += length
        }
    }
}

private final class MemoryFile: File, @unchecked Sendable {
    private enum Held { case nothing, shared, exclusive }

    let path: String
    private let content: MemoryContent
    private let files: MemoryFileSystem
    private let isReadOnly: Bool
    // Guarded by the lock of the contents.
    private var held = Held.nothing
    private var isClosed = false

    init(path: String, content: MemoryContent, files: MemoryFileSystem, isReadOnly: Bool) {
        self.path = path
        self.content = content
        self.files = files
        self.isReadOnly = isReadOnly
    }

    deinit { close() }

    func size() throws(FileError) -> UInt64 {
        try whileOpen("size") { content.size }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try whileOpen("read") { content.read(into: buffer, at: offset) }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try checkRange("write", offset, buffer.count)
        try whileOpen("write", changes: true) { content.write(buffer, at: offset) }
    }

    func resize(to size: UInt64) throws(FileError) {
        try checkRange("resize", size, 0)
        try whileOpen("resize", changes: true) { content.resize(to: size) }
    }

    func allocate(_ range: Range<UInt64>) throws(FileError) {
        try checkRange("allocate", range.upperBound, 0)
        try whileOpen("allocate", changes: true) {
            if range.upperBound > content.size { content.resize(to: range.upperBound) }
        }
    }

    func sync() throws(FileError) {
        try whileOpen("sync") {}
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool {
        try whileOpen("lock") {
            let before = held
            letGo()
            let others = exclusive ? content.sharedHolders + content.exclusiveHolders : content.exclusiveHolders
            guard others == 0 else {
                hold(before)
                return false
            }
            hold(exclusive ? .exclusive : .shared)
            return true
        }
    }

    func unlock() throws(FileError) {
        try whileOpen("unlock") {
            content.pins[ObjectIdentifier(self)] = nil
            letGo()
        }
    }

    func isNamed(_ path: String) throws(FileError) -> Bool {
        try whileOpen("open") {}
        return files.isNamed(path, content)
    }

    func shareBlocks(of other: any File) throws(FileError) -> Bool {
        guard let other = other as? MemoryFile else { return false }
        let pieces = try other.whileOpen("share") { other.content.all }
        return try whileOpen("share", changes: true) {
            content.all = pieces
            return true
        }
    }

    func pin(_ number: UInt64) throws(FileError) -> Bool {
        try whileOpen("pin") {
            content.pins[ObjectIdentifier(self), default: []].append(number)
            return true
        }
    }

    func pins() throws(FileError) -> [UInt64] {
        try whileOpen("pins") {
            Set(content.pins.filter { $0.key != ObjectIdentifier(self) }.flatMap(\.value)).sorted()
        }
    }

    func close() {
        content.lock.withLock {
            guard !isClosed else { return }
            isClosed = true
            content.pins[ObjectIdentifier(self)] = nil
            letGo()
        }
    }

    private func hold(_ kind: Held) {
        held = kind
        if kind == .shared { content.sharedHolders += 1 }
        if kind == .exclusive { content.exclusiveHolders += 1 }
    }

    private func letGo() {
        if held == .shared { content.sharedHolders -= 1 }
        if held == .exclusive { content.exclusiveHolders -= 1 }
        held = .nothing
    }

    private func checkRange(_ operation: String, _ offset: UInt64, _ count: Int) throws(FileError) {
        guard offset <= UInt64(Int64.max) - UInt64(count) else {
            throw FileError(operation: operation, path: path, code: EFBIG)
        }
    }

    private func whileOpen<R>(_ operation: String, changes: Bool = false, _ body: () -> R) throws(FileError) -> R {
        try content.lock.withLock { () throws(FileError) -> R in
            guard !isClosed, !(changes && isReadOnly) else {
                throw FileError(operation: operation, path: path, code: EBADF)
            }
            return body()
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether each byte is 0. Without an early end, so that many bytes are combined at a time.
    fileprivate var isAllZeros: Bool {
        var all: UInt8 = 0
        for byte in self { all |= byte }
        return all == 0
    }
}
