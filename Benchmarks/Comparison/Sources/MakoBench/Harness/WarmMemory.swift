import Foundation

/// Memory that a virtual machine has taken back is slow to come again: the first touch of a page then takes the host twenty microseconds and not
/// the fraction of one that the kernel needs. Whoever fills a new cache would measure that.
enum WarmMemory {
    /// Touches so many bytes and gives them back, so that the next to ask for memory finds the machine's own.
    static func touch(bytes: Int) {
        guard bytes > 0,
            let start = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { return }
        for offset in stride(from: 0, to: bytes, by: 4096) {
            start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
        munmap(start, bytes)
    }
}
