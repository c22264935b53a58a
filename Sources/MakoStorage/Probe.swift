/// Doors through which tests hand single parts of the engine bytes that the way through a file would never let them have.
///
/// Whatever the bytes: a typed error, or an answer that keeps the promises named here. Where one is broken the answer says so.
package enum Probe {
    /// Takes a page: when its check lets it pass, every search, read and change of it stays inside, and the changed page passes again; a
    /// header block or meta that is accepted, written again, reads as the same.
    ///
    /// - Parameter bytes: the page, cut or filled up with zeros to its size.
    /// - Returns: what is wrong with Mako; nil for nothing.
    package static func page(_ bytes: [UInt8], key: UInt64, word: [UInt8]) -> String? {
        withUnsafeTemporaryAllocation(byteCount: pageBytes * 2, alignment: 16) { memory in
            guard let page = memory.baseAddress else { return nil }
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory.copyBytes(from: bytes.prefix(pageBytes))
            let scratch = page + pageBytes
            let type = PageType(rawValue: Page(page).type)
            if type == .header { return header(page, scratch) }
            if type == .meta { return meta(page, scratch) }
            do throws(StorageError) { try PageCheck.validate(page) } catch { return nil }
            return word.withUnsafeBytes { word in
                let word = lendable(UnsafeRawBufferPointer(rebasing: word.prefix(Limits.keyBytes)))
                switch type {
                case .integerLeaf: return leaf(IntegerLayout.self, page, key, word, scratch)
                case .byteLeaf where isBetweenFences(page, word):
                    return leaf(ByteLayout.self, page, word, word, scratch)
                case .integerInner: return inner(IntegerLayout.self, page, key)
                case .byteInner where isBetweenFences(page, word): return inner(ByteLayout.self, page, word)
                default: return nil
                }
            }
        }
    }

    private static func header(_ page: UnsafeMutableRawPointer, _ scratch: UnsafeMutableRawPointer) -> String? {
        PageCodec.header.seal(page, number: 0)
        guard case .good(let header) = FileHeader.read(page, copy: 0) else { return nil }
        header.write(to: scratch, copy: 1)
        guard case .good(header) = FileHeader.read(scratch, copy: 1) else {
            return "what was written of a header block reads as something else"
        }
        return nil
    }

    private static func meta(_ page: UnsafeMutableRawPointer, _ scratch: UnsafeMutableRawPointer) -> String? {
        guard let meta = Meta(page) else { return nil }
        meta.write(to: scratch, copy: 0, .header)
        guard Meta(scratch) == meta else { return "what was written of a meta reads as something else" }
        return nil
    }

    /// A descent hands a node only keys that its fences admit.
    private static func isBetweenFences(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Bool {
        guard ByteNode.compare(ByteNode.lower(page), key) <= 0 else { return false }
        guard let upper = ByteNode.upper(page) else { return true }
        return ByteNode.compare(key, upper) < 0
    }

    private static func leaf<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ key: Layout.Key, _ value: KeyBytes,
        _ scratch: UnsafeMutableRawPointer
    ) -> String? {
        for slot in 0..<Page(page).count { touch(Layout.record(page, slot)) }
        guard let start = value.baseAddress else { return nil }
        let record = RecordView(bytes: start, count: value.count, isOverflow: false)
        var (slot, isThere) = Layout.find(page, key)
        if isThere, Layout.replace(page, at: slot, record, scratch: scratch), let broken = check(page, "replace") {
            return broken
        }
        (slot, isThere) = Layout.find(page, key)
        if !isThere, Layout.fits(page, key, valueBytes: record.count) {
            Layout.insert(page, at: slot, key, record, scratch: scratch)
            if let broken = check(page, "insert") { return broken }
        }
        // A check looks at all entries: after each of the removals it would cost the square of them.
        while Page(page).count > 0 {
            Layout.remove(page, at: Page(page).count / 2)
            let count = Page(page).count
            if count & (count - 1) == 0, let broken = check(page, "remove") { return broken }
        }
        return nil
    }

    private static func inner<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ key: Layout.Key
    ) -> String? {
        let slot = Layout.childSlot(page, key)
        guard (0..<Page(page).count).contains(slot) else { return "child \(slot) of \(Page(page).count)" }
        _ = Layout.child(page, at: slot)
        _ = Layout.likelyOffset(of: key, inChildAt: slot, of: page)
        if Layout.hasCounts(page) { for slot in 0..<Page(page).count { _ = Layout.count(page, at: slot) } }
        return nil
    }

    private static func check(_ page: UnsafeMutableRawPointer, _ change: String) -> String? {
        do throws(StorageError) { try PageCheck.validate(page) } catch { return "after \(change): \(error)" }
        return nil
    }

    private static func touch(_ record: RecordView) {
        var sum: UInt8 = 0
        for byte in UnsafeRawBufferPointer(start: record.bytes, count: record.count) { sum &+= byte }
        withExtendedLifetime(sum) {}
    }

    /// Writes values to pages of their own, which no tree refers to, for ``operations(_:naming:in:)``.
    ///
    /// - Returns: the lists of their runs, as operations name them.
    package static func namedValues(_ values: [[UInt8]], in store: Store) throws(StorageError) -> [[UInt8]] {
        let transaction = try store.beginWrite()
        var lists: [[UInt8]] = []
        var writers: [RunWriter] = []
        for value in values {
            let block = value.withUnsafeBytes { LZ4.compress($0, limit: value.count / 2) }
            let bytes = block ?? value
            let writer = RunWriter(transaction.writer, tree: 1, bytes: bytes.count)
            try bytes.withUnsafeBytes { bytes in result { () throws(StorageError) in try writer.append(bytes) } }.get()
            lists.append(try writer.finish(length: UInt64(value.count)).encoded())
            writers.append(writer)
        }
        return lists
    }

    /// Takes the payload of a logged commit and applies it to a transaction, as recovery does.
    ///
    /// - Parameter lists: of values whose pages were written before, and which the operations may name.
    package static func operations(
        _ bytes: [UInt8], naming lists: [[UInt8]] = [], in transaction: borrowing WriteTransaction
    ) throws(StorageError) {
        let store = transaction.store
        let runs = lists.compactMap { $0.withUnsafeBytes { ValueRuns($0) } }.flatMap(\.runs)
        transaction.writer.reserved = Set(runs)
        store.spaceLock.withLock {
            // Those that the transaction before took were given back with it.
            store.space.settle()
            for run in runs { _ = store.space.reserve(run.pages) }
        }
        let outcome: Result<Void, StorageError> = bytes.withUnsafeBytes { bytes in
            result { () throws(StorageError) in
                try transaction.writer.replay(bytes, commit: 1, path: "probe")
            }
        }
        try outcome.get()
    }

    /// Gives a page of a file the checksum of what it holds.
    ///
    /// - Parameter header: the file's first page.
    package static func seal(page: inout [UInt8], number: Int, header: [UInt8]) {
        guard page.count == pageBytes, header.count == pageBytes else { return }
        var seed: UInt64 = 0
        header.withUnsafeBytes { bytes in
            if number >= 2, let base = bytes.baseAddress, case .good(let header) = FileHeader.read(base, copy: 0) {
                seed = header.id.seed
            }
        }
        page.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { Page.seal(base, page: UInt64(number), seed: seed) }
        }
    }

    /// Gives a log segment's header and all frames in its bytes the checksums of what they hold, so that the chain goes on through them.
    package static func seal(log file: inout [UInt8]) {
        file.withUnsafeMutableBytes { bytes in
            let block = SegmentHeader.blockBytes
            guard let base = bytes.baseAddress, bytes.count > block else { return }
            base.storeBytes(of: Checksum.hash(base + 8, count: SegmentHeader.bytes - 8, seed: 0), as: UInt64.self)
            let salt = base.load(fromByteOffset: 40, as: UInt64.self)
            var chain = base.load(fromByteOffset: 56, as: UInt64.self)
            var place = block
            while place + LogFrame.headerBytes <= bytes.count {
                let frame = base + place
                let stored = Int(frame.load(as: UInt32.self))
                let lsn = frame.load(fromByteOffset: 8, as: UInt64.self)
                guard lsn != 0, place + LogFrame.headerBytes + stored <= bytes.count else {
                    place = (place / block + 1) * block
                    continue
                }
                let check = Checksum.hash(frame, count: LogFrame.checkedBytes, seed: salt)
                chain = LogFrame.chain(
                    payload: frame + LogFrame.headerBytes, count: stored, check: check, after: chain)
                frame.storeBytes(of: check, toByteOffset: 40, as: UInt64.self)
                frame.storeBytes(of: chain, toByteOffset: 48, as: UInt64.self)
                place += LogFrame.bytes(payload: stored)
            }
        }
    }

    /// Takes any bytes as a checkpoint's directory; an accepted one is written again and must read as the same.
    package static func directory(_ bytes: [UInt8], regions: Int) -> String? {
        guard let directory = Directory(bytes, regions: regions) else { return nil }
        let written = directory.encoded()
        guard let again = Directory(written, regions: regions) else { return "what was written cannot be read" }
        let names = directory.names.all
        let areSame = again.trees.elementsEqual(directory.trees) {
            $0.id == $1.id && $0.kind == $1.kind && $0.levels == $1.levels && $0.root.raw == $1.root.raw
                && $0.count == $1.count
        }
        guard areSame, again.regions == directory.regions, again.names.all == names else {
            return "what was written reads as something else"
        }
        guard written.count == Directory.encodedBytes(regions: regions, names: directory.names) else {
            return "the directory has another length than was reckoned with"
        }
        return nil
    }
}
