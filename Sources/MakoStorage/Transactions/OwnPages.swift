import CPlatform

// The pages that a transaction allocates, changes and frees.
//
// A page is the transaction's own if it allocated the page since its latest savepoint: no snapshot, checkpoint or
// savepoint can see it, and nothing durable refers to it. So its place in the file may be written repeatedly before the
// commit, each time with another write id: after a write, the next change gives the page a new write id (`renew`), and
// freed places return to the space map between two changes (`returnDeadPages`). This thread makes all these writes in
// order, and the sync of the commit follows the last of them.
extension Writer {
    /// The number of freed places below which none are returned.
    static var leastReturn: Int { 64 }

    /// Allocates a page that only this transaction sees.
    func allocate(_ type: PageType, level: Int, tree: UInt32) throws(StorageError) -> Page {
        let number = takeNumber()
        let page = Page(try frames.makeDirty(page: number))
        // Clear the frame, because its old contents must not reach the file.
        memset(page.base, 0, pageBytes)
        page.format(page: number, type: type, level: level, writeID: try store.takeWriteID(), tree: tree)
        return page
    }

    /// Allocates consecutive pages with consecutive write ids for a value.
    func allocateRun(_ count: Int) throws(StorageError) -> (page: UInt64, writeID: UInt64) {
        let writeID = try store.takeWriteIDs(count)
        if count > 1 { returnUnusedNumbers() }
        let first = store.versions.allocateRun(count)
        for index in 0..<count {
            allocated.append(first + UInt64(index))
            noteUnwritten(first + UInt64(index))
        }
        return (first, writeID)
    }

    private func takeNumber() -> UInt64 {
        if lists.pages.isEmpty { store.versions.allocatePages(allocated.isEmpty ? 16 : 64, to: &lists.pages) }
        let number = lists.pages.removeLast()
        allocated.append(number)
        noteUnwritten(number)
        return number
    }

    @inline(__always)
    private func noteUnwritten(_ number: UInt64) {
        lists.unwritten.append(number)
        if lists.unwritten.count >= spillSize { isTidyDue = true }
    }

    /// Returns the page ids taken ahead, so that the pages allocated next are not placed behind them.
    func returnUnusedNumbers() {
        store.versions.giveBack(lists.pages)
        lists.pages = []
    }

    /// Adopts pages that were written already.
    func adopt(_ pages: Range<UInt64>) {
        namesPages = true
        for page in pages { allocated.append(page) }
    }

    // MARK: Changing

    @inline(__always)
    func isEditable(_ page: Page) -> Bool {
        assert(floor > base.point, "invariant 1: a page of an earlier commit is not changed in place")
        return page.writeID >= floor && (!hasSpilled || frames.isDirty(page))
    }

    /// Returns a page that may be changed in place of one that must not: the same page with another write id if it is the
    /// transaction's own, else a copy with another page id. The parent must refer to it afterwards.
    func replaceable(_ page: Page) throws(StorageError) -> Page {
        if page.writeID >= floor { return try renew(page) }
        return try copy(page)
    }

    /// Gives an own page that was written a new write id, so that the next write is distinguishable. The caller must be
    /// inside an operation epoch.
    private func renew(_ page: Page) throws(StorageError) -> Page {
        let number = page.number
        let writeID = try store.takeWriteID()
        let frame = Page(try frames.makeDirty(page: number))
        // If the evictor has unhooked the frame, its contents stay until this operation ends.
        if frame.base != page.base { memcpy(frame.base, page.base, pageBytes) }
        frame.writeID = writeID
        noteUnwritten(number)
        // References with the old write id are invalid now.
        noteShape()
        return frame
    }

    /// Copies a page to a new page id and write id; the old page is freed.
    private func copy(_ page: Page) throws(StorageError) -> Page {
        let number = takeNumber()
        let copy = Page(try frames.makeDirty(page: number))
        memcpy(copy.base, page.base, pageBytes)
        noteDead(page)
        copy.identity = copy.identity & ~0xff_ffff_ffff | number
        copy.writeID = try store.takeWriteID()
        return copy
    }

    // MARK: Freeing

    func free(_ page: Page) {
        noteShape()
        noteDead(page)
    }

    private func noteDead(_ page: Page) {
        note(.init(page: page.number, bornAt: page.writeID))
    }

    /// - Parameter isNamed: whether a frame of the log may name the pages.
    func free(_ run: ValueExtents.Extent, isNamed: Bool) {
        // A frame of this transaction itself may name them too.
        let waits = isNamed && (isRecording || run.writeID < floor)
        for index in 0..<max(0, run.count) {
            let page = SpaceMap.DeadPage(page: run.page + UInt64(index), bornAt: run.writeID + UInt64(index))
            if waits { lists.named.append(page) } else { note(page) }
        }
    }

    private func note(_ page: SpaceMap.DeadPage) {
        guard page.bornAt >= floor else { return freed.append(page) }
        lists.dead.append(page)
        if lists.dead.count >= returnSize { isTidyDue = true }
    }

    /// Returns the places of pages that the transaction allocated and freed since its latest savepoint, if there are
    /// enough of them. Between changes only, because a change may still read pages that it freed.
    ///
    /// - Parameter always: whether to return few pages too.
    func returnDeadPages(always: Bool = false) {
        let (kept, first) = openMarks.last.map { ($0.dead, $0.allocated) } ?? (0, 0)
        let limit = always ? 1 : max(Writer.leastReturn, (allocated.count - first) / 8)
        defer { noteReturnSize() }
        guard lists.dead.count - kept >= limit else { return }
        store.versions.giveBack(lists.takeOwn(dead: kept, allocated: first))
        noteShape()
    }

    /// Computes the number of freed pages at which to return places again.
    func noteReturnSize() {
        let (kept, first) = openMarks.last.map { ($0.dead, $0.allocated) } ?? (0, 0)
        returnSize = kept + max(Writer.leastReturn, (allocated.count - first) / 8)
    }
}
