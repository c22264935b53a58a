import CPlatform

/// Writes dirty pages in ascending order, consecutive pages with one write.
///
/// Each page is copied and sealed in the copy, because other threads may be reading the frame. A frame is marked clean
/// after its page was written.
struct PageWriter: ~Copyable {
    private let frames: FrameStore
    private let memory: BufferMemory
    private let capacity: Int
    private var first: UInt64 = 0
    private var count = 0

    /// - Parameter pages: the largest number of pages; for few of them little memory is taken.
    init(frames: FrameStore, pages: Int) {
        self.frames = frames
        memory = frames.staging.take(pages: min(max(pages, 1), PageStaging.pages(ofBudget: frames.wholeBudgetFrames)))
        capacity = memory.count / pageBytes
    }

    deinit { frames.staging.giveBack(memory) }

    /// Adds a page if it is dirty. If it does not follow the pages before it, writes those first.
    mutating func add(_ page: UInt64) throws(StorageError) {
        guard let frame = frames.dirtyFrame(page: page) else { return }
        if count == capacity || count > 0 && page != first + UInt64(count) { try flush() }
        if count == 0 { first = page }
        assert(Page(frame).number == page, "invariant 3: the frame of a page holds that page")
        let copy = memory.start + count * pageBytes
        memcpy(copy, frame, pageBytes)
        frames.codec.seal(copy, number: page)
        // Only of a plain page, because opening an encrypted one decrypts it in place.
        assert(
            frames.codec.isEncrypted || frames.codec.open(copy, number: page),
            "invariant 10: a page passes its check before it is written")
        count += 1
    }

    /// Writes the pages that were added.
    mutating func flush() throws(StorageError) {
        guard count > 0 else { return }
        let pages = first..<first + UInt64(count)
        count = 0
        let bytes = memory.bytes(pages.count * pageBytes)
        try storage { () throws(FileError) in try frames.file.write(bytes, at: pages.lowerBound * UInt64(pageBytes)) }
        for page in pages { frames.markClean(page: page) }
    }
}
