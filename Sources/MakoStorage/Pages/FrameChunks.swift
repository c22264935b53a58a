import Synchronization

/// The memory of frames: address space in chunks of 32 MiB, reserved as frames are needed.
///
/// A frame's number is its distance from one origin, in pages, so a lookup is one addition and needs no list of chunks.
/// A chunk starts at a multiple of its size with one word for each of its frames; the frames that these words occupy
/// hold no pages. The frame store's lock guards everything except `origin` and `word`.
final class FrameChunks: @unchecked Sendable {
    static let bytes = 32 << 20
    /// The binary logarithm of the number of frames of a chunk.
    private static let bits: UInt32 = 13
    private static let frames = 1 << Int(bits)
    /// The number of frames that the words of a chunk occupy: 64 KiB, a multiple of every system page size.
    static let wordFrames = frames * 8 / pageBytes
    /// The number of frames of a chunk that can hold pages.
    static let usable = frames - wordFrames
    /// The largest distance of a chunk from the origin, because a frame's number has 31 bits.
    private static let reach = UInt64(1) << 43 - UInt64(bytes)
    /// The largest number of chunks reserved at once.
    private static let mostAtOnce = 32

    /// The address of frame 0, which does not exist.
    let origin: UnsafeMutableRawPointer
    private let wantsHugePages: Bool
    /// The number of the first frame of each chunk.
    @exclusivity(unchecked) private var chunks: [UInt32]

    /// Reserves the first chunk. Nil when the address space is too small.
    init?(wantsHugePages: Bool) {
        guard let first = IdleChunk.take(wantsHugePages) ?? FrameChunks.reserve(1, wantsHugePages) else { return nil }
        self.wantsHugePages = wantsHugePages
        // Four tebibytes on both sides of the first chunk, but never below the lowest address that a chunk can have.
        let place = UInt64(UInt(bitPattern: first))
        let lowest = max(place, UInt64(1) << 42 + UInt64(FrameChunks.bytes)) - UInt64(1) << 42
        guard let origin = UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: lowest)) else { return nil }
        self.origin = origin
        chunks = []
        chunks = [number(of: first)]
    }

    private func number(of chunk: UnsafeMutableRawPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: (UInt(bitPattern: chunk) &- UInt(bitPattern: origin)) >> 12)
    }

    private static func reserve(_ count: Int, _ wantsHugePages: Bool) -> UnsafeMutableRawPointer? {
        guard let start = SystemMemory.reserve(count * bytes, alignment: bytes) else { return nil }
        if wantsHugePages { SystemMemory.wantHugePages(start, count * bytes) }
        return start
    }

    /// Returns the word of a frame.
    @inline(__always)
    static func word(_ origin: UnsafeMutableRawPointer, _ frame: UInt32) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let chunk = origin + Int(frame &>> bits) &<< Int(bits &+ 12)
        return chunk.assumingMemoryBound(to: Atomic<UInt64>.self) + Int(frame & (1 &<< bits &- 1))
    }

    /// The number of frames that can hold pages.
    var capacity: Int { chunks.count * FrameChunks.usable }

    /// The reserved address space in bytes.
    var reservedBytes: Int { chunks.count * FrameChunks.bytes }

    /// Returns the number of the frame at a position below `capacity`.
    @inline(__always)
    func frame(at position: Int) -> UInt32 {
        let (chunk, place) = position.quotientAndRemainder(dividingBy: FrameChunks.usable)
        return chunks[chunk] &+ UInt32(truncatingIfNeeded: FrameChunks.wordFrames + place)
    }

    /// Reserves as many chunks as there are already, up to 32; if that fails, one.
    ///
    /// - Returns: false when the address space is exhausted.
    func grow() -> Bool {
        for count in Set([min(chunks.count, FrameChunks.mostAtOnce), 1]).sorted(by: >) {
            guard let start = FrameChunks.reserve(count, wantsHugePages) else { continue }
            let offset = UInt64(UInt(bitPattern: start)) &- UInt64(UInt(bitPattern: origin))
            if UInt64(UInt(bitPattern: start)) >= UInt64(UInt(bitPattern: origin)),
                offset <= FrameChunks.reach - UInt64(count * FrameChunks.bytes)
            {
                for index in 0..<count { chunks.append(number(of: start + index * FrameChunks.bytes)) }
                return true
            }
            SystemMemory.release(start, count * FrameChunks.bytes)
        }
        return false
    }

    private func address(of chunk: UInt32) -> UnsafeMutableRawPointer { origin + Int(chunk) &<< 12 }

    /// Gives the memory of neighbouring frames back to the system, in whole system pages.
    func giveBack(_ frame: UInt32, count: Int) {
        SystemMemory.giveBack(address(of: frame), count * pageBytes)
    }

    /// Takes memory back into use after `giveBack`.
    @inline(__always)
    func reuse(_ frame: UInt32, count: Int) { SystemMemory.reuse(address(of: frame), count * pageBytes) }

    /// Gives all memory back to the system. Nothing may be read afterwards.
    func discard() {
        for chunk in chunks { SystemMemory.giveBack(address(of: chunk), FrameChunks.bytes) }
    }

    deinit {
        for chunk in chunks.dropFirst() { SystemMemory.release(address(of: chunk), FrameChunks.bytes) }
        guard let first = chunks.first else { return }
        // Zero the words, so that the next store finds no frame in use.
        let words = address(of: first)
        words.initializeMemory(as: UInt64.self, repeating: 0, count: FrameChunks.frames)
        IdleChunk.keep(words, wantsHugePages)
    }
}

/// One chunk of a closed store, which the next store of this process with the same huge-page setting reuses. The system
/// may reclaim its memory when memory is short. Otherwise it still has old pages.
private enum IdleChunk {
    private static let lock = Lock.forProcess()
    private nonisolated(unsafe) static var idle: (start: UnsafeMutableRawPointer, hasHugePages: Bool)?

    static func take(_ wantsHugePages: Bool) -> UnsafeMutableRawPointer? {
        let found: UnsafeMutableRawPointer? = lock.withLock {
            guard let found = idle, found.hasHugePages == wantsHugePages else { return nil }
            idle = nil
            return found.start
        }
        if let found { SystemMemory.reuse(found, FrameChunks.bytes) }
        return found
    }

    static func keep(_ start: UnsafeMutableRawPointer, _ hasHugePages: Bool) {
        SystemMemory.offer(start, FrameChunks.bytes)
        let leaving = lock.withLock {
            defer { idle = (start, hasHugePages) }
            return idle?.start
        }
        if let leaving { SystemMemory.release(leaving, FrameChunks.bytes) }
    }
}
