/// What recovery found and did at the opening of a store.
public struct RecoveryReport: Sendable, Hashable, Codable {
    /// The damaged copies and checkpoints that were skipped.
    public internal(set) var findings: [String]
    /// The number of commits replayed from the log.
    public internal(set) var replayedCommits = 0

    package init(findings: [String]) { self.findings = findings }
}

extension Store {
    /// Replays the log after the checkpoint, and writes the result as a checkpoint before the store can be read.
    ///
    /// After a failed sync the system may return log bytes that are not on the device. Only a state that was written
    /// and synced again can be trusted (Rebello et al., "Can Applications Recover from fsync Failures?", 2020). Replay
    /// writes to free pages only, so a crash during recovery changes nothing.
    func recover(_ opening: Opening) throws(StorageError) {
        assert(newest.point < nextWriteID, "invariant 2: write ids of before are not used again")
        let reserved = try reserveNamedPages(opening)
        versions.lock.withLock { opening.keepPinnedPages() }
        let writer = Writer(store: self, base: newest, recording: false)
        writer.reserved = reserved
        let tail: LogReader.Tail
        do throws(StorageError) {
            tail = try opening.replay { (operations, commit) throws(StorageError) in
                try writer.replay(operations, commit: commit, path: path)
            }
        } catch {
            writer.abandon()
            throw error
        }
        guard tail.frames > 0 else {
            writer.abandon()
            try adopt(tail)
            if !options.readOnly {
                try checkpointer.repairMetas(self)
                try releaseOlderCheckpoint()
            }
            return
        }
        recovery.replayedCommits = Int(clamping: tail.lastCommit - newest.commit)
        do throws(StorageError) {
            let point = try takeWriteID()
            let version = Version(
                of: writer, commit: tail.lastCommit, point: point,
                log: options.readOnly ? tail.beforeBarrier ?? tail.end : tail.end)
            // Return unused page ids, so that the checkpoint's pages are not placed behind them.
            writer.returnUnusedNumbers()
            writer.end()
            try adopt(tail)
            versions.publish(version, &writer.lists.changed)
            pipeline.adopt(version)
            guard !options.readOnly else { return }
            if options.logArchiveBytes > 0 { try syncLog(tail) }
            try checkpointer.lock.withLock { () throws(StorageError) in
                try checkpointer.repairMetas(self)
                // Write both slots: the log bytes, or the name of the last segment, may be in the system's cache only,
                // and from before a barrier the log does not continue. From here on no checkpoint needs the old log.
                try checkpointer.checkpoint(self, CheckpointRequest(version: version, fillsBothSlots: true))
                let retained = [checkpointer.last.meta.commit, checkpointer.previous?.meta.commit]
                assert(
                    retained == [version.commit, version.commit],
                    "invariant 7: recovery ends in a checkpoint of both slots")
            }
        } catch {
            writer.abandon()
            throw error
        }
    }

    /// Makes the replayed log durable before the checkpoint that replaces it for recovery, because replication reads it
    /// from the files later. After the end of a process it may be in the system's cache only; a power failure would then
    /// remove the frames between the last shipped commit and the checkpoint, and the log would look like another
    /// database's.
    private func syncLog(_ tail: LogReader.Tail) throws(StorageError) {
        // Earlier segments are durable, because a segment is started only after everything before it is.
        guard let last = tail.segments.last else { return }
        do throws(FileError) {
            try last.file.sync()
            try dataFile.syncDirectory()
        } catch { throw StorageError(error) }
    }

    /// Overwrites the older checkpoint: only the log after the latest one was read, and older segments will be reused,
    /// so recovery must never use the older checkpoint.
    private func releaseOlderCheckpoint() throws(StorageError) {
        guard let previous = checkpointer.previous, previous.meta.log != checkpointer.last.meta.log else { return }
        try checkpointer.lock.withLock { () throws(StorageError) in
            if try checkpointer.begin(self, anyway: true) { try checkpointer.runToEnd(self) }
        }
    }

    /// Passes the segments that were read to the log.
    private func adopt(_ tail: LogReader.Tail) throws(StorageError) {
        pipeline.lock.withLock { pipeline.log.adopt(tail) }
    }
}

extension Writer {
    /// Applies the operations of one logged commit.
    func replay(_ operations: UnsafeRawBufferPointer, commit: UInt64, path: String) throws(StorageError) {
        var reader = OperationReader(operations)
        while true {
            let step: OperationReader.Step?
            do throws(OperationReader.Malformed) { step = try reader.next() } catch {
                throw .logDamaged(path: path, reason: "commit \(commit) holds an operation that cannot be read")
            }
            guard let step else {
                try applyBufferedPuts()
                try packLeaves()
                // Once after the last commit would be enough for recovery, but a following reader shows each commit.
                try settleCounts()
                return
            }
            do throws(StorageError) { try apply(step) } catch {
                switch error {
                case .treeNotFound, .treeExists, .wrongKeyKind, .invalidArgument, .valueTooLarge:
                    throw .logDamaged(path: path, reason: "commit \(commit) does not fit the checkpoint: \(error)")
                default: throw error
                }
            }
            try spillIfNeeded()
        }
    }

    private func apply(_ step: OperationReader.Step) throws(StorageError) {
        switch step {
        case .put(let tree, .integer(let key), let value):
            _ = try put(IntegerLayout.self, index(tree, .integer), key, value, .replace)
        case .put(let tree, .bytes(let key), let value):
            guard key.count <= Limits.keyBytes else { throw .invalidArgument("a key of \(key.count) bytes") }
            _ = try put(ByteLayout.self, index(tree, .bytes), key, value, .replace)
        case .putRuns(let tree, .integer(let key), let value):
            try replay(IntegerLayout.self, index(tree, .integer), key, runs: value)
        case .putRuns(let tree, .bytes(let key), let value):
            guard key.count <= Limits.keyBytes else { throw .invalidArgument("a key of \(key.count) bytes") }
            try replay(ByteLayout.self, index(tree, .bytes), key, runs: value)
        case .delete(let tree, .integer(let key)): _ = try delete(IntegerLayout.self, index(tree, .integer), key)
        case .delete(let tree, .bytes(let key)): _ = try delete(ByteLayout.self, index(tree, .bytes), key)
        case .createTree(let id, let kind, let options, let name):
            _ = try createTree(named: name, keys: kind, options: options, id: id)
        case .renameTree(let tree, let name): try renameTree(trees[index(tree, nil)].id, to: name)
        case .deleteAll(let tree): try empty(tree)
        case .dropTree(let tree):
            try empty(tree)
            removeTree(at: try index(tree, nil))
        case .deleteRange(let tree, let range):
            _ = try deleteRange(
                IntegerLayout.self, index(tree, .integer), from: range.lowerBound,
                to: range.upperBound == .max ? nil : range.upperBound + 1)
        case .deleteByteRange(let tree, let lower, let upper):
            _ = try deleteRange(ByteLayout.self, index(tree, .bytes), from: lower, to: upper)
        }
        noteChange()
    }

    private func index(_ id: UInt32, _ kind: KeyKind?) throws(StorageError) -> Int {
        let index = try index(of: Tree(id: id, keys: kind ?? .integer))
        if let kind, trees[index].kind != kind {
            throw .wrongKeyKind(tree: "number \(id)", expected: trees[index].kind)
        }
        return index
    }

    private func empty(_ id: UInt32) throws(StorageError) {
        let index = try index(id, nil)
        switch trees[index].kind {
        case .integer: try deleteAll(IntegerLayout.self, index)
        case .bytes: try deleteAll(ByteLayout.self, index)
        }
    }
}
