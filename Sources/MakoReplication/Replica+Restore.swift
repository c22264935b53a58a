import MakoStorage

/// The result of a restore.
public struct RestoreReport: Sendable, Hashable {
    /// The commit that was restored.
    public var commit: UInt64
    /// The size of the new file, in bytes.
    public var bytes: UInt64
    /// The branch that the restored database ships to.
    public var branch: UInt64
    /// What is missing or damaged in the branch that was restored. A backup among it was replaced by an earlier one and frames.
    public var findings: [String] = []
}

extension Replica {
    /// Restores a database to the state of a commit.
    ///
    /// Downloads the newest full backup at or before the commit, applies incremental ones, and replays the log up to the commit by crash
    /// recovery. Where a backup is damaged, an earlier one and more of the log take its place, if they are complete; ``RestoreReport/findings``
    /// then names it. The file gets its name when it is complete, verified and durable. An existing file is never replaced, and a failure leaves no
    /// file.
    ///
    /// The restored database begins a branch. The branch that it comes from stays restorable, and another process may extend it.
    ///
    /// - Parameters:
    ///   - path: the path of the new file.
    ///   - database: the identity; nil if the object store contains one database.
    ///   - branch: nil for the newest branch with a restore point.
    ///   - commit: nil for the newest.
    ///   - beginsBranch: false to continue the same branch, which requires its newest commit. Of two databases that extend the branch, one is
    ///     fenced.
    ///   - options: the file system, the cache size of the replay, and the encryption.
    /// - Throws: ``ReplicationError/noRestorePoint(commit:before:after:)``, ``ReplicationError/damaged(object:reason:)``,
    ///   ``ReplicationError/notKept(commit:oldest:)`` also when retention deletes the commit during the restore, and what opening throws.
    @discardableResult
    public func restore(
        to path: String, database: String? = nil, branch: UInt64? = nil, at commit: UInt64? = nil,
        beginsBranch: Bool = true, options: StoreOptions = .init()
    ) throws(ReplicationError) -> RestoreReport {
        let names = try names(of: database)
        while true {
            let map = try map(names, branch)
            do throws(ReplicationError) {
                return try restore(to: path, names, map, at: commit, beginsBranch, options)
            } catch {
                // Retention has deleted what was read. A later backup has the commit, or it is no longer kept.
                guard case .objects(.notFound) = error, try map.isOutdated() else { throw error }
            }
        }
    }

    private func restore(
        to path: String, _ names: ReplicaNames, _ map: BranchMap, at commit: UInt64?, _ beginsBranch: Bool,
        _ options: StoreOptions
    ) throws(ReplicationError) -> RestoreReport {
        try map.reader.requireKnownFormat()
        try map.requireKnownObjects(for: commit)
        guard let newest = map.points.newest else {
            throw .noRestorePoint(commit: commit ?? 0, before: nil, after: nil)
        }
        let commit = commit ?? newest
        var (unusable, failure): (Set<String>, ReplicationError?) = ([], nil)
        var findings = map.points.findings
        for line in try map.lines(to: commit) where map.reader.objects(of: line).isDisjoint(with: unusable) {
            do throws(ReplicationError) {
                var report = try restore(to: path, names, map.reader, line, at: commit, beginsBranch, options)
                report.findings = findings
                return report
            } catch {
                guard let object = error.unusableObject else { throw failure.map(error.or) ?? error }
                // Retention deletes earlier backups first.
                if case .objects = error, try map.isOutdated() { throw error }
                unusable.insert(object)
                findings.append("\(error)")
                failure = failure ?? error
            }
        }
        throw failure ?? .noRestorePoint(commit: commit, before: nil, after: nil)
    }

    /// Restores a commit from the objects of a line.
    private func restore(
        to path: String, _ names: ReplicaNames, _ reader: BranchReader, _ line: BranchMap.Line, at commit: UInt64,
        _ beginsBranch: Bool, _ options: StoreOptions
    ) throws(ReplicationError) -> RestoreReport {
        let restoration = try storage { () throws(StorageError) in try LogRestoration(at: path, options: options) }
        do throws(ReplicationError) {
            try Replica.fill(restoration, line, reader, upTo: commit)
            let chain = beginsBranch ? options.entropy.next() : nil
            var number = reader.branch
            let parent = (reader.branch, Replica.chain(of: line, restoration))
            let finished = try Replica.finish(restoration, commit, chain) { end throws(ReplicationError) in
                guard beginsBranch else { return }
                // Before the file gets its name: a branch without a database is harmless, a database without its branch is not.
                let own = try BranchReader.make(
                    store, names, reader.database, parent: parent, start: end, date: Replicator.milliseconds())
                number = own.branch
            }
            return RestoreReport(commit: commit, bytes: finished.bytes, branch: number)
        } catch { throw restoration.discard(after: error) }
    }

    func map(_ names: ReplicaNames, _ branch: UInt64?) throws(ReplicationError) -> BranchMap {
        if let branch {
            guard let reader = try BranchReader.find(store, names, branch, cache) else { throw .noBranch(branch) }
            return try BranchMap(reader)
        }
        var map: BranchMap?
        for reader in try BranchReader.all(store, names, cache).reversed() {
            let next = try BranchMap(reader)
            if next.points.newest != nil { return next }
            // An earlier branch is not what a later version has shipped.
            try next.requireKnownObjects()
            map = next
        }
        guard let map else { throw .noBranch(1) }
        return map
    }

    static func fill(
        _ restoration: LogRestoration, _ line: BranchMap.Line, _ reader: BranchReader, upTo commit: UInt64
    ) throws(ReplicationError) {
        for header in line.backups {
            if header.kind == .full {
                try reader.forEachPiece(of: header) { bytes, offset throws(StorageError) in
                    try restoration.write(bytes, at: offset)
                }
            } else {
                try storage { () throws(StorageError) in try restoration.beginPart() }
                try reader.forEachPiece(of: header) { bytes, offset throws(StorageError) in
                    try restoration.writePart(bytes, at: offset)
                }
            }
        }
        for header in line.frames {
            guard let segments = FrameContent.decode(try reader.content(of: header)) else {
                throw .damaged(object: reader.name(header.number), reason: "its frames contradict themselves")
            }
            for segment in segments {
                try storage { () throws(StorageError) in try restoration.append(segment, upTo: commit) }
            }
        }
    }

    /// The chain value of the branch at the commit.
    private static func chain(of line: BranchMap.Line, _ restoration: LogRestoration) -> UInt64 {
        restoration.lastChain ?? line.backups.last?.after.chain ?? 0
    }

    static func finish(
        _ restoration: LogRestoration, _ commit: UInt64, _ chain: UInt64?,
        _ prepare: (LogPlace) throws(ReplicationError) -> Void
    ) throws(ReplicationError) -> (end: LogPlace, bytes: UInt64) {
        do { return try restoration.finish(at: commit, chain: chain, beforePublishing: prepare) } catch {
            switch error {
            case let error as ReplicationError: throw error
            case let error as StorageError: throw .storage(error)
            default: throw .storage(.invalidArgument("\(error)"))
            }
        }
    }
}

extension LogRestoration {
    /// Removes everything that was made.
    ///
    /// - Returns: the error, with the path of the new file in place of those of temporary files.
    func discard(after error: ReplicationError) -> ReplicationError {
        defer { discard() }
        guard case .storage(let error) = error else { return error }
        return .storage(named(error))
    }
}

extension ReplicationError {
    /// The name of an object that is damaged, or missing.
    var unusableObject: String? {
        switch self {
        case .damaged(let object, _), .objects(.notFound(let object)): object
        default: nil
        }
    }

    /// The error of a restore from an earlier backup, or that of the one before: an earlier backup may have another key.
    func or(_ first: ReplicationError) -> ReplicationError {
        if case .storage(.wrongKey) = self { first } else { self }
    }
}

extension BranchReader {
    /// The names of the objects with the content of a line.
    fileprivate func objects(of line: BranchMap.Line) -> Set<String> {
        Set((line.backups + line.frames).map(object))
    }
}
