#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reserves, frees and advises on memory of the process.
enum SystemMemory {
    /// The page size of the system, its unit of memory: 4 KiB on x86, 16 KiB on Apple silicon, up to 64 KiB elsewhere.
    static let pageBytes: Int = {
        let bytes = Int(sysconf(Int32(_SC_PAGESIZE)))
        return bytes > 0 && bytes & (bytes - 1) == 0 ? bytes : 4096
    }()

    /// Reserves zeroed address space that takes memory only when it is touched. Returns nil when there is none.
    ///
    /// - Parameter alignment: the alignment of the address, a power of two.
    static func reserve(_ bytes: Int, alignment: Int) -> UnsafeMutableRawPointer? {
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #endif
        let (wanted, isTooLarge) = bytes.addingReportingOverflow(alignment)
        guard !isTooLarge, let mapping = mmap(nil, wanted, PROT_READ | PROT_WRITE, flags, -1, 0), mapping != MAP_FAILED
        else { return nil }
        let before =
            (alignment - Int(truncatingIfNeeded: UInt(bitPattern: mapping) & UInt(alignment - 1))) & (alignment - 1)
        if before > 0 { munmap(mapping, before) }
        munmap(mapping + before + bytes, wanted - before - bytes)
        return mapping + before
    }

    /// Unmaps address space and its memory.
    static func release(_ start: UnsafeMutableRawPointer, _ bytes: Int) { munmap(start, bytes) }

    /// Requests huge pages, because a cached lookup is otherwise dominated by address translation.
    static func wantHugePages(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if os(Linux)
            _ = madvise(start, bytes, 14 /* MADV_HUGEPAGE */)
        #endif
    }

    /// Gives memory back to the system, but keeps the address space. Later reads find zeros or the old contents.
    ///
    /// Start and length must be multiples of ``pageBytes``, because Linux refuses others and Apple's kernel rounds
    /// outwards. On Apple platforms `MADV_DONTNEED` frees nothing; only `MADV_FREE_REUSABLE` lowers the footprint, and
    /// `reuse` must undo it before the memory is used again.
    static func giveBack(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            var code = madvise(start, bytes, MADV_FREE_REUSABLE)
            while code != 0 && errno == EAGAIN { code = madvise(start, bytes, MADV_FREE_REUSABLE) }
            // If the kernel refuses, as for wired memory, it may still reclaim the pages when memory is short.
            if code != 0 { _ = madvise(start, bytes, MADV_FREE) }
        #else
            _ = madvise(start, bytes, MADV_DONTNEED)
        #endif
    }

    /// Lets the system reclaim memory when it is short, until it is written again.
    static func offer(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            giveBack(start, bytes)
        #else
            // A kernel without this advice keeps the memory.
            _ = madvise(start, bytes, MADV_FREE)
        #endif
    }

    /// Takes memory back into use after `giveBack` or `offer`.
    @inline(__always)
    static func reuse(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            while madvise(start, bytes, MADV_FREE_REUSE) != 0 && errno == EAGAIN {}
        #endif
    }
}
