import CPlatform

/// Writes dirty pages in ascending order, consecutive ones with a single write.
///
/// Each page is copied and its checksum computed on the copy: the frame itself, which others may be reading, is
/// not touched. A frame is marked clean once its slot was written.
struct PageWriter: ~Copyable {
    private let frames: FrameStore
    private let memory: BufferMemory
    private let capacity: Int
    private var first: UInt64 = 0
    private var count = 0

    /// - Parameter pages: how many pages there may be to write: of few, little memory is taken.
    init(frames: FrameStore, pages: Int) {
        self.frames = frames
        memory = frames.staging.take(pages: min(max(pages, 1), PageStaging.pages(ofBudget: frames.wholeBudgetFrames)))
        capacity = memory.count / pageBytes
    }

    deinit { frames.staging.giveBack(memory) }

    private var staging: UnsafeMutableRawPointer { memory.start }

    /// Adds a page if it is dirty. Writes what came before when the page does not continue it.
    mutating func add(_ page: UInt64) throws(StorageError) {
        guard let frame = frames.dirtyFrame(page: page) else { return }
        if count == capacity || count > 0 && page != first + UInt64(count) { try flush() }
        if count == 0 { first = page }
        assert(Page(frame).number == page, "the frame of a page holds that page")
        let copy = staging + count * pageBytes
        memcpy(copy, frame, pageBytes)
        frames.codec.seal(copy, number: page)
        count += 1
    }

    /// Writes what is waiting.
    mutating func flush() throws(StorageError) {
        guard count > 0 else { return }
        let pages = first..<first + UInt64(count)
        count = 0
        let bytes = UnsafeRawBufferPointer(start: staging, count: pages.count * pageBytes)
        try storage { () throws(FileError) in try frames.file.write(bytes, at: pages.lowerBound * UInt64(pageBytes)) }
        for page in pages { frames.markClean(page: page) }
    }
}
