/// Writes a large value to pages of its own in pieces, bypassing page cache and log. Needs the memory of one write
/// only.
///
/// The pages belong to no transaction until one adopts them; a writer that ends without adoption frees them.
final class ExtentWriter {
    private static let pagesPerWrite = 64
    private static let pagesPerRun = 1024

    /// The number of pages of one write, and the size of `staging`; at most the pages of the value.
    private let pagesPerWrite: Int

    private let writer: Writer
    private let tree: UInt32
    private let staging: UnsafeMutableRawPointer
    /// The number of full pages in `staging`, and the bytes in the page after them.
    private var staged = 0
    private var filled = 0
    private var runs: [ValueExtents.Extent] = []
    /// The number of written pages of the last run.
    private var written = 0
    private var digest: UInt64 = 0
    private(set) var stored: UInt64 = 0
    /// The number of pages of the next run: twice as many as before, up to 4 MiB.
    private var nextRunPages: Int
    /// Whether the value must get a single run.
    private let isWhole: Bool
    private var isAdopted = false
    /// A failed write may have stored a part on the device. Nothing else may be written with the same write ids.
    private var failure: StorageError?

    private var store: Store { writer.store }

    /// - Parameter bytes: the length of the value, if known; the value then gets a single run.
    init(_ writer: Writer, tree: UInt32, bytes: Int? = nil) {
        self.writer = writer
        self.tree = tree
        isWhole = bytes != nil
        nextRunPages =
            bytes.map { Int(ValueExtents.pageCount(of: UInt64(max(1, $0)))) }
            ?? min(ExtentWriter.pagesPerRun, max(1, writer.store.pipeline.namedValueBytes / Overflow.payloadBytes))
        pagesPerWrite = bytes == nil ? ExtentWriter.pagesPerWrite : min(ExtentWriter.pagesPerWrite, nextRunPages)
        staging = .allocate(byteCount: pagesPerWrite * pageBytes, alignment: pageBytes)
    }

    deinit {
        staging.deallocate()
        if !isAdopted { for run in runs { store.versions.giveBack(Array(run.pages)) } }
    }

    /// Appends bytes.
    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        if let failure { throw failure }
        guard var source = bytes.baseAddress else { return }
        var left = bytes.count
        while left > 0 {
            if staged == pagesPerWrite { try flush() }
            let count = min(Overflow.payloadBytes - filled, left)
            (staging + staged * pageBytes + Page.bodyOffset + filled).copyMemory(from: source, byteCount: count)
            source += count
            left -= count
            filled += count
            stored += UInt64(count)
            if filled == Overflow.payloadBytes { closePage() }
        }
    }

    /// Appends the contents of another run's pages.
    func append(copyOf run: ValueExtents.Extent) throws(StorageError) {
        let buffer = UnsafeMutableRawPointer.allocate(
            byteCount: min(run.count, ExtentWriter.pagesPerWrite) * pageBytes, alignment: pageBytes)
        defer { buffer.deallocate() }
        for first in stride(from: 0, to: run.count, by: ExtentWriter.pagesPerWrite) {
            let count = min(ExtentWriter.pagesPerWrite, run.count - first)
            try store.frames.readRun(
                run.page + UInt64(first), writeID: run.writeID + UInt64(first), count: count, into: buffer)
            for index in 0..<count {
                try append(
                    UnsafeRawBufferPointer(
                        start: buffer + index * pageBytes + Page.bodyOffset, count: Overflow.payloadBytes))
            }
        }
    }

    private func closePage() {
        let body = staging + staged * pageBytes + Page.bodyOffset
        digest = ValueExtents.digest(digest, body, count: filled)
        if filled < Overflow.payloadBytes {
            (body + filled).initializeMemory(as: UInt8.self, repeating: 0, count: Overflow.payloadBytes - filled)
        }
        staged += 1
        filled = 0
    }

    /// Writes the rest, and frees the unused pages of the last run.
    func finish(length: UInt64? = nil) throws(StorageError) -> ValueExtents {
        if let failure { throw failure }
        if filled > 0 { closePage() }
        try flush()
        if let last = runs.last, written < last.count {
            store.versions.giveBack(Array(last.pages.dropFirst(written)))
            runs[runs.count - 1].count = written
        }
        let length = length ?? stored
        return ValueExtents(length: length, stored: stored, isCompressed: length != stored, digest: digest, runs: runs)
    }

    /// Notes that a transaction has adopted the pages.
    func noteAdopted() { isAdopted = true }

    private func flush() throws(StorageError) {
        do throws(StorageError) { try write() } catch {
            failure = error
            throw error
        }
    }

    private func write() throws(StorageError) {
        var first = 0
        while first < staged {
            if runs.last.map({ written == $0.count }) ?? true { try addRun() }
            let run = runs[runs.count - 1]
            let count = min(staged - first, run.count - written)
            for index in 0..<count {
                let page = staging + (first + index) * pageBytes
                let number = run.page + UInt64(written + index)
                Page(page).format(
                    page: number, type: .overflow, level: 0, writeID: run.writeID + UInt64(written + index), tree: tree)
                store.frames.codec.seal(page, number: number)
            }
            let place = (run.page + UInt64(written)) * UInt64(pageBytes)
            let bytes = UnsafeRawBufferPointer(start: staging + first * pageBytes, count: count * pageBytes)
            try storage { () throws(FileError) in try store.frames.file.write(bytes, at: place) }
            written += count
            first += count
        }
        staged = 0
    }

    private func addRun() throws(StorageError) {
        writer.returnUnusedNumbers()
        let run = store.versions.allocateRun(upTo: nextRunPages, isWhole: isWhole)
        // Record the run first, so that a failure from here on does not leak it.
        runs.append(ValueExtents.Extent(page: run.page, writeID: 0, count: run.count))
        try store.growFile(for: writer)
        runs[runs.count - 1].writeID = try store.takeWriteIDs(run.count)
        store.frames.discard(runs[runs.count - 1].pages)
        written = 0
        nextRunPages = min(ExtentWriter.pagesPerRun, nextRunPages * 2)
    }
}
