// What `MakoReplication` needs of a store: where its log is, the frames behind a place, and backups in files without names.

/// A backup, or an incremental one, in a file that has no name of its own.
package final class ReplicaBackup {
    private let target: TemporaryFile
    package let bytes: UInt64
    package let point: BackupPoint
    /// Where the log goes on from it.
    package let end: LogPlace

    fileprivate init(_ target: TemporaryFile, _ point: BackupPoint, _ end: LogPlace) throws(StorageError) {
        self.target = target
        self.point = point
        self.end = end
        bytes = try storage { () throws(FileError) in try target.file.size() }
    }

    /// Reads so many bytes, or those that there are.
    package func read(from offset: UInt64, count: Int) throws(StorageError) -> [UInt8] {
        do throws(FileError) { return try target.file.bytes(from: offset, count: count) } catch {
            throw target.named(StorageError(error))
        }
    }

    /// Removes the file.
    package func discard() { target.discard() }
}

extension Store {
    /// The identity of the database.
    package var identity: (high: UInt64, low: UInt64) { (dataFile.header.id.high, dataFile.header.id.low) }

    /// Makes everything committed until now durable.
    ///
    /// - Returns: the place behind the newest of these commits.
    package func makeDurable() throws(StorageError) -> LogPlace {
        try requireOpen()
        if options.readOnly { throw .readOnly(reason: "it was opened so") }
        let newest = newestPlace
        try flush(.durable)
        return newest
    }

    /// The place behind the newest commit that is published, or waits for confirmation.
    package var newestPlace: LogPlace {
        pipeline.lock.withLock {
            let published = versions.lock.withLock { versions.latest }
            return LogPlace(pipeline.confirmation.queue.commits.last?.version ?? published)
        }
    }

    /// The durable frames behind a place, as they are in the files of the log.
    ///
    /// - Parameters:
    ///   - place: whose commit number, LSN and chain value must be those of this log.
    ///   - bound: behind which no frame is taken; nil for no bound.
    ///   - limit: so many bytes, and the rest of the frame they end in, at most.
    package func archivedLog(after place: LogPlace, upTo bound: UInt64? = nil, limit: Int) throws(StorageError)
        -> LogPiece
    {
        try requireOpen()
        let newest = newestPlace
        let durable = pipeline.lock.withLock { pipeline.log.durable }
        let isForeign = place.commit > newest.commit || place.lsn > newest.lsn
        let features = FormatFeatures(rawValue: dataFile.features.load(ordering: .relaxed))
        let reader = LogArchiveReader(
            reader: LogReader(
                fileSystem: options.files, path: path, database: dataFile.header.id, readOnly: true, required: 0,
                keys: dataFile.keys),
            bound: min(durable, bound ?? .max), limit: limit, mayNamePages: features.contains(.namedValues))
        if isForeign || place.lsn == newest.lsn && place.chain != newest.chain { return .foreign(at: place) }
        return try reader.read(after: place)
    }

    /// Lets go of the log before a position: replication has shipped it.
    package func noteShipped(_ lsn: UInt64) {
        let unused = pipeline.lock.withLock {
            pipeline.log.archive.noteShipped(lsn)
            return pipeline.log.releaseArchive()
        }
        for path in unused { try? options.files.remove(path) }
    }

    /// Writes a backup of the latest commit, or what it has beyond an earlier one. The caller discards it.
    package func replicaBackup(since base: BackupPoint?) throws(StorageError) -> ReplicaBackup {
        try requireOpen()
        if options.readOnly { throw .readOnly(reason: "it was opened so") }
        let access = try storage { () throws(FileError) in try dataFile.file.access() }
        let target = try TemporaryFile.make(for: path, on: options.files, access: access)
        do throws(StorageError) {
            let (point, end) = try writeBackup(to: target.file, since: base)
            return try ReplicaBackup(target, point, end)
        } catch {
            target.discard()
            throw target.named(error)
        }
    }
}
