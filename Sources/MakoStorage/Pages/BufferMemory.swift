/// Memory for a growable buffer. A large buffer is mapped by itself, so that the system gets its pages back when it is
/// freed; an allocator would keep them. The owner frees it.
package struct BufferMemory {
    /// The size below which memory comes from the allocator.
    private static let leastBytes = 128 << 10

    package let start: UnsafeMutableRawPointer
    package let count: Int
    private let isMapped: Bool

    /// - Parameters:
    ///   - count: the least number of bytes; the memory may be larger.
    ///   - alignment: the alignment of the address, at most a page.
    package init(_ count: Int, alignment: Int = 16) {
        let unit = SystemMemory.pageBytes
        let (whole, isTooLarge) = count.addingReportingOverflow(unit - 1)
        if count >= BufferMemory.leastBytes, !isTooLarge,
            let pages = SystemMemory.reserve(whole / unit * unit, alignment: unit)
        {
            (start, self.count, isMapped) = (pages, whole / unit * unit, true)
        } else {
            (start, self.count, isMapped) = (.allocate(byteCount: count, alignment: alignment), count, false)
        }
    }

    /// Returns the first bytes.
    func bytes(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    package func deallocate() {
        if isMapped { SystemMemory.release(start, count) } else { start.deallocate() }
    }
}
