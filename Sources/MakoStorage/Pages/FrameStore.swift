import Synchronization

/// Pages in memory: frames in one arena, and a flat table from page number to frame.
///
/// Readers translate a page number with one atomic load and no lock; they must be inside an operation epoch. A
/// table entry is 0 (not in memory), or the frame's number plus one, or that with `coolingBit`: the evictor's
/// mark of a candidate. Whoever meets a cooling page takes the mark away; what still carries it when the clock
/// comes round again is evicted. So hot pages cost their readers no write at all until memory is short.
///
/// A frame is clean (its slot on disk holds the same bytes) or dirty (memory only). Dirty frames stay until they
/// are written: by the checkpoint, by the writer that spills its own, or by the evictor's write-back.
final class FrameStore: @unchecked Sendable {
    private static let coolingBit: UInt32 = 1 << 31
    private static let tableEntries = 1 << 28
    /// Three huge pages would be more than a smaller cache itself, and most of the time that opening takes.
    private static let leastBytesForHugePages = 8 << 20
    /// So many frames are given back to the system at once: one call for each, at worst.
    private static let framesPerReturn = 256

    let file: any File
    let codec: PageCodec
    let budgetFrames: Int
    /// How many frames are taken from their pages at once: one process barrier for all of them.
    private let batchFrames: Int

    private let frames: Arena
    private let tableArena: Arena
    private let infoArena: Arena
    private let base: UnsafeMutableRawPointer
    private let table: UnsafeMutablePointer<Atomic<UInt32>>
    private let info: UnsafeMutablePointer<Atomic<UInt64>>
    private let tableCount: UInt64
    private let frameCapacity: Int

    /// Frames that only memory has.
    private let dirty = Atomic<Int>(0)
    /// Whether a sync of the file has failed: what was written before it may be gone, and reads may give what was there before.
    let hasLostWrites = Atomic<Bool>(false)
    /// How many more pages may be asked for ahead of time; see `ReadAhead`.
    let readAheadStock = Atomic<Int>(0)
    /// Whether the last read that was measured was one of a device.
    let isReadingSlowly = Atomic<Bool>(false)

    private let lock = Lock()
    private let loadLocks: [Lock] = (0..<16).map { _ in Lock() }
    // Guarded by `lock`, and so without dynamic exclusivity checks, which every page that is read would pay for.
    @exclusivity(unchecked) private var freeFrames: [UInt32] = []
    /// Whether these are in ascending order: taking the last leaves them so.
    @exclusivity(unchecked) private var freeIsSorted = true
    /// Free frames whose memory the system has back.
    @exclusivity(unchecked) private var returnedFrames: [UInt32] = []
    @exclusivity(unchecked) private var highWater = 0
    @exclusivity(unchecked) private var clockHand = 0
    @exclusivity(unchecked) private var limbo: [LimboBatch] = []
    @exclusivity(unchecked) private var limboCount = 0
    @exclusivity(unchecked) private var scansToSkip = 0
    @exclusivity(unchecked) private(set) var counters = Counters()

    struct Counters {
        var loads: UInt64 = 0
        var evictions: UInt64 = 0
        var overBudget: UInt64 = 0
    }

    private struct LimboBatch {
        var epoch: UInt64
        var frames: [UInt32]
    }

    /// What `info` says of a frame: the page above, the state in the low byte.
    private enum State: UInt64 {
        case free = 0
        case clean = 1
        case dirty = 2
    }

    init(file: any File, codec: PageCodec, budgetBytes: Int) throws(StorageError) {
        self.file = file
        self.codec = codec
        // No address space is larger; what does not fit it is refused below.
        budgetFrames = max(64, min(budgetBytes, 1 << 48) / pageBytes)
        batchFrames = max(4, min(64, budgetFrames / 32))
        // A transaction may outgrow the budget until its pages are spilled, so there is more room than budget.
        var capacity = max(budgetFrames * 4, budgetFrames + 1 << 20)
        var tableEntries = FrameStore.tableEntries
        let isLarge = budgetBytes >= FrameStore.leastBytesForHugePages
        while true {
            if let frames = Arena(bytes: capacity * pageBytes, wantsHugePages: isLarge, isKept: true),
                let table = Arena(bytes: tableEntries * 4, wantsHugePages: isLarge),
                let info = Arena(bytes: capacity * 8, wantsHugePages: isLarge)
            {
                self.frames = frames
                self.tableArena = table
                self.infoArena = info
                break
            }
            guard capacity > budgetFrames + 1024 else {
                throw .invalidArgument("a cache of \(budgetBytes) bytes does not fit the address space; ask for less")
            }
            capacity = max(budgetFrames + 1024, capacity / 2)
            tableEntries = max(1 << 22, tableEntries / 4)
        }
        frameCapacity = capacity
        tableCount = UInt64(tableEntries)
        base = frames.base
        table = tableArena.base.bindMemory(to: Atomic<UInt32>.self, capacity: tableEntries)
        info = infoArena.base.bindMemory(to: Atomic<UInt64>.self, capacity: capacity)
    }

    /// Gives all memory back to the system. Nothing may be read any more.
    func discard() {
        frames.discard()
        tableArena.discard()
        infoArena.discard()
    }

    // MARK: Reading

    /// The page behind a reference, loaded and verified when it is not in memory.
    ///
    /// - Parameter identity: what the header must say the page is; see `Page.identity`.
    @inline(__always)
    func resolve(_ reference: PageReference, type: PageType, level: Int) throws(StorageError)
        -> UnsafeMutableRawPointer
    {
        let number = reference.page
        guard number < tableCount else { throw StorageError.corrupted(page: number, reason: "beyond the largest file") }
        let entry = table[Int(truncatingIfNeeded: number)].load(ordering: .acquiring)
        let frame: UnsafeMutableRawPointer
        if Int32(bitPattern: entry) > 0 {
            frame = base + Int(entry &- 1) &<< 12
        } else {
            frame = try load(reference)
        }
        let page = Page(frame)
        if page.identity != Page.identity(page: number, type: type, level: level)
            || page.serial & 0xff_ffff != reference.tag && !sabotaged("staleSerialAccepted")
        {
            throw misplaced(page, reference, type, level)
        }
        return frame
    }

    /// The frame of a page that is in memory. What stands in it is not looked at: it may be another page by now.
    @inline(__always)
    func frame(inMemory reference: PageReference) -> UnsafeMutableRawPointer? {
        guard reference.page < tableCount else { return nil }
        let entry = table[Int(truncatingIfNeeded: reference.page)].load(ordering: .relaxed)
        return Int32(bitPattern: entry) > 0 ? base + Int(entry &- 1) &<< 12 : nil
    }

    /// Whether a page has a frame.
    @inline(__always)
    func isInMemory(_ reference: PageReference) -> Bool {
        reference.page < tableCount && table[Int(truncatingIfNeeded: reference.page)].load(ordering: .relaxed) != 0
    }

    @inline(never)
    private func misplaced(_ page: Page, _ reference: PageReference, _ type: PageType, _ level: Int) -> StorageError {
        if page.serial & 0xff_ffff != reference.tag {
            return .corrupted(page: reference.page, reason: "its serial is not the one its parent knows (a stale page)")
        }
        return .corrupted(
            page: reference.page,
            reason: "expected a page of type \(type) at level \(level), found type \(page.type) at level \(page.level)")
    }

    @inline(never)
    private func load(_ reference: PageReference) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = reference.page
        let slot = Int(number)
        let loadLock = loadLocks[slot & 15]
        loadLock.lock()
        defer { loadLock.unlock() }
        while true {
            let entry = table[slot].load(ordering: .acquiring)
            if entry == 0 { break }
            let hot = entry & ~FrameStore.coolingBit
            if entry == hot
                || table[slot].compareExchange(expected: entry, desired: hot, ordering: .acquiringAndReleasing)
                    .exchanged
            {
                return base + Int(hot &- 1) &<< 12
            }
        }
        let index = try takeFrame()
        let frame = base + Int(index) &<< 12
        do throws(StorageError) {
            try readAwaited(number, into: frame, index)
            if Page(frame).serial & 0xff_ffff != reference.tag && !sabotaged("staleSerialAccepted") {
                throw StorageError.corrupted(
                    page: number, reason: "its serial is not the one its parent knows (a lost or stale write)")
            }
            if !sabotaged("pageBoundsNotChecked") { try PageCheck.validate(frame) }
        } catch {
            giveBack(index)
            throw explained(error)
        }
        info[Int(index)].store(number &<< 8 | State.clean.rawValue, ordering: .releasing)
        table[slot].store(index &+ 1, ordering: .releasing)
        return frame
    }

    /// Reads a page that somebody waits for, and notes of some how long that took.
    private func readAwaited(_ number: UInt64, into frame: UnsafeMutableRawPointer, _ index: UInt32)
        throws(StorageError)
    {
        guard isMeasured(frame: index) else { return try readPage(number, into: frame) }
        let began = ContinuousClock.now
        try readPage(number, into: frame)
        noteRead(began.duration(to: .now))
    }

    /// What is not as it should be after a failed sync is so because of that: the database itself is as the log says.
    private func explained(_ error: StorageError) -> StorageError {
        guard case .corrupted(let page, _) = error, hasLostWrites.load(ordering: .relaxed),
            !sabotaged("lostWriteTakenForDamage")
        else { return error }
        return .readOnly(
            reason: "page \(page) was given up by the system when a sync failed; reopen the database, whose log has it")
    }

    /// Reads a page from the file and checks that it is whole and in its place. Its inner bounds are not checked.
    func readPage(_ number: UInt64, into frame: UnsafeMutableRawPointer) throws(StorageError) {
        try FrameStore.readPage(number, of: file, codec, into: frame)
    }

    static func readPage(
        _ number: UInt64, of file: any File, _ codec: PageCodec, into frame: UnsafeMutableRawPointer
    ) throws(StorageError) {
        try readStored(number, of: file, into: frame)
        try open(number, at: frame, codec)
    }

    /// Reads a page as it stands in the file.
    private static func readStored(_ number: UInt64, of file: any File, into frame: UnsafeMutableRawPointer)
        throws(StorageError)
    {
        let buffer = UnsafeMutableRawBufferPointer(start: frame, count: pageBytes)
        let read = try storage { () throws(FileError) in try file.read(into: buffer, at: number * UInt64(pageBytes)) }
        guard read == pageBytes else {
            throw .corrupted(page: number, reason: "the file ends before it (cut short, or a lost write)")
        }
    }

    private static func open(_ number: UInt64, at frame: UnsafeMutableRawPointer, _ codec: PageCodec)
        throws(StorageError)
    {
        guard codec.open(frame, number: number) || sabotaged("checksumNotChecked") else {
            throw .corrupted(page: number, reason: codec.finding)
        }
        guard Page(frame).number == number else {
            throw .corrupted(page: number, reason: "it says it is page \(Page(frame).number) (a misdirected write)")
        }
    }

    /// A leaf for one look: where it is not in memory it is read into `scratch`, and no other has to make way for it.
    func peek(_ reference: PageReference, type: PageType, scratch: UnsafeMutableRawPointer) throws(StorageError)
        -> UnsafeMutableRawPointer
    {
        let number = reference.page
        guard number < tableCount, table[Int(number)].load(ordering: .acquiring) == 0 else {
            return try resolve(reference, type: type, level: 0)
        }
        try readPage(number, into: scratch)
        let page = Page(scratch)
        guard page.identity == Page.identity(page: number, type: type, level: 0),
            page.serial & 0xff_ffff == reference.tag
        else { throw misplaced(page, reference, type, 0) }
        try PageCheck.validate(scratch)
        return scratch
    }

    /// Copies a page as it stands in the file or is to stand there: from memory while it was not written yet, else from its slot, checked.
    ///
    /// - Parameter scratch: room for a page.
    /// - Returns: its serial.
    func copySealedPage(
        _ number: UInt64, to buffer: UnsafeMutableRawPointer, scratch: UnsafeMutableRawPointer
    ) throws(StorageError) -> UInt64 {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if let frame = dirtyFrame(page: number), !sabotaged("unwrittenPagesOverlooked") {
            buffer.copyMemory(from: frame, byteCount: pageBytes)
            let serial = Page(buffer).serial
            if !(sabotaged("backupLeavesPagesPlain") && codec.isEncrypted) { codec.seal(buffer, number: number) }
            return serial
        }
        try FrameStore.readStored(number, of: file, into: buffer)
        scratch.copyMemory(from: buffer, byteCount: pageBytes)
        try FrameStore.open(number, at: scratch, codec)
        return Page(scratch).serial
    }

    /// Copies a page as it is in memory or would be.
    func copyPage(_ number: UInt64, to buffer: UnsafeMutableRawPointer) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if let frame = dirtyFrame(page: number), !sabotaged("unwrittenPagesOverlooked") {
            buffer.copyMemory(from: frame, byteCount: pageBytes)
        } else {
            try readPage(number, into: buffer)
        }
    }

    /// Reads pages of a value with consecutive numbers and serials, past the frames but for those that were not written yet.
    func readRun(_ first: UInt64, serial: UInt64, count: Int, into buffer: UnsafeMutableRawPointer) throws(StorageError)
    {
        do throws(StorageError) { try readPages(first, serial, count, into: buffer) } catch { throw explained(error) }
    }

    private func readPages(
        _ first: UInt64, _ serial: UInt64, _ count: Int, into buffer: UnsafeMutableRawPointer
    ) throws(StorageError) {
        let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: count * pageBytes)
        let isInMemory = (0..<count).contains { dirtyFrame(page: first + UInt64($0)) != nil }
        var read = 0
        if !isInMemory {
            read = try storage { () throws(FileError) in try file.read(into: bytes, at: first * UInt64(pageBytes)) }
        }
        for index in 0..<count {
            let number = first + UInt64(index)
            let page = buffer + index * pageBytes
            if isInMemory {
                try copyPage(number, to: page)
            } else {
                guard read >= (index + 1) * pageBytes else {
                    throw .corrupted(page: number, reason: "the file ends before it (cut short, or a lost write)")
                }
                try FrameStore.open(number, at: page, codec)
            }
            guard Page(page).identity == Page.identity(page: number, type: .overflow, level: 0),
                Page(page).serial == serial &+ UInt64(index) || sabotaged("staleValuePageAccepted")
            else {
                throw .corrupted(page: number, reason: "it is not the page of a value that its entry knows")
            }
        }
    }

    // MARK: Writing

    /// Takes pages out of memory, which hold what their slots no longer do. Nobody may be reading them.
    func discard(_ pages: Range<UInt64>) {
        lock.lock()
        defer { lock.unlock() }
        for number in pages where number < tableCount {
            let entry = table[Int(number)].exchange(0, ordering: .acquiringAndReleasing)
            guard entry != 0 else { continue }
            let index = (entry & ~FrameStore.coolingBit) &- 1
            let before = info[Int(index)].exchange(0, ordering: .acquiringAndReleasing)
            if before & 0xff == State.dirty.rawValue { dirty.wrappingSubtract(1, ordering: .relaxed) }
            freeFrames.append(index)
            freeIsSorted = false
        }
    }

    /// A dirty frame for a page number that was just allocated. Whatever the slot held before is forgotten.
    func makeDirty(page number: UInt64) throws(StorageError) -> UnsafeMutableRawPointer {
        guard number < tableCount else {
            throw .invalidArgument("the file would grow beyond \(tableCount) pages, more than this system can map")
        }
        let slot = Int(number)
        while true {
            let entry = table[slot].load(ordering: .acquiring)
            if entry == 0 { break }
            // The slot's former page is dead and nobody can be reading it, so its frame serves again.
            let index = (entry & ~FrameStore.coolingBit) &- 1
            let claimed = table[slot].compareExchange(
                expected: entry, desired: index &+ 1, ordering: .acquiringAndReleasing
            ).exchanged
            if claimed {
                noteDirty(index, number)
                // The evictor may have unhooked it between the two; then the frame is lost to us.
                if table[slot].load(ordering: .acquiring) == index &+ 1 { return base + Int(index) &<< 12 }
            }
        }
        let index = try takeFrame()
        noteDirty(index, number)
        table[slot].store(index &+ 1, ordering: .releasing)
        return base + Int(index) &<< 12
    }

    @inline(__always)
    private func noteDirty(_ index: UInt32, _ number: UInt64) {
        let before = info[Int(index)].exchange(number &<< 8 | State.dirty.rawValue, ordering: .acquiringAndReleasing)
        if before & 0xff != State.dirty.rawValue { dirty.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Whether the page at this address has never been handed to the device.
    @inline(__always)
    func isDirty(_ frame: UnsafeMutableRawPointer) -> Bool {
        let index = (frame - base) &>> 12
        return info[index].load(ordering: .relaxed) & 0xff == State.dirty.rawValue
    }

    /// The frame of a page that is in memory and dirty, or nil.
    func dirtyFrame(page number: UInt64) -> UnsafeMutableRawPointer? {
        guard number < tableCount else { return nil }
        let entry = table[Int(number)].load(ordering: .acquiring)
        guard entry != 0 else { return nil }
        let index = Int((entry & ~FrameStore.coolingBit) &- 1)
        let word = info[index].load(ordering: .acquiring)
        guard word == number &<< 8 | State.dirty.rawValue else { return nil }
        return base + index &<< 12
    }

    /// Whether only memory has a page.
    func isUnwritten(page: UInt64) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return dirtyFrame(page: page) != nil
    }

    /// Notes that a page's slot on disk now holds what its frame holds.
    func markClean(page number: UInt64) {
        let entry = table[Int(number)].load(ordering: .acquiring)
        guard entry != 0 else { return }
        let index = Int((entry & ~FrameStore.coolingBit) &- 1)
        let isCleaned = info[index].compareExchange(
            expected: number &<< 8 | State.dirty.rawValue, desired: number &<< 8 | State.clean.rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
        if isCleaned { dirty.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// Notes that a page is dead: its frame needs no write-back and may be taken by the evictor.
    func forget(page number: UInt64) { markClean(page: number) }

    // MARK: Frames and eviction

    var dirtyFrames: Int { dirty.load(ordering: .relaxed) }
    /// Frames that hold pages, and those that take memory: what was unhooked and not yet used again as well.
    var frameCounts: (used: Int, mapped: Int) { lock.withLock { (usedFrames, mappedFrames) } }
    var currentCounters: Counters { lock.withLock { counters } }

    private var mappedFrames: Int { highWater - returnedFrames.count }
    private var usedFrames: Int { mappedFrames - freeFrames.count - limboCount }

    private func takeFrame() throws(StorageError) -> UInt32 {
        lock.lock()
        defer { lock.unlock() }
        counters.loads &+= 1
        // Ahead of the need: what is unhooked now is free when the operations that are running have ended, this one too.
        if !limbo.isEmpty && freeFrames.count < batchFrames { reclaimLimbo() }
        // Where somebody stays inside an operation nothing is gained by unhooking more and more.
        if usedFrames + batchFrames > budgetFrames,
            limboCount <= max(128, budgetFrames / 4)
        {
            if scansToSkip > 0 {
                scansToSkip -= 1
            } else if !sabotaged("evictionForgotten"), !evictLocked(scan: 512) {
                // Nothing to gain now: dirty pages. Do not look again at once.
                scansToSkip = 32
            }
        }
        if let frame = freeFrames.popLast() { return frame }
        let isOver = mappedFrames >= budgetFrames
        if let frame = returnedFrames.popLast() {
            if isOver { counters.overBudget &+= 1 }
            return frame
        }
        guard highWater < frameCapacity else {
            throw .invalidArgument(
                "no memory frame is left: \(frameCapacity) are in use; raise cacheBytes or make the transaction smaller"
            )
        }
        if isOver { counters.overBudget &+= 1 }
        highWater += 1
        return UInt32(highWater - 1)
    }

    private func giveBack(_ index: UInt32) {
        lock.lock()
        info[Int(index)].store(0, ordering: .releasing)
        freeFrames.append(index)
        freeIsSorted = false
        lock.unlock()
    }

    /// One round of the evictor: takes back frames whose readers have gone, then advances the clock. When all that is in use
    /// keeps within the budget again, free frames beyond it go back to the system.
    ///
    /// - Returns: whether there is more to do.
    func evictionStep() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard mappedFrames > budgetFrames else { return false }
        let before = freeFrames.count + limboCount
        reclaimLimbo()
        if mappedFrames - freeFrames.count > budgetFrames { _ = evictLocked(scan: 1024) }
        if freeFrames.count + limboCount != before { return true }
        return returnFrames()
    }

    /// Gives the memory of free frames beyond the budget back to the system.
    private func returnFrames() -> Bool {
        let count = min(mappedFrames - budgetFrames, freeFrames.count, FrameStore.framesPerReturn)
        guard count > 0, !sabotaged("frameMemoryKept") else { return false }
        // The furthest ones, which lie side by side: few calls, and whole huge pages.
        if !freeIsSorted { freeFrames.sort() }
        freeIsSorted = true
        let leaving = freeFrames.suffix(count)
        freeFrames.removeLast(count)
        var run = leaving.startIndex
        for index in leaving.indices where index + 1 == leaving.endIndex || leaving[index + 1] != leaving[index] + 1 {
            frames.discard(Int(leaving[run]) * pageBytes, count: (index + 1 - run) * pageBytes)
            run = index + 1
        }
        returnedFrames.append(contentsOf: leaving)
        return true
    }

    /// Unhooks a batch of clean frames that nobody has asked for since the clock came by last.
    ///
    /// - Returns: whether there was any clean frame to be seen.
    private func evictLocked(scan: Int) -> Bool {
        guard highWater > 0 else { return false }
        var unhooked: [UInt32] = []
        var hasClean = false
        for _ in 0..<min(scan, highWater * 2) {
            if unhooked.count == batchFrames { break }
            clockHand = clockHand + 1 >= highWater ? 0 : clockHand + 1
            if info[clockHand].load(ordering: .relaxed) & 0xff == State.clean.rawValue { hasClean = true }
            if cool(clockHand) { unhooked.append(UInt32(clockHand)) }
        }
        guard !unhooked.isEmpty else { return hasClean }
        counters.evictions &+= UInt64(unhooked.count)
        limboCount += unhooked.count
        limbo.append(LimboBatch(epoch: Epochs.retire(), frames: unhooked))
        reclaimLimbo()
        return true
    }

    /// Marks a clean page as a candidate, or unhooks it when it already was one. True when it was unhooked.
    private func cool(_ index: Int) -> Bool {
        let word = info[index].load(ordering: .acquiring)
        guard word & 0xff == State.clean.rawValue || sabotaged("dirtyFrameEvicted") else { return false }
        let slot = Int(word &>> 8)
        let entry = table[slot].load(ordering: .acquiring)
        guard entry & ~FrameStore.coolingBit == UInt32(index) &+ 1 else { return false }
        if entry & FrameStore.coolingBit == 0 {
            _ = table[slot].compareExchange(
                expected: entry, desired: entry | FrameStore.coolingBit, ordering: .acquiringAndReleasing)
            return false
        }
        // Claim the frame before it is unhooked: a writer that takes the slot over marks it dirty first.
        guard
            info[index].compareExchange(expected: word, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return false }
        if table[slot].compareExchange(expected: entry, desired: 0, ordering: .acquiringAndReleasing).exchanged {
            return true
        }
        // Somebody met the page meanwhile: it stays. A writer that took it over has said so in `info` already.
        _ = info[index].compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing)
        return false
    }

    private func reclaimLimbo() {
        while let batch = limbo.first, Epochs.hasPassed(batch.epoch) || sabotaged("frameReusedUnderReader") {
            freeFrames.append(contentsOf: batch.frames)
            freeIsSorted = false
            limboCount -= batch.frames.count
            limbo.removeFirst()
        }
    }
}
