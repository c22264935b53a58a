/// Named values: the pages of large values are written before the commit, and the log only names them, so their bytes
/// are written once.
///
/// The pages must be durable before a frame that names them is in the log, so that recovery finds them intact. Recovery
/// first reserves all pages that the log names, so that it does not overwrite them itself. Freed pages of such a value
/// are not reused while a retained checkpoint is older than the removal, because the log after that checkpoint may name
/// them.
extension Writer {
    /// Puts a value that is long enough to be named. Returns false if the key exists and the mode is `insertOnly`.
    func putNamed<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: UnsafeRawBufferPointer, _ mode: PutMode
    ) throws(StorageError) -> ValueExtents? {
        try applyBufferedPuts(of: index)
        if mode == .insertOnly, try holds(layout, index, key) { return nil }
        let pages = try writeNamed(value, tree: trees[index].id)
        return try put(layout, index, key, pages, length: UInt64(value.count))
    }

    /// Writes the pages of a value, compressed if that saves a page.
    private func writeNamed(_ value: UnsafeRawBufferPointer, tree: UInt32) throws(StorageError) -> ExtentWriter {
        let plain = Int(ValueExtents.pageCount(of: UInt64(value.count)))
        let block = LZ4.compress(value, limit: (plain - 1) * Overflow.payloadBytes)
        let pages = ExtentWriter(self, tree: tree, bytes: block?.count ?? value.count)
        if let block {
            try block.withUnsafeBytes { bytes in result { () throws(StorageError) in try pages.append(bytes) } }.get()
        } else {
            try pages.append(value)
        }
        return pages
    }

    /// Writes a value with pages of its own, in a transaction that is not logged.
    func writeLarge(_ value: UnsafeRawBufferPointer, tree: UInt32) throws(StorageError) -> Overflow {
        guard value.count >= store.pipeline.namedValueBytes else { return try writeOverflow(value, tree: tree) }
        return try descriptor(of: writeNamed(value, tree: tree), length: UInt64(value.count), tree: tree)
    }

    /// Adopts written pages into the transaction, and returns their descriptor.
    func descriptor(of pages: ExtentWriter, length: UInt64? = nil, tree: UInt32) throws(StorageError) -> Overflow {
        let value = try finish(pages, length)
        pages.noteAdopted()
        for run in value.runs { adopt(run.pages) }
        return try descriptor(of: value, tree: tree)
    }

    private func finish(_ pages: ExtentWriter, _ length: UInt64?) throws(StorageError) -> ValueExtents {
        try store.use(.namedValues)
        let value = try pages.finish(length: length)
        store.pipeline.compression.noteValue(bytes: value.length, stored: value.stored)
        return value
    }

    private func descriptor(of value: ValueExtents, tree: UInt32) throws(StorageError) -> Overflow {
        if let single = value.descriptor { return single }
        return try writeList(value, tree: tree)
    }

    func holds<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key) throws(StorageError) -> Bool
    {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return try frames.find(layout, trees[index], key) != nil
    }

    /// Puts a value whose pages are written.
    func put<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ pages: ExtentWriter, length: UInt64? = nil
    ) throws(StorageError) -> ValueExtents {
        let value = try finish(pages, length)
        try put(layout, index, key, runs: value, whenAdopted: { pages.noteAdopted() })
        return value
    }

    /// Puts a value on these pages, which the transaction adopts.
    func put<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, runs value: ValueExtents, whenAdopted: () -> Void = {}
    ) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try applyBufferedPuts(of: index)
        whenAdopted()
        for run in value.runs { adopt(run.pages) }
        try enter(layout, index, key, value)
    }

    /// Frees the pages of a record's value, if it has any.
    func freeValue(_ record: RecordView) throws(StorageError) {
        guard record.isOverflow, !isMovingValue else { return }
        let overflow = try view.overflow(record)
        if overflow.isList {
            for run in try overflow.runs(from: frames).runs { free(run, isNamed: true) }
        }
        // A longer value may be named too; its record does not tell, so assume it.
        free(
            ValueExtents.Extent(
                page: overflow.firstPage, writeID: overflow.firstWriteID,
                count: overflow.pageCount),
            isNamed: !overflow.isList && overflow.length >= store.pipeline.namedValueBytes)
    }

    // MARK: Relocation

    /// Moves the runs of a value that end beyond `limit` to lower pages, if there is free space.
    ///
    /// - Returns: the number of moved pages, plus one for the entry; 0 if nothing was moved.
    func moveRuns<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, of old: Overflow, beyond limit: UInt64
    ) throws(StorageError) -> Int {
        var value = try old.runs(from: frames)
        var moved: [(old: ValueExtents.Extent, new: ValueExtents.Extent, pages: ExtentWriter)] = []
        for (place, run) in value.runs.enumerated()
        where run.pages.upperBound > limit && store.versions.hasRun(of: run.count, below: run.page) {
            let pages = ExtentWriter(self, tree: trees[index].id, bytes: run.count * Overflow.payloadBytes)
            try pages.append(copyOf: run)
            let new = try pages.finish().runs[0]
            value.runs[place] = new
            moved.append((run, new, pages))
        }
        let movesList =
            old.isList && old.firstPage + UInt64(old.pageCount) > limit
            && store.versions.hasRun(of: old.pageCount, below: old.firstPage)
        guard !moved.isEmpty || movesList else { return 0 }
        isMovingValue = true
        defer { isMovingValue = false }
        for (run, new, pages) in moved {
            free(run, isNamed: true)
            pages.noteAdopted()
            adopt(new.pages)
        }
        if old.isList { free(ValueExtents(old).runs[0], isNamed: false) }
        try enter(layout, index, key, value)
        return moved.reduce(1) { $0 + $1.old.count }
    }

    private func enter<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: ValueExtents
    ) throws(StorageError) {
        let descriptor: Overflow
        do throws(StorageError) { descriptor = try self.descriptor(of: value, tree: trees[index].id) } catch {
            throw fail(error)
        }
        try enter(layout, index, key, descriptor)
    }

    // MARK: Recovery

    /// Puts a value that a logged commit names, after its pages were checked.
    func replay<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, runs value: ValueExtents
    ) throws(StorageError) {
        for run in value.runs where !reserved.contains(run) {
            // A read-only store may read frames that did not exist when it reserved pages, so its own pages may overlap
            // them. It must then start again from a later checkpoint.
            guard store.options.readOnly, try store.reserve(run) else {
                throw .invalidArgument("pages are named for two values")
            }
        }
        guard try ExtentReader(value, of: frames).checkDigest() else {
            throw .corrupted(
                page: value.runs[0].page, reason: "the value on it and on those after it is not the one logged")
        }
        reserved.subtract(value.runs)
        try put(layout, index, key, runs: value)
    }
}

extension Store {
    /// Reserves the pages that the log names, so that replay does not write to them.
    func reserveNamedPages(_ opening: Opening) throws(StorageError) -> Set<ValueExtents.Extent> {
        var reserved = Set<ValueExtents.Extent>()
        guard dataFile.header.features.contains(.namedValues) else {
            return reserved
        }
        let tail = try opening.replay { (operations, commit) throws(StorageError) in
            var reader = OperationReader(operations)
            while let step = (try? reader.next()) ?? nil {
                guard case .putRuns(_, _, let value) = step else { continue }
                for run in value.runs {
                    guard try reserve(run) else {
                        throw .logDamaged(
                            path: path, reason: "commit \(commit) names page \(run.page) for a value, which cannot be")
                    }
                    reserved.insert(run)
                }
            }
        }
        // A read-only store has read the tail already, and continues with it.
        if opening.readTail == nil { for segment in tail.segments { segment.file.close() } }
        return reserved
    }

    /// Reserves the pages of a run. Returns false if it cannot be where the log says.
    func reserve(_ run: ValueExtents.Extent) throws(StorageError) -> Bool {
        let filePages = try storage { () throws(FileError) in try dataFile.file.size() } / UInt64(pageBytes)
        guard run.pages.upperBound <= filePages else { return false }
        return versions.lock.withLock { versions.space.reserve(run.pages) }
    }
}
