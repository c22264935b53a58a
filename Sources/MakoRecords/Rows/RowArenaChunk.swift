import CPlatform

/// A row arena: validated rows of one layout, copied for objects that decode their texts on demand.
///
/// A row lives as long as its chunk; chunks are small, so that one retained object keeps little else alive. All rows of
/// a chunk have the same columns, so that the header of a row, which has the same form in all, is replaced by one word:
/// the bits of the properties that the object made from the row has not decoded yet. That word belongs to the object,
/// as its stored properties do.
@usableFromInline
package final class RowArenaChunk: @unchecked Sendable {
    // Unchecked: a row is immutable once its offset is returned; its word is guarded by the lock of its object.
    @usableFromInline let base: UnsafeMutableRawPointer
    @usableFromInline let layout: RowLayout
    @usableFromInline let form: KeptForm
    /// The references retained in advance that have not been handed out. Accessed only on the thread of the
    /// ``RowArena``; 0 when that has finished the chunk.
    @usableFromInline @exclusivity(unchecked) var ready: UInt16 = 0
    /// An object that the users of the rows find by the chunk.
    @usableFromInline package let companion: AnyObject?

    @usableFromInline
    init(_ layout: RowLayout, _ form: KeptForm, capacity: Int, _ companion: AnyObject?) {
        self.layout = layout
        self.form = form
        self.companion = companion
        base = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit { base.deallocate() }

    /// Calls a closure with the row at an offset that ``RowArena/keep(_:)`` returned.
    @inlinable @inline(__always)
    package func withRow<R, E: Error>(
        at offset: UInt16, isPlain: Bool = false, _ body: (RowReader) throws(E) -> R
    ) throws(E) -> R {
        try body(RowReader(kept: UnsafeRawPointer(base) + Int(offset), layout, form, isPlain: isPlain))
    }

    /// Returns the bits of the properties that the object at an offset has not decoded yet; 0 before
    /// ``setPending(_:at:)``.
    @inlinable @inline(__always)
    package func pending(at offset: UInt16) -> UInt64 { base.load(fromByteOffset: Int(offset), as: UInt64.self) }

    @inlinable @inline(__always)
    /// Sets the bits of the properties that the object at an offset has not decoded yet.
    package func setPending(_ properties: UInt64, at offset: UInt16) {
        base.storeBytes(of: properties, toByteOffset: Int(offset), as: UInt64.self)
    }
}

/// An unretained reference to a chunk, valid until its arena keeps another row.
@frozen @usableFromInline
package struct BorrowedRowChunk {
    @usableFromInline let reference: Unmanaged<RowArenaChunk>?

    @inlinable @inline(__always)
    /// Borrows a chunk.
    package init(_ chunk: RowArenaChunk?) { reference = chunk.map { .passUnretained($0) } }

    /// The chunk as a strong reference: one that was retained in advance, if there is one left.
    @inlinable @inline(__always)
    package var chunk: RowArenaChunk? {
        guard let reference else { return nil }
        let isCounted = reference._withUnsafeGuaranteedRef { chunk in
            if chunk.ready == 0 { return false }
            chunk.ready &-= 1
            return true
        }
        return isCounted ? reference.takeRetainedValue() : reference.takeUnretainedValue()
    }
}

/// Retains a chunk many times in one atomic operation, and releases the references that were not handed out.
@usableFromInline
final class CountedChunk {
    private let chunk: RowArenaChunk

    init(_ chunk: RowArenaChunk, references: UInt16) {
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
    /// The slots of the columns that may be read.
    @usableFromInline let slots: UnsafeMutablePointer<ColumnSlot>
    /// The offset of the NULL bitmap: after the slots of all columns, or after that of the last text or blob.
    @usableFromInline let nulls: UInt32
    /// The number of columns; two bytes, as in the header of a row.
    @usableFromInline let columns: UInt16

    @usableFromInline
    init(_ row: RowReader.Parts, _ layout: RowLayout, textsOnly: Bool) {
        columns = UInt16(truncatingIfNeeded: row.columns)
        nulls = textsOnly ? layout.textsEnd(columns: Int(columns)) : row.nulls
        slots = textsOnly ? layout.textSlots : layout.slots
    }
}

/// Fills chunks. Not thread-safe.
@frozen @usableFromInline
package struct RowArena {
    /// The largest chunk, in bytes. Rows are at multiples of 8 below it.
    @usableFromInline
    package static var largestChunk: Int { 16 << 10 }

    /// The chunk of the last row.
    @usableFromInline package private(set) var chunk: RowArenaChunk?
    /// The chunk of the last row, unretained.
    @usableFromInline package private(set) var borrowedChunk = BorrowedRowChunk(nil)
    private var counted: CountedChunk?
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var used = 0
    @usableFromInline var capacity = 0
    /// The number of columns of the chunk's rows, and the number of bytes between the header and the NULL bitmap.
    @usableFromInline var columns: UInt32 = 0
    @usableFromInline var slotBytes = 0
    /// The size of the next chunk.
    @usableFromInline var size: Int
    @usableFromInline let textsOnly: Bool
    @usableFromInline let companion: AnyObject?

    /// Makes a keeper.
    ///
    /// - Parameters:
    ///   - firstChunk: the size of the first chunk; each one is twice as large as the one before, up to a limit. A
    ///     larger row gets a chunk of its own.
    ///   - textsOnly: whether only the texts and blobs of the rows will be read.
    ///   - companion: the companion of all chunks.
    @inlinable
    package init(firstChunk: Int, textsOnly: Bool = false, companion: AnyObject? = nil) {
        size = firstChunk
        self.textsOnly = textsOnly
        self.companion = companion
    }

    /// Copies a row to ``chunk``, and returns its offset there.
    @inlinable @inline(__always)
    package mutating func keep(_ row: RowReader) -> UInt16 {
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

    /// Returns whether the chunk's rows have this layout.
    @usableFromInline
    package func holds(_ layout: RowLayout) -> Bool { chunk?.layout === layout }

    /// Starts a chunk.
    ///
    /// - Parameters:
    ///   - row: passed by its parts, which stay in registers.
    ///   - rest: the number of bytes after its columns.
    @usableFromInline @inline(never)
    mutating func begin(_ row: RowReader.Parts, behind rest: Int) -> UnsafeMutableRawPointer {
        let layout = row.layout.takeUnretainedValue()
        let form = KeptForm(row, layout, textsOnly: textsOnly)
        columns = UInt32(form.columns)
        slotBytes = Int(form.nulls) - RowLayout.headerSize
        let rowBytes = Int(form.nulls) + rest
        capacity = max(rowBytes, size)
        size = min(max(size, 64) * 2, RowArena.largestChunk)
        let fresh = RowArenaChunk(layout, form, capacity: capacity, companion)
        // The first chunk may be for a single row. Two references for each row: one for its object, and one for the
        // caller that passes the row on.
        let rows = chunk == nil ? 1 : capacity / ((rowBytes + 7) & ~7)
        counted = rows > 3 ? CountedChunk(fresh, references: UInt16(truncatingIfNeeded: rows * 2)) : nil
        chunk = fresh
        borrowedChunk = BorrowedRowChunk(fresh)
        base = fresh.base
        used = 0
        return fresh.base
    }
}
