#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Memory that the system can hand out at once.
///
/// A virtual machine gives the large pages of free memory back to its host after some seconds. Taking them again is ten times as slow as
/// taking those that were freed just now, and would be charged to the engine whose turn it is.
enum WarmMemory {
    private static let bytes = 512 << 20

    /// Takes so much memory, in large pages where there are any, and frees it.
    static func prepare() {
        let page = 2 << 20
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        guard let start = mmap(nil, bytes + page, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED else {
            return
        }
        defer { munmap(start, bytes + page) }
        #if os(Linux)
            let hugePages: Int32 = 14  // MADV_HUGEPAGE
            madvise(start, bytes + page, hugePages)
        #endif
        for offset in stride(from: 0, to: bytes, by: 4096) {
            start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
    }
}
