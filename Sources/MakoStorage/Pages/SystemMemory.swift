#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Address space of the process, and the memory behind it.
enum SystemMemory {
    /// The unit in which the system takes memory back: 4 KiB on x86, 16 KiB on Apple silicon, up to 64 KiB elsewhere.
    static let pageBytes: Int = {
        let bytes = Int(sysconf(Int32(_SC_PAGESIZE)))
        return bytes > 0 && bytes & (bytes - 1) == 0 ? bytes : 4096
    }()

    /// Reserves address space that reads as zeros and takes memory as it is touched; nil when there is none.
    ///
    /// - Parameter alignment: a power of two; the address is a multiple of it.
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

    /// Gives up address space, with its memory.
    static func release(_ start: UnsafeMutableRawPointer, _ bytes: Int) { munmap(start, bytes) }

    /// Asks for huge pages, because a cached lookup is otherwise dominated by address translation.
    static func wantHugePages(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if os(Linux)
            _ = madvise(start, bytes, 14 /* MADV_HUGEPAGE */)
        #endif
    }

    /// Gives memory back to the system; the address space stays. What is read there afterwards is zeros or what was there.
    ///
    /// Start and length must be multiples of ``pageBytes``: Linux refuses others, and Apple's kernel rounds outwards. On Apple systems
    /// `MADV_DONTNEED` gives nothing back, and the footprint falls by `MADV_FREE_REUSABLE` alone, which `reuse` must take back before
    /// the memory is used again.
    static func giveBack(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            var code = madvise(start, bytes, MADV_FREE_REUSABLE)
            while code != 0 && errno == EAGAIN { code = madvise(start, bytes, MADV_FREE_REUSABLE) }
            // Where the kernel refuses, as for memory that is wired, it may still take the pages when it is short.
            if code != 0 { _ = madvise(start, bytes, MADV_FREE) }
        #else
            _ = madvise(start, bytes, MADV_DONTNEED)
        #endif
    }

    /// Lets the system take memory when it is short, until it is written again.
    static func offer(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            giveBack(start, bytes)
        #else
            // Where the advice is unknown the memory simply stays.
            _ = madvise(start, bytes, MADV_FREE)
        #endif
    }

    /// Says that memory that was given back or offered is used again.
    @inline(__always)
    static func reuse(_ start: UnsafeMutableRawPointer, _ bytes: Int) {
        #if canImport(Darwin)
            while madvise(start, bytes, MADV_FREE_REUSE) != 0 && errno == EAGAIN {}
        #endif
    }
}
