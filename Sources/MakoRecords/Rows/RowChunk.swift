import CPlatform

/// Copies of checked rows of one layout, one behind the other, for objects that read their texts when they are asked for them.
///
/// A row stays as long as its chunk; a chunk is small, so that an object that is kept keeps little else. All rows of a chunk have the same
/// columns, of which the chunk knows what others find in each row's header. In its place stands which properties the object made from the row
/// has not read yet: one word that belongs to the object, as its own fields do.
public final class RowChunk: @unchecked Sendable {
    // Unchecked: a row is written before its offset is given to anybody and never after; its word is guarded by what guards its object.
    @usableFromInline let base: UnsafeMutableRawPointer
    @usableFromInline let layout: RowLayout
    @usableFromInline let form: KeptForm
    /// How many references were counted ahead that nobody has taken over. Its keeper's thread alone asks, and when the keeper is done with the
    /// chunk there are none.
    @usableFromInline @exclusivity(unchecked) var ready: UInt16 = 0
    /// What those who keep rows here want to find again with each of them.
    public let companion: AnyObject?

    @usableFromInline
    init(_ layout: RowLayout, _ form: KeptForm, capacity: Int, _ companion: AnyObject?) {
        self.layout = layout
        self.form = form
        self.companion = companion
        base = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit { base.deallocate() }

    /// Lends a row that ``RowKeeper/keep(_:)`` gave this offset for.
    @inlinable @inline(__always)
    public func withRow<R, E: Error>(
        at offset: UInt16, isPlain: Bool = false, _ body: (RowReader) throws(E) -> R
    ) throws(E) -> R {
        try body(RowReader(kept: UnsafeRawPointer(base) + Int(offset), layout, form, isPlain: isPlain))
    }

    /// The properties that the object made from a row has not read yet; 0 until somebody says which.
    @inlinable @inline(__always)
    public func pending(at offset: UInt16) -> UInt64 { base.load(fromByteOffset: Int(offset), as: UInt64.self) }

    @inlinable @inline(__always)
    public func setPending(_ properties: UInt64, at offset: UInt16) {
        base.storeBytes(of: properties, toByteOffset: Int(offset), as: UInt64.self)
    }
}

/// A chunk that is handed on without being counted: valid as long as whoever lends it keeps no further row, and counted by who holds on to
/// it.
@frozen
public struct LentChunk {
    @usableFromInline let reference: Unmanaged<RowChunk>?

    @inlinable @inline(__always)
    public init(_ chunk: RowChunk?) { reference = chunk.map { .passUnretained($0) } }

    /// The chunk, for who holds on to it: with a reference that was counted ahead, if one is left.
    @inlinable @inline(__always)
    public var chunk: RowChunk? {
        guard let reference else { return nil }
        let isCounted = reference._withUnsafeGuaranteedRef { chunk in
            if chunk.ready == 0 { return false }
            chunk.ready &-= 1
            return true
        }
        return isCounted ? reference.takeRetainedValue() : reference.takeUnretainedValue()
    }
}

/// References to a chunk that are counted ahead, all at once, which takes no longer than to count one. What nobody took over goes back.
@usableFromInline
final class CountedChunk {
    private let chunk: RowChunk

    init(_ chunk: RowChunk, references: UInt16) {
        self.chunk = chunk
        mako_retain(Unmanaged.passUnretained(chunk).toOpaque(), UInt32(references))
        chunk.ready = references
    }

    deinit {
        let rest = UInt32(chunk.ready)
        chunk.ready = 0
        if rest == 0 { return }
        mako_release(Unmanaged.passUnretained(chunk).toOpaque(), rest)
    }
}

/// What the rows of a chunk have in common.
@frozen @usableFromInline
struct KeptForm {
    /// Where the columns are that can be read.
    @usableFromInline let slots: UnsafeMutablePointer<ColumnSlot>
    /// Where the bits of columns without a value stand: behind the slots of all columns, or of the last text or blob.
    @usableFromInline let nulls: UInt32
    /// Of two bytes, as in the header of a row: a chunk has its count beside it.
    @usableFromInline let columns: UInt16

    @usableFromInline
    init(_ row: RowReader.Parts, _ layout: RowLayout, textsOnly: Bool) {
        columns = UInt16(truncatingIfNeeded: row.columns)
        nulls = textsOnly ? layout.textsEnd(columns: Int(columns)) : row.nulls
        slots = textsOnly ? layout.textSlots : layout.slots
    }
}

/// Fills chunks. Used by one thread.
@frozen
public struct RowKeeper {
    /// Bytes. A row stands at a multiple of 8 below it.
    public static var largestChunk: Int { 16 << 10 }

    /// The chunk of the row that was kept last.
    public private(set) var chunk: RowChunk?
    /// The same, to be handed on.
    public private(set) var lentChunk = LentChunk(nil)
    private var counted: CountedChunk?
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var used = 0
    @usableFromInline var capacity = 0
    /// How many columns the chunk's rows have, and how many bytes of each are behind its header and before its bits of columns without a
    /// value.
    @usableFromInline var columns: UInt32 = 0
    @usableFromInline var slotBytes = 0
    /// The size of the next chunk.
    @usableFromInline var size: Int
    @usableFromInline let textsOnly: Bool
    @usableFromInline let companion: AnyObject?

    /// - Parameters:
    ///   - firstChunk: bytes of the first chunk; each is twice as large as the one before it, up to a limit. A row that is
    ///     larger gets a chunk of its own.
    ///   - textsOnly: whether only the texts and blobs of the rows will be read.
    ///   - companion: of all chunks.
    @inlinable
    public init(firstChunk: Int, textsOnly: Bool = false, companion: AnyObject? = nil) {
        size = firstChunk
        self.textsOnly = textsOnly
        self.companion = companion
    }

    /// Copies a row to ``chunk`` and answers where it stands there.
    @inlinable @inline(__always)
    public mutating func keep(_ row: RowReader) -> UInt16 {
        let rest = Int(row.byteCount &- row.nulls)
        var target: UnsafeMutableRawPointer
        if let base, row.columnCount == columns,
            capacity &- used >= RowLayout.headerSize &+ slotBytes &+ rest
        {
            target = base + used
        } else {
            target = begin(row.parts, behind: rest)
        }
        let start = used
        target.storeBytes(of: 0, as: UInt64.self)
        target += RowLayout.headerSize
        target.copyMemory(from: row.base + RowLayout.headerSize, byteCount: slotBytes)
        target += slotBytes
        target.copyMemory(from: row.base + Int(row.nulls), byteCount: rest)
        used = (start &+ RowLayout.headerSize &+ slotBytes &+ rest &+ 7) & ~7
        return UInt16(truncatingIfNeeded: start)
    }

    /// Whether the chunk's rows have this layout.
    public func holds(_ layout: RowLayout) -> Bool { chunk?.layout === layout }

    /// - Parameters:
    ///   - row: in registers, where it stays if all of it is never put into memory.
    ///   - rest: the bytes behind its columns.
    @usableFromInline @inline(never)
    mutating func begin(_ row: RowReader.Parts, behind rest: Int) -> UnsafeMutableRawPointer {
        let layout = row.layout.takeUnretainedValue()
        let form = KeptForm(row, layout, textsOnly: textsOnly)
        columns = UInt32(form.columns)
        slotBytes = Int(form.nulls) - RowLayout.headerSize
        let rowBytes = Int(form.nulls) + rest
        capacity = max(rowBytes, size)
        size = min(max(size, 64) * 2, RowKeeper.largestChunk)
        let fresh = RowChunk(layout, form, capacity: capacity, companion)
        // The first one may be for a single row; of rows of this size so many have room in another. Two for each: the object's, and that of
        // who hands its row on.
        let rows = chunk == nil ? 1 : capacity / ((rowBytes + 7) & ~7)
        counted = rows > 3 ? CountedChunk(fresh, references: UInt16(truncatingIfNeeded: rows * 2)) : nil
        chunk = fresh
        lentChunk = LentChunk(fresh)
        base = fresh.base
        used = 0
        return fresh.base
    }
}
