import CPlatform

/// Bytes that are appended to and used again: memory of its own, without reference counts or bounds to look up for
/// each field. Whoever owns one deallocates it.
struct GrowingBytes {
    private var base: UnsafeMutableRawPointer?
    private var memory: BufferMemory?
    private(set) var count = 0
    private let alignment: Int

    /// - Parameter alignment: what the address of the bytes is a multiple of.
    init(alignment: Int = 16) { self.alignment = alignment }

    /// Bytes that it has memory for.
    private(set) var capacity = 0

    var isEmpty: Bool { count == 0 }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes room for `more` bytes at the end, which the caller fills, and answers where they begin.
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

    /// Empties the buffer. Memory beyond `kept` bytes is given back, unless as much was needed just now: whoever fills it again would wait for
    /// the system to clear it.
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
