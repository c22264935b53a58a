/// The log behind a damaged checkpoint.
extension Salvage {
    /// Makes the commits behind the checkpoint again, as far as the log holds together.
    func replayLog() throws(StorageError) {
        var reader = logReader
        // What the new database cannot take is not the log's fault.
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
                tell(.replaying, UInt64(report.logCommits))
            }
            for segment in tail.segments { segment.file.close() }
            if let barrier = tail.barrier, checkpoint.meta != nil {
                report.logFailure = "commit \(barrier) was kept in a checkpoint that cannot be read"
            }
        } catch {
            if let refusal { throw refusal }
            report.logFailure = error.finding
        }
    }

    /// Where to begin, and the first commit to make again.
    ///
    /// Without a meta nobody knows where in the log the checkpoint stands. Records carry final effects, so that all of them, from the
    /// last commit that is not in the log, lead to the same end, if only the log is whole up to it.
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

    /// Names of trees that the log made, for a directory that is lost.
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
    /// The reason alone where there is one: a report needs no advice with each.
    var finding: String {
        switch self {
        case .corrupted(let page, let reason): "page \(page): \(reason)"
        case .logDamaged(_, let reason): reason
        default: description
        }
    }
}
