/// The log after a damaged checkpoint.
extension Salvage {
    /// Replays the commits after the checkpoint, as far as the log is intact.
    func replayLog() throws(StorageError) {
        var reader = logReader
        // An error of the new database is no damage of the log.
        var refusal: StorageError?
        do throws(StorageError) {
            guard let (start, commit, first) = try logStart(&reader) else { return }
            let tail = try reader.read(from: start, commit: commit) { (operations, commit) throws(StorageError) in
                guard commit >= first else { return }
                do throws(StorageError) {
                    try target.replay(operations, of: source) { checkpoint.names[$0] ?? "tree \($0)" }
                } catch {
                    refusal = error
                    throw error
                }
                report.logCommits += 1
                reportProgress(.replaying, UInt64(report.logCommits))
            }
            for segment in tail.segments { segment.file.close() }
            if let barrier = tail.barrier, checkpoint.meta != nil {
                report.logFailure = "commit \(barrier) was kept in a checkpoint that cannot be read"
            } else {
                report.logFailure = damage(of: tail, reader)
            }
        } catch {
            if let refusal { throw refusal }
            report.logFailure = error.finding
        }
    }

    /// Returns the reason why commits may be missing after the end of the log: its last segment is cut.
    ///
    /// A segment that the header does not name may be shorter, because a power failure stopped its creation, and has no
    /// acknowledged commits. Without a header it is unknown which one this is.
    private func damage(of tail: LogReader.Tail, _ reader: LogReader) -> String? {
        guard let cut = tail.cut, let last = tail.segments.last else { return nil }
        return source.header == nil || last.number <= reader.required ? cut : nil
    }

    /// Returns where to start in the log, and the first commit to replay.
    ///
    /// Without a meta the checkpoint's position in the log is unknown. Records have final effects, so replaying all
    /// commits after the last one that is not in the log gives the right state, if the log is intact.
    private func logStart(_ reader: inout LogReader) throws(StorageError) -> (
        start: LogPosition, commit: UInt64, first: UInt64
    )? {
        if let meta = checkpoint.meta { return (meta.log, meta.commit, meta.commit + 1) }
        reader.crossesBarriers = true
        guard let (start, commit) = try reader.beginning() else {
            if reader.required > 0 {
                throw .logDamaged(path: source.path, reason: "segment \(reader.required) was in use, and there is none")
            }
            return nil
        }
        let tail = try reader.read(from: start, commit: commit) { (_, _) throws(StorageError) in }
        for segment in tail.segments { segment.file.close() }
        return (start, commit, (tail.barrier ?? commit) + 1)
    }

    /// Returns the names of trees in the log, for a lost directory.
    func namesInLog() -> [UInt32: String] {
        var reader = logReader
        reader.crossesBarriers = true
        var names: [UInt32: String] = [:]
        guard let (start, commit) = (try? reader.beginning()) ?? nil else { return [:] }
        let tail = try? reader.read(from: start, commit: commit) { (operations, _) throws(StorageError) in
            var operations = OperationReader(operations)
            while let step = (try? operations.next()) ?? nil {
                switch step {
                case .createTree(let number, _, _, let name), .renameTree(let number, let name): names[number] = name
                default: break
                }
            }
        }
        for segment in tail?.segments ?? [] { segment.file.close() }
        return names
    }

    private var logReader: LogReader {
        let header = source.header
        let needed = checkpoint.meta.flatMap { header?.segmentNeeded(behind: $0.log) } ?? header?.newestSegment
        return LogReader(
            fileSystem: source.fileSystem, path: source.path, database: source.id, readOnly: true,
            required: needed ?? 0, keys: source.keys, isSalvaging: true)
    }
}

extension StorageError {
    /// The reason without the advice, for a report.
    var finding: String {
        switch self {
        case .corrupted(let page, let reason): "page \(page): \(reason)"
        case .logDamaged(_, let reason): reason
        default: description
        }
    }
}
