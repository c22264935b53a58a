#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A reservation of zeroed address space that the system backs with memory as it is touched.
///
/// Reserving costs nothing; where the system knows transparent huge pages the reservation asks for them, because
/// a cached lookup is otherwise dominated by address translation.
struct Arena: ~Copyable {
    let base: UnsafeMutableRawPointer
    let bytes: Int
    private let mapping: UnsafeMutableRawPointer
    private let mappedBytes: Int

    private static let hugePageBytes = 2 << 20

    /// Reserves `bytes`, or nil when the address space is too small for it.
    init?(bytes: Int) {
        let wanted = bytes + Arena.hugePageBytes
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #endif
        guard let mapping = mmap(nil, wanted, PROT_READ | PROT_WRITE, flags, -1, 0), mapping != MAP_FAILED else {
            return nil
        }
        let misalignment = Int(bitPattern: mapping) & (Arena.hugePageBytes - 1)
        self.mapping = mapping
        self.mappedBytes = wanted
        self.base = misalignment == 0 ? mapping : mapping + (Arena.hugePageBytes - misalignment)
        self.bytes = bytes
        #if os(Linux)
            _ = madvise(base, bytes, 14 /* MADV_HUGEPAGE */)
        #endif
    }

    deinit { munmap(mapping, mappedBytes) }
}
