import CPlatform

/// A growable byte buffer for reuse, in memory of its own: field access needs no reference count and no bounds check.
/// The owner must call `deallocate()`.
struct GrowingBytes {
    private var base: UnsafeMutableRawPointer?
    private var memory: BufferMemory?
    private(set) var count = 0
    private let alignment: Int

    /// - Parameter alignment: the alignment of the first byte.
    init(alignment: Int = 16) { self.alignment = alignment }

    /// The number of bytes that the memory can hold.
    private(set) var capacity = 0

    var isEmpty: Bool { count == 0 }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Appends `more` bytes for the caller to fill, and returns their address.
    @inline(__always)
    mutating func extend(by more: Int) -> UnsafeMutableRawPointer {
        let start = count
        let end = start &+ more
        let memory: UnsafeMutableRawPointer
        if let base, end <= capacity { memory = base } else { memory = grow(to: end) }
        count = end
        return memory + start
    }

    mutating func appendZeros(_ more: Int) {
        if more > 0 { memset(extend(by: more), 0, more) }
    }

    @inline(never)
    private mutating func grow(to needed: Int) -> UnsafeMutableRawPointer {
        let wanted = max(needed, capacity * 2, 256)
        let larger = BufferMemory(wanted, alignment: alignment)
        if let base { memcpy(larger.start, base, count) }
        memory?.deallocate()
        memory = larger
        base = larger.start
        capacity = larger.count
        return larger.start
    }

    mutating func truncate(to count: Int) { self.count = min(self.count, count) }

    /// Empties the buffer. Frees memory beyond `kept` bytes, unless the buffer was more than a quarter full, because
    /// the next user would wait for the system to zero new pages.
    mutating func removeAll(keeping kept: Int) {
        let isNeeded = count > capacity / 4
        count = 0
        if capacity > kept && !isNeeded { deallocate() }
    }

    mutating func deallocate() {
        memory?.deallocate()
        memory = nil
        base = nil
        capacity = 0
        count = 0
    }
}
