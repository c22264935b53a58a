import Foundation

/// Memory that a virtual machine has taken back is slow at first: the first touch of a page takes the host twenty microseconds instead of
/// the fraction of one that the kernel needs. The engine that fills a new cache would be charged for that.
enum WarmMemory {
    /// Touches so many bytes and frees them, so that the next allocation gets memory that the machine holds.
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
