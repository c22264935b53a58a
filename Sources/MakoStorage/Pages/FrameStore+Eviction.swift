/// Where frames come from, and how they become free again.
///
/// Free frames are taken from the front of the chunks and given back to the system from their end, in units: the frames of one page of the
/// system, all of them free. Over the budget the evictor first unhooks what the clock finds, then the clean neighbours of free
/// frames, so that units become whole. A dirty frame keeps its unit in memory until the checkpoint has written it, and a frame that an
/// operation may be reading until that has ended.
extension FrameStore {
    /// So many frames are given back to the system at once: one call for each unit, at worst.
    private static let framesPerReturn = 256

    var dirtyFrames: Int { dirty.load(ordering: .relaxed) }
    /// Frames that hold pages, and those that take memory: what was unhooked and not yet used again as well.
    var frameCounts: (used: Int, mapped: Int) { lock.withLock { (usedFrames, mappedFrames) } }
    var currentCounters: Counters { lock.withLock { counters } }

    /// Whether another page takes the place of one.
    var isFull: Bool { lock.withLock { usedFrames + batchFrames > budgetFrames } }

    private var mappedFrames: Int { highWater - returnedUnits.count * unitFrames }
    private var usedFrames: Int { mappedFrames - freeFrames.count - limboCount }

    func takeFrame() throws(StorageError) -> UInt32 {
        lock.lock()
        defer { lock.unlock() }
        counters.loads &+= 1
        // Ahead of the need: what is unhooked now is free when the operations that are running have ended, this one too.
        if !limbo.isEmpty && freeFrames.count < batchFrames { reclaimLimbo() }
        // While a thread stays inside an operation, unhooking more frames gains nothing.
        if usedFrames + batchFrames > budgetFrames,
            limboCount <= max(128, budgetFrames / 4)
        {
            if scansToSkip > 0 {
                scansToSkip -= 1
            } else if !evictLocked(scan: 512) {
                // Nothing to gain now: dirty pages. Do not look again at once.
                scansToSkip = 32
            }
        }
        if let frame = freeFrames.popLast() { return frame }
        let isOver = mappedFrames >= budgetFrames
        if let unit = returnedUnits.popLast() {
            if isOver { counters.overBudget &+= 1 }
            chunks.reuse(unit, count: unitFrames)
            if unitFrames > 1 {
                for frame in (unit + 1..<unit + UInt32(unitFrames)).reversed() { freeFrames.append(frame) }
                freeIsSorted = false
            }
            return unit
        }
        guard highWater < chunks.capacity || highWater < mostFrames && chunks.grow() else {
            throw .invalidArgument(
                "no memory frame is left: \(highWater) are in use; raise cacheBytes or make the transaction smaller")
        }
        if isOver { counters.overBudget &+= 1 }
        highWater += 1
        return chunks.frame(at: highWater - 1)
    }

    func giveBack(_ index: UInt32) {
        lock.lock()
        info(index).pointee.store(0, ordering: .releasing)
        freeFrames.append(index)
        freeIsSorted = false
        lock.unlock()
    }

    /// Gives memory over the budget back to the system, as far as its pages are clean and no operation reads them. A few pages more do not
    /// count.
    func evictToBudget() {
        let counts = frameCounts
        guard counts.mapped > budgetFrames + budgetFrames / 128 else { return }
        // Readers may bring in pages as fast as they are taken out: what remains is the background's.
        var rounds = counts.mapped / 8 + 64
        while rounds > 0, evictionStep() { rounds -= 1 }
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
        var sawClean = false
        // What waits for its readers is as good as free: nothing is gained by unhooking more in its place.
        if usedFrames > budgetFrames { sawClean = evictLocked(scan: 1024) }
        if freeFrames.count + limboCount != before || returnFrames() || completeUnits() {
            idleRounds = 0
            return true
        }
        // The first time that the clock comes by, a frame only becomes a candidate. Frames in constant use remain.
        guard sawClean, idleRounds < 2 * highWater / 1024 + 2 else {
            idleRounds = 0
            return false
        }
        idleRounds += 1
        return true
    }

    /// Gives the memory of free frames beyond the budget back to the system.
    private func returnFrames() -> Bool {
        let most = min(mappedFrames - budgetFrames, FrameStore.framesPerReturn)
        guard most > 0, freeFrames.count >= unitFrames else { return false }
        sortFreeFrames()
        // The furthest ones, which lie side by side: few calls, and whole huge pages.
        var leaving: [UInt32] = []
        var kept: [UInt32] = []
        var place = 0
        while place < freeFrames.count, leaving.count * unitFrames < most {
            if let unit = wholeUnit(at: place) {
                leaving.append(unit)
                place += unitFrames
            } else {
                kept.append(freeFrames[place])
                place += 1
            }
        }
        guard !leaving.isEmpty else { return false }
        freeFrames.replaceSubrange(..<place, with: kept)
        var last = leaving.startIndex
        for index in leaving.indices {
            let isNeighboured =
                index + 1 < leaving.endIndex && leaving[index + 1] + UInt32(unitFrames) == leaving[index]
            if isNeighboured { continue }
            chunks.giveBack(leaving[index], count: (index + 1 - last) * unitFrames)
            last = index + 1
        }
        returnedUnits.append(contentsOf: leaving)
        return true
    }

    private func sortFreeFrames() {
        if !freeIsSorted { freeFrames.sort(by: >) }
        freeIsSorted = true
    }

    /// The first frame of the unit whose last frame is at a place in the sorted list, when all of it is free.
    private func wholeUnit(at place: Int) -> UInt32? {
        let unit = freeFrames[place] - freeFrames[place] % UInt32(unitFrames)
        let end = place + unitFrames - 1
        return end < freeFrames.count && freeFrames[end] == unit ? unit : nil
    }

    /// Unhooks clean frames of units that are partly free, when no whole unit is left to be given back.
    ///
    /// - Returns: whether there were any.
    private func completeUnits() -> Bool {
        guard unitFrames > 1, limbo.isEmpty, mappedFrames > budgetFrames else { return false }
        sortFreeFrames()
        var unhooked: [UInt32] = []
        var last: UInt32?
        for frame in freeFrames {
            let unit = frame - frame % UInt32(unitFrames)
            if unit == last { continue }
            last = unit
            for neighbour in unit..<unit + UInt32(unitFrames) where cool(neighbour) || cool(neighbour) {
                unhooked.append(neighbour)
            }
            if unhooked.count >= batchFrames { break }
        }
        return retire(unhooked)
    }

    /// Unhooks a batch of clean frames that no operation has met since the clock came by last.
    ///
    /// - Returns: whether there was any clean frame to be seen.
    private func evictLocked(scan: Int) -> Bool {
        guard highWater > 0 else { return false }
        var unhooked: [UInt32] = []
        var hasClean = false
        for _ in 0..<min(scan, highWater * 2) {
            if unhooked.count == batchFrames { break }
            clockHand = clockHand + 1 >= highWater ? 0 : clockHand + 1
            let frame = chunks.frame(at: clockHand)
            if info(frame).pointee.load(ordering: .relaxed) & 0xff == State.clean.rawValue { hasClean = true }
            if cool(frame) { unhooked.append(frame) }
        }
        return retire(unhooked) || hasClean
    }

    /// Lets the readers of unhooked frames end before these are used again. False when there are none.
    private func retire(_ unhooked: [UInt32]) -> Bool {
        guard !unhooked.isEmpty else { return false }
        counters.evictions &+= UInt64(unhooked.count)
        limboCount += unhooked.count
        limbo.append(LimboBatch(epoch: Epochs.retire(), frames: unhooked))
        reclaimLimbo()
        return true
    }

    /// Marks a clean page as a candidate, or unhooks it when it already was one. True when it was unhooked.
    private func cool(_ index: UInt32) -> Bool {
        let word = info(index).pointee.load(ordering: .acquiring)
        guard word & 0xff == State.clean.rawValue else { return false }
        let slot = Int(word &>> 8)
        let entry = table[slot].load(ordering: .acquiring)
        guard entry & ~FrameStore.coolingBit == index &+ 1 else { return false }
        if entry & FrameStore.coolingBit == 0 {
            _ = table[slot].compareExchange(
                expected: entry, desired: entry | FrameStore.coolingBit, ordering: .acquiringAndReleasing)
            return false
        }
        // Claim the frame before it is unhooked: a writer that takes the slot over marks it dirty first.
        guard
            info(index).pointee.compareExchange(expected: word, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return false }
        // Model: unhook
        if table[slot].compareExchange(expected: entry, desired: 0, ordering: .acquiringAndReleasing).exchanged {
            return true
        }
        // A reader met the page meanwhile: it stays. A writer that took it over has said so in `info` already.
        _ = info(index).pointee.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing)
        return false
    }

    private func reclaimLimbo() {
        while let batch = limbo.first, Epochs.hasPassed(batch.epoch) {
            // Model: reuse
            freeFrames.append(contentsOf: batch.frames)
            freeIsSorted = false
            limboCount -= batch.frames.count
            limbo.removeFirst()
        }
    }
}
