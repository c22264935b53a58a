/// An element of a `PackedList`: one or two words, usually close to those of the element before.
protocol Packable {
    static var hasSecondWord: Bool { get }
    var words: (UInt64, UInt64) { get }
    init(words: (UInt64, UInt64))
}

/// A page id.
extension UInt64: Packable {
    static var hasSecondWord: Bool { false }
    @inline(__always)
    var words: (UInt64, UInt64) { (self, 0) }
    init(words: (UInt64, UInt64)) { self = words.0 }
}

/// The memory of packed elements. Freed with the last list that refers to it.
private final class PackedChunk {
    let memory: BufferMemory
    init(_ bytes: Int) { memory = BufferMemory(bytes) }
    deinit { memory.deallocate() }
}

/// A compressed list of pages, in insertion order. In a long list each element takes two to six bytes, except for the
/// last few hundred, and growing copies nothing.
///
/// Each 256 elements are packed into a block: for each word the difference from the one before, as a variable-length
/// integer with seven bits in a byte. Blocks lie one behind the other in chunks, large ones with memory of their own,
/// so that the system gets the memory of a long list back. Copies of a list share chunks; what a chunk has is never
/// written again while it is shared.
struct PackedList<Element: Packable> {
    /// The number of elements of a block.
    static var blockCount: Int { 256 }
    /// The bytes of a chunk: the first ones are smaller.
    private static var chunkBytes: Int { 128 << 10 }
    private static var leastChunkBytes: Int { 4 << 10 }

    /// The place of a block.
    private struct Block {
        var chunk: UInt32
        var offset: UInt32
        var count: UInt32

        var end: Int { Int(offset) + Int(count) }
    }

    /// At most one without blocks, the last.
    private var chunks: [PackedChunk] = []
    private var blocks: [Block] = []
    private var blockBytes = 0
    /// The elements after the last block, fewer than a block.
    private var tail: [Element] = []

    init() {}

    init(_ elements: some Sequence<Element>) { for element in elements { append(element) } }

    @inline(__always)
    private var packedCount: Int { blocks.count &* PackedList.blockCount }
    @inline(__always)
    var count: Int { packedCount &+ tail.count }
    @inline(__always)
    var isEmpty: Bool { tail.isEmpty && blocks.isEmpty }

    /// The memory of the list, computed from its contents only: the capacity of an array depends on the allocator, and
    /// eviction must be deterministic.
    var bytes: Int {
        let blockRoom = blocks.isEmpty ? 0 : 1 << (Int.bitWidth - (blocks.count &- 1).leadingZeroBitCount)
        let tailRoom = isEmpty ? 0 : PackedList.blockCount
        return blockBytes + blockRoom * MemoryLayout<Block>.stride + tailRoom * MemoryLayout<Element>.stride
    }

    /// The number of elements that its memory can hold.
    var capacity: Int { blocks.capacity * PackedList.blockCount + tail.capacity }

    @inline(__always)
    mutating func append(_ element: Element) {
        tail.append(element)
        if tail.count == PackedList.blockCount { pack() }
    }

    mutating func append(contentsOf other: PackedList) { other.forEach { append($0) } }

    @inline(__always)
    mutating func popLast() -> Element? {
        if tail.isEmpty && !blocks.isEmpty { unpackLast() }
        return tail.popLast()
    }

    /// Calls a closure with each element from a position on, in order.
    @inline(__always)
    func forEach(from first: Int = 0, _ body: (Element) -> Void) {
        if !blocks.isEmpty { forEachPacked(from: first, body) }
        var place = max(0, first &- packedCount)
        while place < tail.count {
            body(tail[place])
            place &+= 1
        }
    }

    /// Removes the elements from a position on.
    mutating func truncate(to count: Int) {
        guard count < self.count else { return }
        if count >= packedCount { return tail.removeLast(self.count - count) }
        let whole = count / PackedList.blockCount
        let cut = unpacked(blocks[whole])
        for block in blocks[whole...] { blockBytes -= Int(block.count) }
        blocks.removeLast(blocks.count - whole)
        dropChunks()
        tail = Array(cut[..<(count % PackedList.blockCount)])
    }

    /// Removes the elements from a position on for which a closure returns true.
    mutating func removeAll(from first: Int = 0, where isGone: (Element) -> Bool) {
        guard first < count else { return }
        guard first < packedCount else { return removeTail(from: first - packedCount, where: isGone) }
        let all = self
        truncate(to: first)
        all.forEach(from: first) { if !isGone($0) { append($0) } }
    }

    private mutating func removeTail(from first: Int, where isGone: (Element) -> Bool) {
        var kept = first
        for place in first..<tail.count where !isGone(tail[place]) {
            tail[kept] = tail[place]
            kept += 1
        }
        tail.removeLast(tail.count - kept)
    }

    /// Removes the elements from a position on, and returns them.
    mutating func removeLast(from first: Int) -> PackedList {
        var rest = PackedList()
        forEach(from: first) { rest.append($0) }
        truncate(to: first)
        return rest
    }

    /// Removes the first elements, and returns them.
    mutating func removeFirst(_ count: Int) -> PackedList {
        var first = self
        self = first.removeLast(from: count)
        return first
    }

    /// Removes all elements. Keeps the memory of a short list.
    @inline(__always)
    mutating func removeAll() {
        if isEmpty { return }
        // Popping a few elements is faster than `removeAll`.
        if blocks.isEmpty && tail.count <= 16 {
            while tail.popLast() != nil {}
            return
        }
        blocks = []
        chunks = []
        blockBytes = 0
        tail.removeAll(keepingCapacity: true)
    }

    // MARK: Blocks

    @inline(never)
    private mutating func pack() {
        var size = 0
        PackedList.forEachByte(of: tail) { _ in size &+= 1 }
        let (chunk, offset) = place(for: size)
        var next = chunks[chunk].memory.start + offset
        PackedList.forEachByte(of: tail) { byte in
            next.storeBytes(of: byte, as: UInt8.self)
            next += 1
        }
        blocks.append(Block(chunk: UInt32(chunk), offset: UInt32(offset), count: UInt32(size)))
        blockBytes += size
        tail.removeAll(keepingCapacity: true)
    }

    /// Returns the place of the next block: behind the last one, or at the beginning of another chunk.
    private mutating func place(for size: Int) -> (chunk: Int, offset: Int) {
        var (chunk, offset) = (0, 0)
        if let last = blocks.last { (chunk, offset) = (Int(last.chunk), last.end) }
        while chunk < chunks.count {
            // A copy of the list may have blocks there.
            if offset + size <= chunks[chunk].memory.count, isKnownUniquelyReferenced(&chunks[chunk]) {
                return (chunk, offset)
            }
            if offset == 0 { break }
            (chunk, offset) = (chunk + 1, 0)
        }
        let bytes = min(PackedList.chunkBytes, PackedList.leastChunkBytes << min(chunk, 16))
        chunks.removeLast(chunks.count - chunk)
        chunks.append(PackedChunk(max(bytes, size)))
        return (chunk, 0)
    }

    /// Frees the chunks without blocks, but for one, because a list that is popped is appended to again.
    private mutating func dropChunks() {
        let used = blocks.last.map { Int($0.chunk) + 1 } ?? 0
        if chunks.count > used + 1 { chunks.removeLast(chunks.count - used - 1) }
    }

    @inline(__always)
    private static func forEachByte(of elements: [Element], _ body: (UInt8) -> Void) {
        var before: (UInt64, UInt64) = (0, 0)
        for element in elements {
            let words = element.words
            forEachByte(ofStep: words.0 &- before.0, body)
            if Element.hasSecondWord { forEachByte(ofStep: words.1 &- before.1, body) }
            before = words
        }
    }

    /// Zigzag encoding: the sign of a difference is its lowest bit.
    @inline(__always)
    private static func forEachByte(ofStep step: UInt64, _ body: (UInt8) -> Void) {
        var rest = step << 1 ^ UInt64(bitPattern: Int64(bitPattern: step) >> 63)
        while rest >= 0x80 {
            body(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        body(UInt8(truncatingIfNeeded: rest))
    }

    @inline(never)
    private mutating func unpackLast() {
        guard let block = blocks.popLast() else { return }
        blockBytes -= Int(block.count)
        tail = unpacked(block)
        dropChunks()
    }

    private func unpacked(_ block: Block) -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(PackedList.blockCount)
        let chunk = chunks[Int(block.chunk)]
        let bytes = UnsafeRawBufferPointer(start: chunk.memory.start + Int(block.offset), count: Int(block.count))
        var words: (UInt64, UInt64) = (0, 0)
        var place = 0
        while place < bytes.count {
            words.0 &+= PackedList.step(bytes, &place)
            if Element.hasSecondWord { words.1 &+= PackedList.step(bytes, &place) }
            elements.append(Element(words: words))
        }
        // The chunk must outlive the pointer.
        return withExtendedLifetime(chunk) { elements }
    }

    @inline(__always)
    private static func step(_ block: UnsafeRawBufferPointer, _ place: inout Int) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while place < block.count {
            let byte = block[place]
            place &+= 1
            number |= UInt64(byte & 0x7f) &<< shift
            if byte < 0x80 { break }
            shift &+= 7
        }
        return number >> 1 ^ (0 &- (number & 1))
    }

    @inline(never)
    private func forEachPacked(from first: Int, _ body: (Element) -> Void) {
        var index = first / PackedList.blockCount
        var place = first % PackedList.blockCount
        while index < blocks.count {
            for element in unpacked(blocks[index])[place...] { body(element) }
            index += 1
            place = 0
        }
    }
}
