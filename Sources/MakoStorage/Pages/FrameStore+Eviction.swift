/// Allocation and eviction of frames.
///
/// Free frames are taken from the front of the chunks and given back to the system from their end, in units: the frames
/// of one system page, all of them free. Over the budget, the evictor first unhooks the frames that the clock algorithm
/// selects, then the clean neighbours of free frames, so that units become complete. A dirty frame keeps its unit in
/// memory until the checkpoint has written it; a frame that an operation may be reading, until that operation has
/// ended.
extension FrameStore {
    /// The largest number of frames given back at once; in the worst case each unit is one system call.
    private static let framesPerReturn = 256

    var dirtyFrames: Int { dirty.load(ordering: .relaxed) }
    /// The number of frames that hold pages, and of those that take memory, unhooked frames that are not yet reused
    /// included.
    var frameCounts: (used: Int, mapped: Int) { lock.withLock { (usedFrames, mappedFrames) } }
    var currentCounters: Counters { lock.withLock { counters } }

    /// Whether a new page must replace another.
    var isFull: Bool { lock.withLock { usedFrames + batchFrames > budgetFrames } }

    private var mappedFrames: Int { highWater - returnedUnits.count * unitFrames }
    private var usedFrames: Int { mappedFrames - freeFrames.count - limboCount }

    func takeFrame() throws(StorageError) -> UInt32 {
        let (frame, isOverBudget) = try lock.withLock { () throws(StorageError) in
            let before = counters.overBudget
            return (try takeFrameLocked(), counters.overBudget != before)
        }
        // Without the lock, which the new thread takes.
        if isOverBudget { onOverBudget?() }
        return frame
    }

    private func takeFrameLocked() throws(StorageError) -> UInt32 {
        counters.loads &+= 1
        // Reclaim early: a frame that is unhooked now is free only after all running operations, this one included,
        // have ended.
        if !limbo.isEmpty && freeFrames.count < batchFrames { reclaimLimbo() }
        // While a thread stays inside an operation, unhooking more frames frees none.
        if usedFrames + batchFrames > budgetFrames,
            limboCount <= max(128, budgetFrames / 4)
        {
            if scansToSkip > 0 {
                scansToSkip -= 1
            } else if !evictLocked(scan: 512) {
                // Only dirty pages were found: skip the next scans.
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

    /// Gives memory over the budget back to the system, as far as its pages are clean and no operation reads them. May
    /// leave a few pages over the budget.
    func evictToBudget() {
        returnTable()
        let counts = frameCounts
        guard counts.mapped > budgetFrames + budgetFrames / 128 else { return }
        // Bound the rounds, because readers may load pages as fast as they are evicted; the background thread
        // continues.
        var rounds = counts.mapped / 8 + 64
        while rounds > 0, evictionStep() { rounds -= 1 }
    }

    /// One round of the evictor: reclaims frames that no operation reads any more, then advances the clock. When the
    /// frames in use fit the budget again, gives free frames beyond it back to the system.
    ///
    /// - Returns: whether there is more to do.
    func evictionStep() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard mappedFrames > budgetFrames else { return false }
        let before = freeFrames.count + limboCount
        reclaimLimbo()
        var sawClean = false
        // Frames that wait for readers will be free soon, so no others are unhooked for them.
        if usedFrames > budgetFrames { sawClean = evictLocked(scan: 1024) }
        if freeFrames.count + limboCount != before || returnFrames() || completeUnits() {
            idleRounds = 0
            return true
        }
        // The first pass of the clock only marks a frame as cooling; frames in constant use stay.
        guard sawClean, idleRounds < 2 * highWater / 1024 + 2 else {
            idleRounds = 0
            return false
        }
        idleRounds += 1
        return true
    }

    /// Gives the memory of free frames beyond the budget back to the system. Returns false if no unit is completely
    /// free.
    private func returnFrames() -> Bool {
        let most = min(mappedFrames - budgetFrames, FrameStore.framesPerReturn)
        guard most > 0, freeFrames.count >= unitFrames else { return false }
        sortFreeFrames()
        // Take the frames with the highest numbers, because they are neighbours: few system calls, and whole huge
        // pages.
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

    /// Returns the first frame of the unit whose last frame is at a position of the sorted list, if the whole unit is
    /// free.
    private func wholeUnit(at place: Int) -> UInt32? {
        let unit = freeFrames[place] - freeFrames[place] % UInt32(unitFrames)
        let end = place + unitFrames - 1
        return end < freeFrames.count && freeFrames[end] == unit ? unit : nil
    }

    /// Unhooks the clean frames of partly free units, when no complete unit is left.
    ///
    /// - Returns: whether any were unhooked.
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

    /// Unhooks a batch of clean frames that no operation has used since the clock last passed them.
    ///
    /// - Returns: whether there was a clean frame.
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

    /// Queues unhooked frames until no operation can be reading them. Returns false if there are none.
    private func retire(_ unhooked: [UInt32]) -> Bool {
        guard !unhooked.isEmpty else { return false }
        counters.evictions &+= UInt64(unhooked.count)
        limboCount += unhooked.count
        limbo.append(LimboBatch(epoch: Epochs.retire(), frames: unhooked))
        reclaimLimbo()
        return true
    }

    /// Marks a clean frame as cooling, or unhooks it if it was cooling already. Returns whether it was unhooked.
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
        // Claim the frame before it is unhooked, because a writer that takes the slot over marks the frame dirty first.
        guard
            info(index).pointee.compareExchange(expected: word, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return false }
        // Model: unhook
        if table[slot].compareExchange(expected: entry, desired: 0, ordering: .acquiringAndReleasing).exchanged {
            return true
        }
        // A reader has used the page meanwhile, so it stays. If a writer has taken the frame over, `info` says so
        // already.
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
