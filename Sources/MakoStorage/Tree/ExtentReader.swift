import CPlatform

/// Reads the pages of a large value from the file, bypassing the page cache, from which a long value would evict
/// everything else.
struct ExtentReader {
    private static let pagesPerRead = 64

    let frames: FrameStore
    let value: ValueExtents
    /// For each run, the number of pages before it.
    private let starts: [UInt64]

    init(_ value: ValueExtents, of frames: FrameStore) {
        self.value = value
        self.frames = frames
        var sum: UInt64 = 0
        starts = value.runs.map { run in
            defer { sum += UInt64(run.count) }
            return sum
        }
    }

    /// Reads stored bytes from an offset on. The range must be inside the value.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(StorageError) {
        guard let target = buffer.baseAddress else { return }
        var done = 0
        try forEachPage(at: offset, count: buffer.count) { (start, count) in
            memcpy(target + done, start, count)
            done += count
        }
    }

    /// Reads the whole value. Returns whether its stored bytes match the digest; they may differ although each page is
    /// intact.
    func checkDigest() throws(StorageError) -> Bool {
        var digest: UInt64 = 0
        var offset: UInt64 = 0
        while offset < value.stored {
            let count = Int(min(UInt64(ExtentReader.pagesPerRead * Overflow.payloadBytes), value.stored - offset))
            try forEachPage(at: offset, count: count) { (start, count) in
                digest = ValueExtents.digest(digest, start, count: count)
            }
            offset += UInt64(count)
        }
        return digest == value.digest
    }

    /// Calls `body` with the bytes of each page in a range of stored bytes.
    private func forEachPage(at offset: UInt64, count: Int, _ body: (UnsafeRawPointer, Int) -> Void)
        throws(StorageError)
    {
        guard count > 0 else { return }
        let payload = UInt64(Overflow.payloadBytes)
        let last = (offset + UInt64(count) - 1) / payload
        var index = offset / payload
        let room = Int(min(UInt64(ExtentReader.pagesPerRead), last - index + 1))
        let staging = UnsafeMutableRawBufferPointer.allocate(byteCount: room * pageBytes, alignment: pageBytes)
        defer { staging.deallocate() }
        guard let pages = staging.baseAddress else { return }
        var skipped = Int(offset % payload)
        var left = count
        while index <= last {
            let (run, before) = run(of: index)
            let page = run.page + before
            let writeID = run.writeID + before
            let batch = Int(min(UInt64(room), last - index + 1, UInt64(run.count) - before))
            try frames.readRun(page, writeID: writeID, count: batch, into: pages)
            for place in 0..<batch {
                let share = min(Overflow.payloadBytes - skipped, left)
                body(pages + place * pageBytes + Page.bodyOffset + skipped, share)
                skipped = 0
                left -= share
            }
            index += UInt64(batch)
        }
    }

    /// Returns the run that holds a page of the value, and the number of pages before that run.
    private func run(of index: UInt64) -> (run: ValueExtents.Extent, before: UInt64) {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= index { low = middle } else { high = middle }
        }
        return (value.runs[low], index - starts[low])
    }
}
