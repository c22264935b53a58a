import MakoStorage

/// The commits that can be restored from a branch.
public struct RestorePoints: Sendable, Hashable {
    /// A range of commits, each of which can be restored.
    public struct Run: Sendable, Hashable {
        /// The numbers of the commits.
        public var commits: ClosedRange<UInt64>
        /// The time range in which the commits were shipped, in milliseconds since 1970.
        public var dates: ClosedRange<UInt64>
    }

    /// The number of the branch.
    public var branch: UInt64
    /// The branch and the commit from which this branch was restored; nil for the branch of an original database, and where the origin is lost.
    public var parent: (branch: UInt64, commit: UInt64)? {
        parentBranch == 0 ? nil : (parentBranch, start)
    }
    var parentBranch: UInt64
    /// The last commit before the branch; where the origin is lost, before its first object.
    public var start: UInt64
    /// The oldest restore point that retention has left; nil when nothing was deleted. Earlier commits are in no gap and no finding.
    public var keptFrom: UInt64?
    /// In ascending order, without overlaps.
    public var runs: [Run] = []
    /// The number of objects in the sequence.
    public var objects = 0
    /// The size of these objects and of the full backups, in bytes.
    public var bytes: UInt64 = 0
    /// Commits between the first and the last run that cannot be restored.
    public var gaps: [ClosedRange<UInt64>] = []
    /// Descriptions of objects that are missing, damaged, or do not continue the object before. The commits that need them are in ``gaps``.
    public var findings: [String] = []

    package init(branch: UInt64, parentBranch: UInt64 = 0, start: UInt64) {
        self.branch = branch
        self.parentBranch = parentBranch
        self.start = start
    }

    /// The newest commit that can be restored.
    public var newest: UInt64? { runs.last?.commits.upperBound }

    /// Returns whether a commit can be restored.
    public func contains(_ commit: UInt64) -> Bool { runs.contains { $0.commits.contains(commit) } }
}

/// The databases in an object store, for listing and restoring.
///
/// ```swift
/// let replica = try Replica(FolderObjectStore(at: "/mnt/backup/mako"))
/// let points = try replica.restorePoints()
/// try replica.restore(to: "events.mako", at: 4711)
/// ```
public struct Replica: Sendable {
    let store: any ObjectStore
    let prefix: String
    let cache = HeaderCache()

    /// Names the databases below a prefix; nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: where the databases are.
    ///   - prefix: the prefix that the replicator used.
    public init(_ store: any ObjectStore, prefix: String = "") throws(ReplicationError) {
        if !prefix.isEmpty && ObjectName.parts(prefix) == nil { throw .objects(.invalidName(prefix)) }
        self.store = store
        self.prefix = prefix
    }

    /// The identities of the databases, 32 hexadecimal digits each.
    public func databases() throws(ReplicationError) -> [String] {
        let root = ReplicaNames.root(prefix)
        var found: [String] = []
        var after: String?
        while true {
            let names = try objects { () throws(ObjectStoreError) in try store.list(root, after: after, limit: 1) }
            guard let name = names.first else { return found }
            let part = String(name.dropFirst(root.count).prefix { $0 != "/" })
            if part.utf8.count == 32, part.allSatisfy({ "0123456789abcdef".contains($0) }) { found.append(part) }
            // Behind everything that begins with the part: `0` comes behind `/`.
            after = root + part + "0"
        }
    }

    /// Lists what can be restored, by branch in the order of creation.
    ///
    /// - Parameter database: the identity; nil if the object store contains one database.
    /// - Complexity: one request for each object, 16 at a time; later calls read the headers of new objects alone.
    public func restorePoints(of database: String? = nil) throws(ReplicationError) -> [RestorePoints] {
        var points: [RestorePoints] = []
        for branch in try BranchReader.all(store, names(of: database), cache) {
            points.append(try BranchMap(branch).points)
        }
        return points
    }

    /// The newest commit that can be restored and was shipped by a moment.
    ///
    /// - Parameters:
    ///   - date: milliseconds since 1970.
    ///   - database: its identity; nil where only one was shipped there.
    ///   - branch: nil for the newest one from which something can be restored.
    /// - Returns: nil when nothing was shipped by then.
    /// - Complexity: as ``restorePoints(of:)``.
    public func newestCommit(
        shippedBy date: UInt64, of database: String? = nil, branch: UInt64? = nil
    ) throws(ReplicationError) -> UInt64? {
        try map(names(of: database), branch).newest(shippedBy: date)
    }

    func names(of database: String?) throws(ReplicationError) -> ReplicaNames {
        let all = try databases()
        if let database {
            guard all.contains(database) else { throw .noDatabase(reason: "there is no database \(database)") }
            return ReplicaNames(prefix: prefix, database: database)
        }
        guard let only = all.first else { throw .noDatabase(reason: "no database was shipped there") }
        guard all.count == 1 else {
            throw .noDatabase(reason: "there are \(all.count) databases: \(all.joined(separator: ", "))")
        }
        return ReplicaNames(prefix: prefix, database: only)
    }
}

/// The objects of a branch and the commits that can be restored from them.
struct BranchMap {
    /// A backup with its bases, and the frames after it.
    struct Line {
        /// A full backup, then incremental ones.
        var backups: [SequenceHeader]
        var frames: [SequenceHeader] = []

        /// The place that the line leads to.
        var end: LogPlace? { (frames.last ?? backups.last)?.after }
    }

    let reader: BranchReader
    private(set) var points: RestorePoints
    private var lines: [Line] = []
    private var dates: BranchDates

    /// What retention has left.
    private var kept: RetentionMark?
    /// The error of the first object that a later version wrote: what is behind it is unknown.
    private var laterFormat: ReplicationError?

    /// - Parameter now: milliseconds since 1970.
    init(_ reader: BranchReader, now: UInt64 = Replicator.milliseconds()) throws(ReplicationError) {
        self.reader = reader
        dates = BranchDates([], now: now)
        let empty = RestorePoints(
            branch: reader.branch, parentBranch: reader.origin?.parent ?? 0, start: reader.origin?.start.commit ?? 0)
        points = empty
        try read(now: now)
        // Retention deletes objects while they are read: those below the new mark are not missing.
        while !points.findings.isEmpty, try isOutdated() {
            (points, lines, isOpen, laterFormat) = (empty, [], false, nil)
            try read(now: now)
        }
        collectRuns()
    }

    /// Whether retention has raised its mark since the map was read.
    func isOutdated() throws(ReplicationError) -> Bool {
        do throws(ReplicationError) { return try reader.kept() != kept } catch {
            guard case .damaged = error else { throw error }
            return false
        }
    }

    private mutating func read(now: UInt64) throws(ReplicationError) {
        let origin = reader.origin
        if let damage = reader.originDamage {
            points.findings.append("the origin \(reader.names.origin(reader.branch)) \(damage)")
        }
        var before: (check: UInt64, place: LogPlace)? = origin.map { ($0.check, $0.start) }
        kept = try mark()
        points.keptFrom = kept?.commit
        let first = max(kept?.number ?? 1, 1)
        if first > 1 { before = nil }
        let results = reader.headers(from: first, through: try reader.newest(from: kept))
        var found: [SequenceHeader] = []
        for (number, result) in zip(first..., results) {
            let header: SequenceHeader?
            do throws(ReplicationError) { header = try result.get() } catch {
                guard error.isOfUnusableObject else { throw error }
                // Nothing says what the object does to those behind it.
                if error.isOfLaterFormat { (laterFormat, isOpen) = (laterFormat ?? error, false) }
                points.findings.append("\(error)")
                before = nil
                continue
            }
            guard let header else {
                points.findings.append("the object \(reader.name(number)) is missing")
                before = nil
                continue
            }
            let isLinked = before.map { $0.check == header.previous && $0.place == header.before }
            if isLinked == false {
                points.findings.append("the object \(reader.name(number)) does not continue the one before it")
            }
            // Without the origin, the first object says where the branch begins.
            if origin == nil, points.objects == 0 { points.start = header.before.commit }
            take(header, isLinked: isLinked)
            found.append(header)
            before = (header.check, header.after)
        }
        dates = BranchDates(found, now: now)
    }

    /// What retention has left. A damaged mark is a finding.
    private mutating func mark() throws(ReplicationError) -> RetentionMark? {
        do throws(ReplicationError) { return try reader.kept() } catch {
            guard case .damaged = error else { throw error }
            points.findings.append("\(error)")
            return nil
        }
    }

    /// - Parameter isLinked: nil where the object before is missing or damaged.
    private mutating func take(_ header: SequenceHeader, isLinked: Bool?) {
        points.objects += 1
        points.bytes += UInt64(SequenceHeader.bytes) + header.contentBytes
        switch header.kind {
        case .full: lines.append(Line(backups: [header]))
        case .part:
            guard let base = lines.last(where: { $0.backups.last?.number == header.base }) else {
                points.findings.append("what the object \(reader.name(header.number)) builds on is missing")
                return
            }
            lines.append(Line(backups: base.backups + [header]))
        case .frames:
            // Frames after a gap cannot be replayed until the next backup. A backup that is missing is none where the frames before it lead to the
            // same place: its chain value proves that these follow them.
            guard isOpen, isLinked != false, let last = lines.last, last.end == header.before else { return }
            lines[lines.count - 1].frames.append(header)
            return
        }
        isOpen = true
    }

    /// Whether the next frames may continue the last line.
    private var isOpen = false

    private mutating func collectRuns() {
        var runs: [RestorePoints.Run] = []
        for line in lines {
            for header in line.backups.suffix(1) + line.frames {
                let isBackup = header.kind != .frames
                guard let last = header.commits?.upperBound ?? (isBackup ? header.after.commit : nil) else { continue }
                let first = isBackup ? last : header.before.commit + 1
                let dates = dates.range(of: header)
                if let previous = runs.last, first <= previous.commits.upperBound + 1 {
                    // A backup of a commit that the frames before it include.
                    guard last > previous.commits.upperBound else { continue }
                    runs[runs.count - 1] = RestorePoints.Run(
                        commits: previous.commits.lowerBound...last,
                        dates: previous.dates.lowerBound...max(previous.dates.upperBound, dates.upperBound))
                } else {
                    runs.append(RestorePoints.Run(commits: first...last, dates: dates))
                }
            }
        }
        points.runs = runs
        for (run, next) in zip(runs, runs.dropFirst()) {
            points.gaps.append(run.commits.upperBound + 1...next.commits.lowerBound - 1)
        }
    }

    /// The newest commit that can be restored and was shipped by a moment.
    func newest(shippedBy date: UInt64) -> UInt64? {
        let headers = lines.flatMap { $0.backups.suffix(1) + $0.frames }
        return headers.filter { dates.isMade($0, by: date) }.map(\.after.commit).max()
    }

    /// Throws when a later version has shipped to the branch what is wanted: a commit behind those that this version can
    /// restore, or, without one, the newest.
    func requireKnownObjects(for commit: UInt64? = nil) throws(ReplicationError) {
        guard let laterFormat, commit ?? .max > points.newest ?? 0 else { return }
        throw laterFormat
    }

    /// The objects that a commit can be restored from: those of the newest line that includes it, then of earlier ones, whose frames lead past the
    /// later backups. Each is put together when it is wanted.
    func lines(to commit: UInt64) throws(ReplicationError) -> some Sequence<Line> {
        let found = lines.indices.reversed().lazy.compactMap { line(at: $0, to: commit) }
        guard found.isEmpty else { return found }
        if let oldest = points.keptFrom, commit < oldest { throw .notKept(commit: commit, oldest: oldest) }
        let before = points.runs.last { $0.commits.lowerBound < commit }
        let after = points.runs.first { $0.commits.lowerBound > commit }
        throw .noRestorePoint(
            commit: commit, before: before?.commits.upperBound, after: after?.commits.lowerBound)
    }

    /// A line with the frames up to a commit, which may be those of later lines. Nil when it does not lead there.
    private func line(at index: Int, to commit: UInt64) -> Line? {
        var line = Line(backups: lines[index].backups)
        guard let first = line.end, first.commit <= commit else { return nil }
        for next in lines[index...] {
            // A backup with commits that are in no frame.
            guard next.backups.last?.after == line.end else { return nil }
            line.frames += next.frames.prefix { $0.before.commit < commit }
            if let end = line.end, end.commit >= commit { return line }
        }
        return nil
    }
}
