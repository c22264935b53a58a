import Synchronization

/// The memory of the table: it grows with the file, and its empty blocks are given back.
///
/// A small cache of a large file has few pages in memory at a time, but a scan touches the entries of all, four bytes a
/// page. So what the table takes is counted by blocks, and blocks whose entries are all 0 again are given back.
extension FrameStore {
    /// Grows the table to cover the pages below `limit`, up to the largest table. The caller must hold the writer lock.
    func cover(below limit: UInt64) {
        guard limit > tableCount, tableCount < UInt64(PageTables.mostEntries) else { return }
        for lock in loadLocks { lock.lock() }
        lock.lock()
        tableLock.lock()
        defer {
            tableLock.unlock()
            lock.unlock()
            for lock in loadLocks { lock.unlock() }
        }
        guard let larger = tables.add(covering: min(limit, UInt64(PageTables.mostEntries))) else { return }
        var used = 0
        for position in 0..<highWater {
            let frame = chunks.frame(at: position)
            let word = info(frame).pointee.load(ordering: .acquiring)
            guard word & 0xff != State.free.rawValue, word &>> 8 < tableCount else { continue }
            let entry = table[Int(word &>> 8)].load(ordering: .acquiring)
            guard entry & ~FrameStore.coolingBit == frame &+ 1 else { continue }
            used += larger.use(Int(word &>> 8))
            larger.start[Int(word &>> 8)].store(entry, ordering: .relaxed)
        }
        marked = larger
        tableBytes.store(used, ordering: .relaxed)
        tableStart.store(larger.start, ordering: .releasing)
        covered.store(UInt64(larger.count), ordering: .releasing)
    }

    /// Sets the entry of a page that is not in memory.
    func set(_ slot: Int, to frame: UInt32) {
        tableLock.lock()
        defer { tableLock.unlock() }
        let used = marked.use(slot)
        if used > 0 { tableBytes.wrappingAdd(used, ordering: .relaxed) }
        marked.start[slot].store(frame &+ 1, ordering: .releasing)
    }

    /// Gives back the empty blocks of the table, if it has grown by a share of the budget since the last call.
    func returnTable() {
        guard tableBytes.load(ordering: .relaxed) > tableLimit.load(ordering: .relaxed) else { return }
        tableLock.lock()
        defer { tableLock.unlock() }
        tableBytes.wrappingSubtract(marked.returnBlocks(), ordering: .relaxed)
        noteTableLimit()
    }

    func noteTableLimit() {
        let share = wholeBudgetFrames * pageBytes / 32
        tableLimit.store(tableBytes.load(ordering: .relaxed) + share, ordering: .relaxed)
    }
}
