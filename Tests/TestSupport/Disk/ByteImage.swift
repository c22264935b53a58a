import Synchronization

/// The bytes of a file at one moment. Copies share what they have in common, so a simulated disk can keep one for
/// every call that a test makes.
public struct ByteImage: Sendable, Equatable {
    static let pieceBytes = 4096

    /// The length of the file.
    public private(set) var size: UInt64 = 0
    // A missing piece is all zeros. There may be pieces beyond the end until `cut()`.
    private var pieces: [Piece?] = []

    /// Creates an empty file.
    public init() {}

    /// Creates a file with these bytes.
    public init(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0, at: 0) }
    }

    /// All bytes.
    public var bytes: [UInt8] { bytes(at: 0, count: Int(size)) }

    /// Two images of equal size and fingerprint are taken to be equal.
    public var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(size)
        for (index, piece) in pieces.enumerated() {
            // Zeros count the same whether they were written or are missing.
            guard let piece, piece.hash != Piece.zeroHash else { continue }
            hasher.combine(index)
            hasher.combine(piece.hash)
        }
        return hasher.finalize()
    }

    public static func == (left: ByteImage, right: ByteImage) -> Bool { left.fingerprint == right.fingerprint }

    /// `count` bytes from `offset` on, zeros beyond the end.
    public func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        result.withUnsafeMutableBytes { _ = copy(into: $0, at: offset) }
        return result
    }

    /// Reads as a file does: fewer bytes than requested at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        return copy(into: UnsafeMutableRawBufferPointer(rebasing: buffer[0..<count]), at: offset)
    }

    /// Writes as a file does: the file grows when the bytes reach past its end.
    mutating func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) {
        overlay(buffer, at: offset)
        size = max(size, offset + UInt64(buffer.count))
    }

    /// Puts bytes in place without a change of size.
    mutating func overlay(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) {
        ByteImage.forEachPiece(offset, buffer.count) { piece, start, range in
            while pieces.count <= piece { pieces.append(nil) }
            if range.count == ByteImage.pieceBytes {
                pieces[piece] = Piece([UInt8](UnsafeRawBufferPointer(rebasing: buffer[range])))
                return
            }
            var bytes = pieces[piece]?.bytes ?? Piece.zeros
            bytes.withUnsafeMutableBytes {
                UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + range.count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[range]))
            }
            pieces[piece] = Piece(bytes)
        }
    }

    /// Puts bytes in place; the image grows when they reach past its end.
    public mutating func replace(at offset: UInt64, with bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0, at: offset) }
    }

    /// Cuts or extends with zeros.
    public mutating func resize(to newSize: UInt64) {
        size = newSize
        cut()
    }

    /// Forgets what lies beyond the end, so that it reads as zeros when the file grows.
    mutating func cut() {
        let count = Int((size + UInt64(ByteImage.pieceBytes) - 1) / UInt64(ByteImage.pieceBytes))
        if count < pieces.count { pieces.removeLast(pieces.count - count) }
        let kept = Int(size % UInt64(ByteImage.pieceBytes))
        guard kept > 0, pieces.count == count, let last = pieces[count - 1] else { return }
        pieces[count - 1] = Piece(
            last.bytes.prefix(kept) + [UInt8](repeating: 0, count: ByteImage.pieceBytes - kept))
    }

    private func copy(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        ByteImage.forEachPiece(offset, buffer.count) { piece, start, range in
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[range])
            let bytes = (piece < pieces.count ? pieces[piece]?.bytes : nil) ?? Piece.zeros
            bytes.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + range.count]))
            }
        }
        return buffer.count
    }

    /// Splits a range of the file at the boundaries of pieces: the piece, the place in it, and the bytes of the range.
    private static func forEachPiece(_ offset: UInt64, _ count: Int, _ body: (Int, Int, Range<Int>) -> Void) {
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

/// A part of a file that never changes.
private final class Piece: Sendable {
    static let zeros = [UInt8](repeating: 0, count: ByteImage.pieceBytes)
    static let zeroHash = Piece(zeros).hash

    let bytes: [UInt8]
    /// Computed at the first use, 0 until then: most pieces are overwritten before.
    private let knownHash = Atomic<Int>(0)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var hash: Int {
        let known = knownHash.load(ordering: .relaxed)
        if known != 0 { return known }
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        knownHash.store(hash, ordering: .relaxed)
        return hash
    }

    convenience init(_ bytes: ArraySlice<UInt8>) { self.init([UInt8](bytes)) }
}
