import CPlatform

// The pages that a transaction takes, changes and gives up.
//
// A page is the transaction's own when it took it since its latest savepoint: no snapshot, no checkpoint and no savepoint can see it, and
// nothing durable refers to it. Therefore its place may be written again before the commit, each time under another serial: after the device
// got it, the next change gives it a serial that it never had (`renew`), and a place that was given up goes back to the space map between two
// changes (`returnDeadPages`). Both writes are this thread's, one after the other, and the sync of the commit is behind the last of them.
extension Writer {
    /// Fewer places than these are not worth looking for.
    static var leastReturn: Int { 64 }

    /// A fresh page that only this transaction sees.
    func allocate(_ type: PageType, level: Int, tree: UInt32) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = takeNumber()
        let frame = try frames.makeDirty(page: number)
        // What the frame held before must not reach the file.
        memset(frame, 0, pageBytes)
        Page(frame).format(page: number, type: type, level: level, serial: try store.takeSerial(), tree: tree)
        return frame
    }

    /// Consecutive pages with consecutive serials, for a value of its own.
    func allocateRun(_ count: Int) throws(StorageError) -> (page: UInt64, serial: UInt64) {
        let serial = try store.takeSerials(count)
        if count > 1 { returnUnusedNumbers() }
        let first = store.versions.allocateRun(count)
        for index in 0..<count {
            allocated.append(first + UInt64(index))
            noteUnwritten(first + UInt64(index))
        }
        return (first, serial)
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

    /// Gives back the numbers fetched ahead, so that what is written now does not come to stand behind them.
    func returnUnusedNumbers() {
        store.versions.giveBack(lists.pages)
        lists.pages = []
    }

    /// Takes over pages that were written already.
    func adopt(_ pages: Range<UInt64>) {
        namesPages = true
        for page in pages { allocated.append(page) }
    }

    // MARK: Changing

    @inline(__always)
    func isEditable(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).serial >= floor && (!hasSpilled || frames.isDirty(page))
    }

    /// A page that may be changed, in the place of one that may not: the same under another serial when it is the transaction's own, else a copy
    /// under another number. The parent must refer to it.
    func replaceable(_ page: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeMutableRawPointer {
        if Page(page).serial >= floor { return try renew(page) }
        return try copy(page)
    }

    /// A page of its own that the device has: what is written there next is another page. The caller is inside an operation epoch.
    private func renew(_ page: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = Page(page).number
        let serial = try store.takeSerial()
        let frame = try frames.makeDirty(page: number)
        // The evictor may have unhooked the frame, which stays as it is until this operation is over.
        if frame != page { memcpy(frame, page, pageBytes) }
        Page(frame).serial = serial
        noteUnwritten(number)
        // References to it from before are no good.
        noteShape()
        return frame
    }

    /// A copy of a page under a new number and serial; the old one is dead.
    private func copy(_ page: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = takeNumber()
        let frame = try frames.makeDirty(page: number)
        memcpy(frame, page, pageBytes)
        let view = Page(frame)
        noteDead(page)
        view.identity = view.identity & ~0xff_ffff_ffff | number
        view.serial = try store.takeSerial()
        return frame
    }

    // MARK: Giving up

    func free(_ page: UnsafeMutableRawPointer) {
        noteShape()
        noteDead(page)
    }

    private func noteDead(_ page: UnsafeMutableRawPointer) {
        note(.init(page: Page(page).number, birth: Page(page).serial))
    }

    /// - Parameter isNamed: a frame of the log may name them.
    func free(_ run: ValueRuns.Run, isNamed: Bool) {
        // What this transaction has recorded itself may name them, too.
        let waits = isNamed && (isRecording || run.serial < floor)
        for index in 0..<max(0, run.count) {
            let page = SpaceMap.DeadPage(page: run.page + UInt64(index), birth: run.serial + UInt64(index))
            if waits { lists.named.append(page) } else { note(page) }
        }
    }

    private func note(_ page: SpaceMap.DeadPage) {
        guard page.birth >= floor else { return freed.append(page) }
        lists.dead.append(page)
        if lists.dead.count >= returnSize { isTidyDue = true }
    }

    /// Gives back the places of pages that the transaction took and gave up since its latest savepoint, when there are enough of them to be worth
    /// looking for. Between changes only: a change may still look at what it gave up.
    ///
    /// - Parameter always: also when there are few.
    func returnDeadPages(always: Bool = false) {
        let (kept, first) = openMarks.last.map { ($0.dead, $0.allocated) } ?? (0, 0)
        let limit = always ? 1 : max(Writer.leastReturn, (allocated.count - first) / 8)
        defer { noteReturnSize() }
        guard lists.dead.count - kept >= limit else { return }
        store.versions.giveBack(lists.takeOwn(dead: kept, allocated: first))
        noteShape()
    }

    /// Determines when to look again for places to be given back.
    func noteReturnSize() {
        let (kept, first) = openMarks.last.map { ($0.dead, $0.allocated) } ?? (0, 0)
        returnSize = kept + max(Writer.leastReturn, (allocated.count - first) / 8)
    }
}
