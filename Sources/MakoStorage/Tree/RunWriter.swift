/// Writes a large value to pages of its own, piece by piece, past memory and log: in as much memory as one write takes.
///
/// The pages are nobody's until a transaction adopts them; those of a writer that goes without are given back.
final class RunWriter {
    private static let pagesPerWrite = 64
    private static let pagesPerRun = 1024

    /// Pages that one write takes, and that `staging` has room for: no more than there will be.
    private let pagesPerWrite: Int

    private let writer: Writer
    private let tree: UInt32
    private let staging: UnsafeMutableRawPointer
    /// Full pages in `staging`, and bytes of the one behind them.
    private var staged = 0
    private var filled = 0
    private var runs: [ValueRuns.Run] = []
    /// Pages of the last run that are written.
    private var written = 0
    private var digest: UInt64 = 0
    private(set) var stored: UInt64 = 0
    /// The pages of the next run: each has twice as many as the one before, up to 4 MiB.
    private var nextRunPages: Int
    /// One run for all of it, wherever there is one.
    private let isWhole: Bool
    private var isAdopted = false
    /// A write that failed may have left a part of it on the device. Nothing else is written under the same serials.
    private var failure: StorageError?

    private var store: Store { writer.store }

    /// - Parameter bytes: how many there will be, when it is known: then they stand in one run.
    init(_ writer: Writer, tree: UInt32, bytes: Int? = nil) {
        self.writer = writer
        self.tree = tree
        isWhole = bytes != nil
        nextRunPages =
            bytes.map { Int(ValueRuns.pageCount(of: UInt64(max(1, $0)))) }
            ?? min(RunWriter.pagesPerRun, max(1, writer.store.pipeline.namedValueBytes / Overflow.payloadBytes))
        pagesPerWrite = bytes == nil ? RunWriter.pagesPerWrite : min(RunWriter.pagesPerWrite, nextRunPages)
        staging = .allocate(byteCount: pagesPerWrite * pageBytes, alignment: pageBytes)
    }

    deinit {
        staging.deallocate()
        if !isAdopted { for run in runs { store.versions.giveBack(Array(run.pages)) } }
    }

    /// Writes more bytes behind those before.
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

    /// Writes what the pages of another run hold.
    func append(copyOf run: ValueRuns.Run) throws(StorageError) {
        let buffer = UnsafeMutableRawPointer.allocate(
            byteCount: min(run.count, RunWriter.pagesPerWrite) * pageBytes, alignment: pageBytes)
        defer { buffer.deallocate() }
        for first in stride(from: 0, to: run.count, by: RunWriter.pagesPerWrite) {
            let count = min(RunWriter.pagesPerWrite, run.count - first)
            try store.frames.readRun(
                run.page + UInt64(first), serial: run.serial + UInt64(first), count: count, into: buffer)
            for index in 0..<count {
                try append(
                    UnsafeRawBufferPointer(
                        start: buffer + index * pageBytes + Page.bodyOffset, count: Overflow.payloadBytes))
            }
        }
    }

    private func closePage() {
        let body = staging + staged * pageBytes + Page.bodyOffset
        digest = ValueRuns.digest(digest, body, count: filled)
        if filled < Overflow.payloadBytes {
            (body + filled).initializeMemory(as: UInt8.self, repeating: 0, count: Overflow.payloadBytes - filled)
        }
        staged += 1
        filled = 0
    }

    /// Writes what is left, and gives back what of the last run was not needed.
    func finish(length: UInt64? = nil) throws(StorageError) -> ValueRuns {
        if let failure { throw failure }
        if filled > 0 { closePage() }
        try flush()
        if let last = runs.last, written < last.count {
            store.versions.giveBack(Array(last.pages.dropFirst(written)))
            runs[runs.count - 1].count = written
        }
        let length = length ?? stored
        return ValueRuns(length: length, stored: stored, isCompressed: length != stored, digest: digest, runs: runs)
    }

    /// The pages are a transaction's from here on.
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
                    page: number, type: .overflow, level: 0, serial: run.serial + UInt64(written + index), tree: tree)
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
        // Noted at once: what fails from here on must not lose them.
        runs.append(ValueRuns.Run(page: run.page, serial: 0, count: run.count))
        try store.growFile(for: writer)
        runs[runs.count - 1].serial = try store.takeSerials(run.count)
        store.frames.discard(runs[runs.count - 1].pages)
        written = 0
        nextRunPages = min(RunWriter.pagesPerRun, nextRunPages * 2)
    }
}
