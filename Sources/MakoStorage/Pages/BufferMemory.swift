/// Memory for a buffer that grows. A large one has pages of its own, which the system has back when it is freed: an allocator would keep them for
/// its next request. The owner frees it.
package struct BufferMemory {
    /// Smaller ones come from the allocator.
    private static let leastBytes = 128 << 10

    package let start: UnsafeMutableRawPointer
    package let count: Int
    private let isMapped: Bool

    /// - Parameters:
    ///   - count: bytes that are wanted; there may be more.
    ///   - alignment: what the address is a multiple of, at most a page.
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

    package func deallocate() {
        if isMapped { SystemMemory.release(start, count) } else { start.deallocate() }
    }
}
