import Synchronization

/// Reading pages, from memory or from the file.
extension FrameStore {
    /// Returns the page of a reference; loads and checks it if it is not in memory.
    ///
    /// - Throws: ``StorageError/corrupted(page:reason:)`` when the page's type, level or write id is not the expected
    ///   one.
    @inline(__always)
    func resolve(_ reference: PageReference, type: PageType, level: Int) throws(StorageError) -> Page {
        let number = reference.page
        guard number < tableCount else { throw beyondTheTable(number) }
        // Model: lookUp
        let entry = table[Int(truncatingIfNeeded: number)].load(ordering: .acquiring)
        let frame: UnsafeMutableRawPointer
        if Int32(bitPattern: entry) > 0 {
            frame = base + Int(entry &- 1) &<< 12
        } else {
            frame = try load(reference)
        }
        // Model: use
        let page = Page(frame)
        if page.identity != Page.identity(page: number, type: type, level: level)
            || page.writeID & 0xff_ffff != reference.tag
        {
            throw misplaced(page, reference, type, level)
        }
        return page
    }

    /// Returns the frame of a page in memory. Does not check its contents, which may belong to another page by now.
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
        if page.writeID & 0xff_ffff != reference.tag {
            return .corrupted(
                page: reference.page, reason: "its write id is not the one its parent knows (a stale page)")
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
            if Page(frame).writeID & 0xff_ffff != reference.tag {
                throw StorageError.corrupted(
                    page: number, reason: "its write id is not the one its parent knows (a lost or stale write)")
            }
            try PageCheck.validate(frame)
        } catch {
            giveBack(index)
            throw explained(error)
        }
        assert(
            Page(frame).number == number && Page(frame).writeID & 0xff_ffff == reference.tag,
            "invariant 10: only the page of the reference is shown to readers")
        info(index).pointee.store(number &<< 8 | State.clean.rawValue, ordering: .releasing)
        set(slot, to: index)
        return frame
    }

    /// Reads a page that a thread waits for, and measures a sample of these reads.
    private func readAwaited(_ number: UInt64, into frame: UnsafeMutableRawPointer, _ index: UInt32)
        throws(StorageError)
    {
        guard isMeasured(frame: index) else { return try readPage(number, into: frame) }
        let began = ContinuousClock.now
        try readPage(number, into: frame)
        noteRead(began.duration(to: .now))
    }

    /// Replaces a corruption error after a failed sync, because the failed sync caused it and the log still has the
    /// data.
    private func explained(_ error: StorageError) -> StorageError {
        guard case .corrupted(let page, _) = error, hasLostWrites.load(ordering: .relaxed) else { return error }
        return .readOnly(
            reason: "page \(page) was given up by the system when a sync failed; reopen the database, whose log has it")
    }

    /// Reads a page from the file and checks its checksum and page id, not its inner bounds.
    func readPage(_ number: UInt64, into frame: UnsafeMutableRawPointer) throws(StorageError) {
        try FrameStore.readPage(number, of: file, codec, into: frame)
    }

    static func readPage(
        _ number: UInt64, of file: any File, _ codec: PageCodec, into frame: UnsafeMutableRawPointer
    ) throws(StorageError) {
        try readStored(number, of: file, into: frame)
        try open(number, at: frame, codec)
    }

    /// Reads a page from the file without checks.
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
        guard codec.open(frame, number: number) else {
            throw .corrupted(page: number, reason: codec.finding)
        }
        guard Page(frame).number == number else {
            throw .corrupted(page: number, reason: "it says it is page \(Page(frame).number) (a misdirected write)")
        }
    }

    /// Returns a leaf for a single look. If it is not in memory, reads it into `scratch`, so that no other page is
    /// evicted.
    func peek(_ reference: PageReference, type: PageType, scratch: Page) throws(StorageError) -> Page {
        let number = reference.page
        guard number < tableCount, table[Int(number)].load(ordering: .acquiring) == 0 else {
            return try resolve(reference, type: type, level: 0)
        }
        try readPage(number, into: scratch.base)
        guard scratch.identity == Page.identity(page: number, type: type, level: 0),
            scratch.writeID & 0xff_ffff == reference.tag
        else { throw misplaced(scratch, reference, type, 0) }
        try PageCheck.validate(scratch.base)
        return scratch
    }

    /// Copies a page in its file format, checked: sealed from memory if it is dirty, else from the file.
    ///
    /// - Parameter scratch: memory for one page.
    /// - Returns: its write id.
    func copySealedPage(
        _ number: UInt64, to buffer: UnsafeMutableRawPointer, scratch: UnsafeMutableRawPointer
    ) throws(StorageError) -> UInt64 {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if let frame = dirtyFrame(page: number) {
            buffer.copyMemory(from: frame, byteCount: pageBytes)
            let writeID = Page(buffer).writeID
            codec.seal(buffer, number: number)
            return writeID
        }
        try FrameStore.readStored(number, of: file, into: buffer)
        scratch.copyMemory(from: buffer, byteCount: pageBytes)
        try FrameStore.open(number, at: scratch, codec)
        return Page(scratch).writeID
    }

    /// Copies a page in its memory format.
    func copyPage(_ number: UInt64, to buffer: UnsafeMutableRawPointer) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if let frame = dirtyFrame(page: number) {
            buffer.copyMemory(from: frame, byteCount: pageBytes)
        } else {
            try readPage(number, into: buffer)
        }
    }

    /// Reads pages of a value with consecutive page ids and write ids, bypassing the cache except for dirty pages.
    func readRun(_ first: UInt64, writeID: UInt64, count: Int, into buffer: UnsafeMutableRawPointer)
        throws(StorageError)
    {
        do throws(StorageError) { try readPages(first, writeID, count, into: buffer) } catch { throw explained(error) }
    }

    private func readPages(
        _ first: UInt64, _ writeID: UInt64, _ count: Int, into buffer: UnsafeMutableRawPointer
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
                Page(page).writeID == writeID &+ UInt64(index)
            else {
                throw .corrupted(page: number, reason: "it is not the page of a value that its entry knows")
            }
        }
    }

    private func beyondTheTable(_ number: UInt64) -> StorageError {
        .corrupted(
            page: number,
            reason: number < UInt64(PageTables.mostEntries)
                ? "the file ends before it (cut short, or a lost write)" : "beyond the largest file")
    }
}
