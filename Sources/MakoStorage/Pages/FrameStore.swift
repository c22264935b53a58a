import Synchronization

/// The page cache: frames in chunks of address space, and a flat table from page id to frame.
///
/// A reader translates a page id with one atomic load and no lock; it must be inside an operation epoch. A table entry
/// is 0 (not in memory), or the frame's number plus one, with `coolingBit` if the evictor has marked the frame as a
/// candidate. A reader of a cooling page clears the mark; a page that is still cooling when the clock passes again is
/// evicted. So readers of hot pages write nothing until memory is short.
///
/// A frame is clean (its place in the file has the same bytes) or dirty (only memory has the page). A dirty frame stays
/// until it is written: by the checkpoint, by a writer that spills its pages, or by the evictor's write-back.
final class FrameStore: @unchecked Sendable {
    static let coolingBit: UInt32 = 1 << 31
    /// The smallest cache with huge pages. In a smaller one the partly used huge pages would waste much memory, and
    /// opening would take longer.
    private static let leastBytesForHugePages = 64 << 20
    /// The smallest budget, in frames.
    private static let leastBudget = 64

    let file: any File
    let codec: PageCodec
    private let budget: Atomic<Int>
    /// The bytes of a transaction's lists, and of the space map's lists and bitmaps.
    private let reserved = Atomic<Int>(0)
    private let spaceBytes = Atomic<Int>(0)
    /// The memory of the table in bytes, and the size at which its empty blocks are given back.
    let tableBytes = Atomic<Int>(0)
    let tableLimit = Atomic<Int>(0)

    /// The chunks with the frames and their words.
    let chunks: FrameChunks
    let base: UnsafeMutableRawPointer
    /// The number of frames of a system page, the unit in which memory is given back.
    let unitFrames: Int
    /// The table has entries for the pages below this number. Must be read before `table`, because the table only
    /// grows.
    let covered: Atomic<UInt64>
    let tableStart: Atomic<UnsafeMutablePointer<PageTable.Entry>>
    @exclusivity(unchecked) var tables: PageTables
    /// The table at `tableStart`. Guarded by `tableLock`.
    @exclusivity(unchecked) var marked: PageTable
    /// Held while an entry is set that was 0, and while empty blocks are given back. Never held during I/O: a writer
    /// that allocates a page would wait for the reads of others.
    let tableLock = Lock()

    /// Memory for copies of pages that are written to the file.
    let staging = PageStaging()
    /// The number of dirty frames.
    let dirty = Atomic<Int>(0)
    /// Called when a page takes memory over the budget. Set before the store is shared.
    @exclusivity(unchecked) var onOverBudget: (@Sendable () -> Void)?
    /// Whether a sync of the file has failed. Earlier writes may then be lost, and reads may return older bytes.
    let hasLostWrites = Atomic<Bool>(false)
    /// The number of pages that may still be prefetched; see `ReadAhead`.
    let readAheadStock = Atomic<Int>(0)
    /// Whether the last measured read came from a device, not from the system's cache.
    let isReadingSlowly = Atomic<Bool>(false)

    let lock = Lock()
    let loadLocks: [Lock] = (0..<16).map { _ in Lock() }
    // Guarded by `lock`, without dynamic exclusivity checks, which would slow down every page read.
    @exclusivity(unchecked) var freeFrames: [UInt32] = []
    /// Whether `freeFrames` is in descending order. Removing its last element keeps the order.
    @exclusivity(unchecked) var freeIsSorted = true
    /// Free units whose memory was given back to the system, each by its first frame.
    @exclusivity(unchecked) var returnedUnits: [UInt32] = []
    /// The number of frames that were ever used, by their positions in the chunks.
    @exclusivity(unchecked) var highWater = 0
    @exclusivity(unchecked) var clockHand = 0
    @exclusivity(unchecked) var limbo: [LimboBatch] = []
    @exclusivity(unchecked) var limboCount = 0
    @exclusivity(unchecked) var scansToSkip = 0
    /// The number of consecutive clock rounds that freed nothing.
    @exclusivity(unchecked) var idleRounds = 0
    @exclusivity(unchecked) var counters = Counters()

    struct Counters {
        var loads: UInt64 = 0
        var evictions: UInt64 = 0
        var overBudget: UInt64 = 0
    }

    struct LimboBatch {
        var epoch: UInt64
        var frames: [UInt32]
    }

    /// The state of a frame in the low byte of `info`; the page id is in the bits above.
    enum State: UInt64 {
        case free = 0
        case clean = 1
        case dirty = 2
    }

    /// - Parameters:
    ///   - filePages: the number of pages of the file, which the table covers.
    ///   - unitBytes: the unit in which memory is given back, to make it larger than a system page.
    init(
        file: any File, codec: PageCodec, budgetBytes: Int, filePages: UInt64 = 0,
        unitBytes: Int = SystemMemory.pageBytes
    ) throws(StorageError) {
        self.file = file
        self.codec = codec
        budget = Atomic(FrameStore.frames(ofBudget: budgetBytes))
        unitFrames = max(pageBytes, SystemMemory.pageBytes, unitBytes) / pageBytes
        let isLarge = budgetBytes >= FrameStore.leastBytesForHugePages
        var tables = PageTables(wantsHugePages: isLarge)
        guard let chunks = FrameChunks(wantsHugePages: isLarge),
            let table = tables.add(covering: min(filePages, UInt64(PageTables.mostEntries)))
        else { throw .invalidArgument("the process has no address space left for the memory of a database") }
        self.tables = tables
        marked = table
        self.chunks = chunks
        base = chunks.origin
        tableStart = Atomic(table.start)
        covered = Atomic(UInt64(table.count))
        noteTableLimit()
    }

    /// Gives all memory back to the system. Nothing may be read afterwards.
    func discard() {
        lock.withLock {
            chunks.discard()
            tables.discard()
        }
    }

    // MARK: The budget

    /// The budget that the caller has set.
    var wholeBudgetFrames: Int { budget.load(ordering: .relaxed) }

    /// The target for page frames: the budget minus the memory of the table, of the space map, and of a transaction's
    /// lists, but at least a quarter of the budget.
    var budgetFrames: Int {
        let whole = wholeBudgetFrames
        let beside =
            reserved.load(ordering: .relaxed) + spaceBytes.load(ordering: .relaxed)
            + tableBytes.load(ordering: .relaxed)
        return whole - min((beside + pageBytes - 1) / pageBytes, whole / 4 * 3)
    }

    /// Takes the memory that a transaction has outside pages off the budget; 0 at its end.
    func reserve(bytes: Int) { reserved.store(bytes, ordering: .relaxed) }

    /// Takes the memory of the space map off the budget.
    func count(spaceBytes bytes: Int) { spaceBytes.store(bytes, ordering: .relaxed) }

    private static func frames(ofBudget bytes: Int) -> Int {
        // No address space is larger.
        max(leastBudget, Int(min(Int64(bytes), 1 << 42) / Int64(pageBytes)))
    }

    /// Sets the budget. Rounds of the evictor free the frames above it.
    func setBudget(bytes: Int) {
        tableLimit.store(0, ordering: .relaxed)
        lock.withLock {
            budget.store(FrameStore.frames(ofBudget: bytes), ordering: .relaxed)
            scansToSkip = 0
            idleRounds = 0
        }
    }

    /// The largest number of frames: above the budget, because a transaction may exceed it until its pages are spilled.
    var mostFrames: Int { max(budgetFrames * 4, budgetFrames + 1 << 20) }
    /// The number of frames unhooked at once, with one process barrier for all of them.
    var batchFrames: Int { max(4, min(64, budgetFrames / 32)) }
    /// The reserved address space in bytes.
    var reservedBytes: Int { lock.withLock { chunks.reservedBytes + tables.reservedBytes } }

    // MARK: The table

    /// The table has entries for the pages below this number. Must be read before `table`.
    @inline(__always)
    var tableCount: UInt64 { covered.load(ordering: .acquiring) }
    @inline(__always)
    var table: UnsafeMutablePointer<Atomic<UInt32>> { tableStart.load(ordering: .relaxed) }

    /// Returns the word of a frame: its page id above, the state in the low byte.
    @inline(__always)
    func info(_ frame: UInt32) -> UnsafeMutablePointer<Atomic<UInt64>> { FrameChunks.word(base, frame) }

    // MARK: Writing

    /// Removes pages from memory that were overwritten in the file. No thread may be reading them.
    func discard(_ pages: Range<UInt64>) {
        lock.lock()
        defer { lock.unlock() }
        for number in pages where number < tableCount {
            // Looked at first, because an exchange takes memory for the table.
            guard table[Int(number)].load(ordering: .relaxed) != 0 else { continue }
            let entry = table[Int(number)].exchange(0, ordering: .acquiringAndReleasing)
            guard entry != 0 else { continue }
            let index = (entry & ~FrameStore.coolingBit) &- 1
            let before = info(index).pointee.exchange(0, ordering: .acquiringAndReleasing)
            if before & 0xff == State.dirty.rawValue { dirty.wrappingSubtract(1, ordering: .relaxed) }
            freeFrames.append(index)
            freeIsSorted = false
        }
    }

    /// Removes all pages from memory, because they were overwritten in the file. No thread may be reading one.
    func discardPages() {
        lock.lock()
        defer { lock.unlock() }
        for position in 0..<highWater {
            let frame = chunks.frame(at: position)
            let word = info(frame).pointee.load(ordering: .acquiring)
            guard word & 0xff != State.free.rawValue, word &>> 8 < tableCount else { continue }
            let entry = table[Int(word &>> 8)].load(ordering: .acquiring)
            guard entry & ~FrameStore.coolingBit == frame &+ 1 else { continue }
            table[Int(word &>> 8)].store(0, ordering: .releasing)
            info(frame).pointee.store(0, ordering: .releasing)
            if word & 0xff == State.dirty.rawValue { dirty.wrappingSubtract(1, ordering: .relaxed) }
            freeFrames.append(frame)
            freeIsSorted = false
        }
    }

    /// Returns a dirty frame for a page id that was just allocated. Discards what the slot held before.
    func makeDirty(page number: UInt64) throws(StorageError) -> UnsafeMutableRawPointer {
        if number >= tableCount { cover(below: number + 1) }
        guard number < tableCount else {
            throw .invalidArgument("the file would grow beyond \(tableCount) pages, more than this system can map")
        }
        let slot = Int(number)
        while true {
            let entry = table[slot].load(ordering: .acquiring)
            if entry == 0 { break }
            // The former page was freed and no thread can be reading it, so its frame is reused.
            let index = (entry & ~FrameStore.coolingBit) &- 1
            let claimed = table[slot].compareExchange(
                expected: entry, desired: index &+ 1, ordering: .acquiringAndReleasing
            ).exchanged
            if claimed {
                noteDirty(index, number)
                // If the evictor unhooked the frame in between, it cannot be used here.
                if table[slot].load(ordering: .acquiring) == index &+ 1 { return base + Int(index) &<< 12 }
            }
        }
        let index = try takeFrame()
        noteDirty(index, number)
        set(slot, to: index)
        return base + Int(index) &<< 12
    }

    @inline(__always)
    private func noteDirty(_ index: UInt32, _ number: UInt64) {
        let before = info(index).pointee.exchange(number &<< 8 | State.dirty.rawValue, ordering: .acquiringAndReleasing)
        if before & 0xff != State.dirty.rawValue { dirty.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Whether a page in memory was never written to the file.
    @inline(__always)
    func isDirty(_ page: Page) -> Bool {
        info(UInt32(truncatingIfNeeded: (page.base - base) &>> 12)).pointee.load(ordering: .relaxed) & 0xff
            == State.dirty.rawValue
    }

    /// Returns the frame of a page that is in memory and dirty; nil otherwise.
    func dirtyFrame(page number: UInt64) -> UnsafeMutableRawPointer? {
        guard number < tableCount else { return nil }
        let entry = table[Int(number)].load(ordering: .acquiring)
        guard entry != 0 else { return nil }
        let index = (entry & ~FrameStore.coolingBit) &- 1
        let word = info(index).pointee.load(ordering: .acquiring)
        guard word == number &<< 8 | State.dirty.rawValue else { return nil }
        return base + Int(index) &<< 12
    }

    /// Whether a page is dirty.
    func isUnwritten(page: UInt64) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return dirtyFrame(page: page) != nil
    }

    /// Notes that the file now has the same bytes as a page's frame.
    func markClean(page number: UInt64) {
        guard number < tableCount else { return }
        let entry = table[Int(number)].load(ordering: .acquiring)
        guard entry != 0 else { return }
        let index = (entry & ~FrameStore.coolingBit) &- 1
        let isCleaned = info(index).pointee.compareExchange(
            expected: number &<< 8 | State.dirty.rawValue, desired: number &<< 8 | State.clean.rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
        if isCleaned { dirty.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// Notes that a page was freed: its frame needs no write, and can be evicted.
    func forget(page number: UInt64) { markClean(page: number) }
}
