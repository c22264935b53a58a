import MakoStorage

/// The restore points that a replicator keeps at least. Older objects are deleted.
///
/// A minimum that is nil does not count. Objects are deleted up to a full backup, and the newest one always stays; without enough of them the
/// replicator makes one. The bucket therefore has up to twice what the minimums say.
public struct Retention: Sendable, Hashable {
    /// The age up to which every moment can be restored.
    public var age: Duration?
    /// The size of the newest objects.
    public var bytes: UInt64?
    /// The number of the newest commits.
    public var commits: UInt64?
    /// The time that a restore has to end when its commit is no longer kept; at least ten minutes.
    public var grace: Duration {
        get { max(graceOrLess, Retention.leastGrace) }
        set { graceOrLess = newValue }
    }
    private var graceOrLess: Duration = .seconds(3600)

    static let leastGrace: Duration = .seconds(600)

    /// Creates minimums; those that are nil do not count.
    public init(age: Duration? = nil, bytes: UInt64? = nil, commits: UInt64? = nil) {
        self.age = age
        self.bytes = bytes
        self.commits = commits
    }
}

extension Duration {
    var inMilliseconds: UInt64 {
        UInt64(clamping: components.seconds.multipliedReportingOverflow(by: 1000).partialValue)
    }
}

/// What retention has left of a branch: the first object, which is a full backup. Stored in the object `kept`.
struct RetentionMark: Hashable {
    static let bytes = 64
    static let magic: UInt64 = 0x3070_654b_6f6b_614d  // "MakoKep0"

    var number: UInt64
    /// The commit of the backup, which is the oldest restore point.
    var commit: UInt64
    /// When the mark was set, in milliseconds since 1970.
    var date: UInt64

    var encoded: [UInt8] { Words.encode([RetentionMark.magic, number, commit, date], bytes: RetentionMark.bytes) }

    init(number: UInt64, commit: UInt64, date: UInt64) {
        self.number = number
        self.commit = commit
        self.date = date
    }

    init?(_ bytes: [UInt8]) {
        let words = Words(bytes)
        guard bytes.count == RetentionMark.bytes, words.isSound, words.word(1) == RetentionMark.magic,
            words.areZero(from: 5)
        else { return nil }
        self.init(number: words.word(2), commit: words.word(3), date: words.word(4))
    }
}

/// The full backups of a branch, of which retention chooses the first that stays.
struct KeptBackups {
    struct Full: Hashable {
        var number: UInt64
        var commit: UInt64
        var date: UInt64
        /// The dates of the objects since the full backup before it.
        var datesBefore: HourlyDates
        /// The size of all objects before it.
        var bytesBefore: UInt64
    }

    private(set) var fulls: [Full] = []
    private var bytes: UInt64 = 0
    private var newest: UInt64 = 0
    /// The dates of the objects since the last full backup.
    private var dates = HourlyDates()
    var mark: RetentionMark?
    /// Whether everything below the mark is deleted.
    private(set) var isCleared = false
    /// The newest object that cannot be used, and why.
    private var unusable: (number: UInt64, error: ReplicationError)?

    /// The error of an object that cannot be used and is still kept.
    var damage: ReplicationError? { unusable?.error }

    /// Notes an object that cannot be used. Its bytes do not count, so that rather more is kept.
    mutating func note(_ error: ReplicationError, of number: UInt64) { unusable = (number, error) }

    /// Raises the mark.
    mutating func move(to mark: RetentionMark) { (self.mark, isCleared) = (mark, false) }

    /// Notes that everything below the mark is deleted.
    mutating func noteCleared() {
        isCleared = true
        if let unusable, let mark, unusable.number < mark.number { self.unusable = nil }
    }

    mutating func accept(_ header: SequenceHeader) {
        if header.kind == .full {
            fulls.append(
                Full(
                    number: header.number, commit: header.after.commit, date: header.date, datesBefore: dates,
                    bytesBefore: bytes))
            dates = HourlyDates()
        } else {
            dates.insert(header.date)
        }
        bytes += header.contentBytes + UInt64(SequenceHeader.bytes)
        newest = header.after.commit
    }

    /// A time at which each full backup was there already; nil where its clock was ahead.
    ///
    /// That of a clock which was behind is the latest of a backup before it.
    private func dates(now: UInt64) -> [UInt64?] {
        var latest: UInt64 = 0
        return fulls.map { full in
            latest = max(latest, full.datesBefore.latest(by: now) ?? 0)
            if full.date <= now { latest = max(latest, full.date) }
            return full.date <= now ? latest : nil
        }
    }

    private func suffices(_ full: Full, _ date: UInt64?, _ retention: Retention, now: UInt64) -> Bool {
        if let age = retention.age {
            guard let date, date.addingReportingOverflow(age.inMilliseconds).partialValue <= now else { return false }
        }
        if let least = retention.bytes, bytes - full.bytesBefore < least { return false }
        if let least = retention.commits, newest - full.commit + 1 < least { return false }
        return true
    }

    /// The newest full backup from which on the objects satisfy every minimum.
    func floor(_ retention: Retention, now: UInt64) -> Full? {
        zip(fulls, dates(now: now)).reversed().first { suffices($0, $1, retention, now: now) }?.0
    }

    /// Whether another full backup would let retention go up to the last one.
    ///
    /// - Parameters:
    ///   - now: the time that minimums are counted by.
    ///   - clock: milliseconds since 1970.
    func isFullDue(_ retention: Retention, now: UInt64, clock: UInt64) -> Bool {
        guard let last = fulls.last, newest > last.commit else { return false }
        // A clock that was ahead has dated it: its age would never do.
        if retention.age != nil, RetentionClock.isAhead(last.date, of: clock) { return true }
        return suffices(last, dates(now: now).last ?? nil, retention, now: now)
    }
}

extension KeptBackups {
    /// Whether a mark has been there for the grace time.
    static func mayDelete(_ mark: RetentionMark, _ retention: Retention, now: UInt64) -> Bool {
        mark.date.addingReportingOverflow(retention.grace.inMilliseconds).partialValue <= now
    }
}

extension BranchReader {
    /// Reads what retention has left. Returns nil when nothing was deleted.
    func kept() throws(ReplicationError) -> RetentionMark? { try keptWithTag()?.mark }

    private func keptWithTag() throws(ReplicationError) -> (mark: RetentionMark, tag: ObjectTag)? {
        let name = names.kept(branch)
        let found: ObjectBytes
        do throws(ObjectStoreError) { found = try store.get(name, nil) } catch {
            if case .notFound = error { return nil }
            throw .objects(error)
        }
        guard let mark = RetentionMark(found.bytes) else { throw .damaged(object: name, reason: "it is no mark") }
        return (mark, found.tag)
    }

    /// Raises the mark, unless it is as high, or gives one that is as high an earlier date.
    ///
    /// - Returns: the mark that is there.
    func raise(to mark: RetentionMark) throws(ReplicationError) -> RetentionMark {
        while true {
            let old = try keptWithTag()
            if let old, (old.mark.number, mark.date) >= (mark.number, old.mark.date) { return old.mark }
            do throws(ObjectStoreError) {
                let condition = old.map { PutCondition.ifMatch($0.tag) } ?? .ifAbsent
                _ = try store.put(names.kept(branch), ObjectContent(mark.encoded), condition)
                return mark
            } catch {
                // Another replicator of the branch, or an earlier attempt of this one.
                switch error {
                case .exists, .changed, .notFound: continue
                default: throw .objects(error)
                }
            }
        }
    }

    /// Deletes the objects before a mark, the oldest first.
    func clear(below mark: RetentionMark) throws(ReplicationError) {
        try delete(names.sequence(branch)) { name in names.number(name, in: branch).map { $0 < mark.number } ?? false }
        // Behind the objects that name them.
        try delete(names.fulls(branch)) { name in
            names.fullCommit(name, in: branch).map { $0 < mark.commit } ?? false
        }
    }

    private func delete(_ prefix: String, while isOld: (String) -> Bool) throws(ReplicationError) {
        while true {
            let listed = try objects { () throws(ObjectStoreError) in
                try store.list(prefix, after: nil, limit: BranchReader.deletedAtOnce)
            }
            let old = listed.prefix(while: isOld)
            for name in old { try objects { () throws(ObjectStoreError) in try store.delete(name) } }
            guard old.count == BranchReader.deletedAtOnce else { return }
        }
    }

    private static let deletedAtOnce = 1000
}
