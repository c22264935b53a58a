import Synchronization

/// The memory of frames: address space in chunks of 32 MiB, reserved as frames are needed.
///
/// A frame's number is its distance from one origin, in pages. So a lookup is one addition, wherever the chunks lie, and needs no list of them.
/// A chunk begins at a multiple of its size, with a word for each of its frames; its first frames are where these words are. Guarded by
/// the frame store's lock, but for `origin` and `word`.
final class FrameChunks: @unchecked Sendable {
    static let bytes = 32 << 20
    /// Frames of a chunk, as a power of two.
    private static let bits: UInt32 = 13
    private static let frames = 1 << Int(bits)
    /// The frames that the words of a chunk take: 64 KiB, a multiple of every system page.
    static let wordFrames = frames * 8 / pageBytes
    /// The frames of a chunk that may hold pages.
    static let usable = frames - wordFrames
    /// No chunk is farther from the origin: a frame's number has 31 bits.
    private static let reach = UInt64(1) << 43 - UInt64(bytes)
    /// So many chunks at most are reserved at once.
    private static let mostAtOnce = 32

    /// The address of frame 0, which is none.
    let origin: UnsafeMutableRawPointer
    private let wantsHugePages: Bool
    /// The number of the first frame of each.
    @exclusivity(unchecked) private var chunks: [UInt32]

    /// Reserves the first chunk; nil when the address space is too small for it.
    init?(wantsHugePages: Bool) {
        guard let first = IdleChunk.take(wantsHugePages) ?? FrameChunks.reserve(1, wantsHugePages) else { return nil }
        self.wantsHugePages = wantsHugePages
        // Four tebibytes to both sides, and never below the first chunk that an address space may have.
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

    /// The word of a frame.
    @inline(__always)
    static func word(_ origin: UnsafeMutableRawPointer, _ frame: UInt32) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let chunk = origin + Int(frame &>> bits) &<< Int(bits &+ 12)
        return chunk.assumingMemoryBound(to: Atomic<UInt64>.self) + Int(frame & (1 &<< bits &- 1))
    }

    /// The frames that the chunks have room for.
    var capacity: Int { chunks.count * FrameChunks.usable }

    /// Address space, in bytes.
    var reservedBytes: Int { chunks.count * FrameChunks.bytes }

    /// The number of the frame at a position below `capacity`.
    @inline(__always)
    func frame(at position: Int) -> UInt32 {
        let (chunk, place) = position.quotientAndRemainder(dividingBy: FrameChunks.usable)
        return chunks[chunk] &+ UInt32(truncatingIfNeeded: FrameChunks.wordFrames + place)
    }

    /// Reserves more chunks: as many as there are, one when that is too much.
    ///
    /// - Returns: false when the address space has no room for one.
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

    /// Gives the memory of neighbouring frames back: whole pages of the system.
    func giveBack(_ frame: UInt32, count: Int) {
        SystemMemory.giveBack(address(of: frame), count * pageBytes)
    }

    /// Takes it again.
    @inline(__always)
    func reuse(_ frame: UInt32, count: Int) { SystemMemory.reuse(address(of: frame), count * pageBytes) }

    /// Gives all memory back. Nothing may be read any more.
    func discard() {
        for chunk in chunks { SystemMemory.giveBack(address(of: chunk), FrameChunks.bytes) }
    }

    deinit {
        for chunk in chunks.dropFirst() { SystemMemory.release(address(of: chunk), FrameChunks.bytes) }
        guard let first = chunks.first else { return }
        // The next store finds no frame in use.
        let words = address(of: first)
        words.initializeMemory(as: UInt64.self, repeating: 0, count: FrameChunks.frames)
        IdleChunk.keep(words, wantsHugePages)
    }
}

/// The chunk that is kept, one in a process, for the next store of its kind, as an allocator keeps what was freed; the system may take its memory
/// when it is short. What its frames held may still be there.
private enum IdleChunk {
    private static let lock = Lock()
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
