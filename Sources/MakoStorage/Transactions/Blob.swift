/// A value to be read in pieces, as seen by one snapshot.
///
/// A blob retains its snapshot, and reads requested bytes from the file. A value inside its leaf is copied to memory.
///
/// ```swift
/// guard let film = try snapshot.blob(of: 7, in: films) else { return }
/// let start = try film.bytes(in: 0..<4096)
/// try film.forEachPiece { piece in hash.update(bufferPointer: piece) }
/// ```
public struct Blob: Sendable {
    /// The length of the value in bytes.
    public let count: UInt64
    private let content: Content
    private let snapshot: Snapshot
    private static let pieceBytes: UInt64 = 256 << 10

    private enum Content: @unchecked Sendable {
        case bytes([UInt8])
        /// On overflow pages, which are read through the page cache and borrowed in place.
        case pages(Overflow)
        case runs(ExtentReader)
    }

    init(_ record: RecordView, _ snapshot: Snapshot) throws(StorageError) {
        self.snapshot = snapshot
        if record.isOverflow {
            let overflow = try snapshot.overflow(record)
            if !overflow.isCompressed && !overflow.isList && overflow.stored < Limits.directBytes {
                count = UInt64(overflow.length)
                content = .pages(overflow)
                return
            }
            if !overflow.isCompressed {
                let runs = try overflow.runs(from: snapshot.frames)
                count = runs.length
                content = .runs(ExtentReader(runs, of: snapshot.frames))
                return
            }
        }
        let bytes = try snapshot.bytes(record)
        count = UInt64(bytes.count)
        content = .bytes(bytes)
    }

    /// Copies bytes of the value into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: the memory to fill.
    ///   - offset: the offset in the value, in bytes.
    /// - Returns: the number of copied bytes: fewer than the buffer holds at the value's end, none beyond it.
    /// - Throws: ``StorageError/closed(path:)``, ``StorageError/corrupted(page:reason:)`` and I/O errors.
    /// - Complexity: linear in the copied bytes.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        guard offset < count, !buffer.isEmpty else { return 0 }
        let length = ByteCount.step(count - offset, most: buffer.count)
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])
        switch content {
        case .bytes(let bytes):
            bytes.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(length)))
            }
        case .pages(let value):
            var done = 0
            while done < length {
                let place = offset + UInt64(done)
                let skipped = Int(place % UInt64(Overflow.payloadBytes))
                let share = min(Overflow.payloadBytes - skipped, length - done)
                try snapshot.whileOpen { () throws(StorageError) in
                    let page = try value.page(Int(place / UInt64(Overflow.payloadBytes)), of: snapshot.frames)
                    UnsafeMutableRawBufferPointer(rebasing: target[done..<done + share]).copyMemory(
                        from: UnsafeRawBufferPointer(start: page + skipped, count: share))
                }
                done += share
            }
        case .runs(let reader):
            var done = 0
            while done < length {
                // Read in pieces, so that the snapshot stays open during a read, but closing it does not wait for a
                // whole long value.
                let piece = min(length - done, Int(Blob.pieceBytes))
                let part = UnsafeMutableRawBufferPointer(rebasing: target[done..<done + piece])
                try snapshot.whileOpen { () throws(StorageError) in
                    try reader.read(at: offset + UInt64(done), into: part)
                }
                done += piece
            }
        }
        return length
    }

    /// Returns a part of the value.
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` if the range exceeds ``count``; the errors of ``read(into:at:)``.
    /// - Complexity: linear in the length of the range.
    public func bytes(in range: Range<UInt64>) throws(StorageError) -> [UInt8] {
        guard range.upperBound <= count else {
            throw .invalidArgument("bytes up to \(range.upperBound) were requested from a value of \(count) bytes")
        }
        let range = range.clamped(to: 0..<count)
        guard !range.isEmpty else { return [] }
        var failure: StorageError?
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            do throws(StorageError) {
                filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Calls `body` with the value's bytes in order, in pieces of at most 256 KiB, which are valid until it returns.
    ///
    /// - Complexity: linear in the length of the value.
    public func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        if case .pages(let value) = content { return try forEachPage(of: value, body) }
        var pieces = Pieces(of: self)
        defer { pieces.deallocate() }
        while let piece = try pieces.next() { try body(piece) }
    }

    /// Reads the pages in place, in an epoch that is left between them.
    private func forEachPage(of value: Overflow, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let frames = snapshot.frames
        let count = value.pageCount
        for index in 0..<count {
            let entry = try snapshot.enter()
            defer { Epochs.leave(entry) }
            let page = try value.page(index, of: frames)
            // Prefetch each page more than once, for the same reason as a scan of leaves.
            if index + 1 < count { frames.prefetchDownwards(value.reference(at: index + 1)) }
            if index + 2 < count { frames.prefetchDownwards(value.reference(at: index + 2)) }
            if index + 1 < count { frames.prefetchAll(value.reference(at: index + 1)) }
            let share = min(Overflow.payloadBytes, value.stored - index * Overflow.payloadBytes)
            try body(UnsafeRawBufferPointer(start: page, count: share))
        }
    }

    /// An iterator over the pieces of the value.
    struct Pieces {
        private let blob: Blob
        private let buffer: UnsafeMutableRawBufferPointer
        private var offset: UInt64 = 0

        init(of blob: Blob) {
            self.blob = blob
            buffer = .allocate(byteCount: Int(min(blob.count, Blob.pieceBytes)), alignment: 16)
        }

        func deallocate() { buffer.deallocate() }

        /// Returns the next bytes, which are valid until the next call.
        mutating func next() throws(StorageError) -> UnsafeRawBufferPointer? {
            guard offset < blob.count else { return nil }
            let length = try blob.read(into: buffer, at: offset)
            offset += UInt64(length)
            return UnsafeRawBufferPointer(rebasing: buffer[..<length])
        }
    }
}

extension Snapshot {
    /// Returns the value of `key` for reading in pieces; nil if there is none. Works for every value, however it was
    /// written.
    ///
    /// - Complexity: logarithmic.
    public func blob(of key: UInt64, in tree: Tree) throws(StorageError) -> Blob? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard let record = try frames.find(IntegerLayout.self, lookUp(tree, .integer), key) else { return nil }
        return try Blob(record, self)
    }

    /// Returns the value of `key` for reading in pieces; nil if there is none. Works for every value, however it was
    /// written.
    ///
    /// - Complexity: logarithmic.
    public func blob(of key: [UInt8], in tree: Tree) throws(StorageError) -> Blob? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try lookUp(tree, .bytes)
        let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
            result { () throws(StorageError) in try frames.find(ByteLayout.self, state, addressed(key)) }
        }
        guard let record = try found.get() else { return nil }
        return try Blob(record, self)
    }
}
