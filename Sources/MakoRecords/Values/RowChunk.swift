/// Copies of checked rows of one layout, one behind the other, for objects that read their texts when they are asked for them.
///
/// A row stays as long as its chunk; a chunk is small, so that an object that is kept keeps little else.
public final class RowChunk: @unchecked Sendable {
    // Unchecked: a row is written before its offset is given to anybody and never after.
    @usableFromInline let base: UnsafeMutableRawPointer
    @usableFromInline let layout: RowLayout

    @usableFromInline
    init(_ layout: RowLayout, capacity: Int) {
        self.layout = layout
        base = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit { base.deallocate() }

    /// Lends a row that ``RowKeeper/keep(_:)`` gave this offset for.
    @inlinable @inline(__always)
    public func withRow<R, E: Error>(
        at offset: UInt16, isPlain: Bool = false, _ body: (RowReader) throws(E) -> R
    ) throws(E) -> R {
        try body(RowReader(checked: UnsafeRawPointer(base) + Int(offset), layout, isPlain: isPlain))
    }
}

/// Fills chunks. Used by one thread.
@frozen
public struct RowKeeper {
    /// Bytes; the place of each row must fit 16 bits.
    public static var largestChunk: Int { 16 << 10 }

    /// The chunk of the row that was kept last.
    public private(set) var chunk: RowChunk?
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var used = 0
    @usableFromInline var capacity = 0
    /// The size of the next chunk.
    @usableFromInline var size: Int

    /// - Parameter firstChunk: bytes of the first chunk; each is twice as large as the one before it, up to a limit. A row that is
    ///   larger gets a chunk of its own.
    @inlinable
    public init(firstChunk: Int) { size = firstChunk }

    /// Copies a row to ``chunk`` and answers where it stands there.
    @inlinable @inline(__always)
    public mutating func keep(_ row: RowReader) -> UInt16 {
        let count = Int(row.byteCount)
        let base = if let base, capacity &- used >= count { base } else { begin(row) }
        let start = used
        used = (start &+ count &+ 7) & ~7
        (base + start).copyMemory(from: row.base, byteCount: count)
        return UInt16(truncatingIfNeeded: start)
    }

    /// Whether the chunk's rows have this layout.
    public func holds(_ layout: RowLayout) -> Bool { chunk?.layout === layout }

    @usableFromInline @inline(never)
    mutating func begin(_ row: RowReader) -> UnsafeMutableRawPointer {
        capacity = max(Int(row.byteCount), size)
        size = min(max(size, 64) * 2, RowKeeper.largestChunk)
        let fresh = RowChunk(row.borrowedLayout, capacity: capacity)
        chunk = fresh
        base = fresh.base
        used = 0
        return fresh.base
    }
}
