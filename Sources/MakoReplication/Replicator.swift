import CPlatform
import MakoStorage

/// Ships the log of an open store to an object store, from which any shipped commit can be restored.
///
/// ```swift
/// var options = StoreOptions()
/// options.logArchiveBytes = 256 << 20
/// let store = try Store(at: "events.mako", options: options)
/// let replicator = try Replicator(store, to: FolderObjectStore(at: "/mnt/backup/mako"))
/// try replicator.start(interval: .seconds(1))
/// ```
///
/// The first call of ``ship()`` on a branch ships a full backup; later calls ship log frames unchanged, so that encrypted data stays encrypted.
/// Commits whose frames are not self-contained (large transactions and values, a removed log) become an incremental backup, of which only the
/// last commit is a restore point. A replicator sends one object at a time, and none without new commits.
public final class Replicator: @unchecked Sendable {
    /// The branch that a store ships to.
    public enum Branch: Sendable, Hashable {
        /// The branch that the store continues, by the chain values of its log; the first branch when the database has none.
        case continued
        /// A new branch that begins with the current state.
        case new
    }

    /// The sizes and the clock of a replicator.
    ///
    /// A program that attaches again and again makes its options once: replicators with the same value, or copies of it, count the age of
    /// ``retention`` by one clock, which knows one that has jumped ahead between two of them.
    public struct Options: Sendable {
        /// The size after which an object of frames ends with the current frame, in bytes.
        public var objectBytes = 1 << 20
        /// The bytes of frames after which a backup follows, which bounds the replay of a restore. The backup is full when the incremental ones
        /// since the last full one exceed half of its size.
        public var backupAfterBytes: UInt64 = 64 << 20
        /// What is kept at least; nil to delete nothing.
        public var retention: Retention?
        /// The time since some moment, which goes on while the machine sleeps.
        package var uptime: @Sendable () -> Duration = Replicator.uptime
        /// Milliseconds since 1970.
        public var now: @Sendable () -> UInt64 = Replicator.milliseconds
        let retentionClock = SharedRetentionClock()

        /// Creates the default options.
        public init() {}
    }

    /// The result of a call of ``Replicator/ship()``.
    public struct Report: Sendable, Hashable {
        /// The number of objects that the call wrote.
        public var objects = 0
        /// The size of these objects, in bytes.
        public var bytes: UInt64 = 0
        /// The newest restore point.
        public var commit: UInt64 = 0
    }

    /// The end of a branch.
    struct State {
        var number: UInt64 = 0
        /// The checksum of the last header, or of the origin.
        var check: UInt64
        var end: LogPlace
        var date: UInt64
        /// The number of promotions, and that before the last backup. The file of a promoted follower has other pages
        /// than an earlier backup, so that no incremental one builds on it.
        var epoch: UInt64 = 1
        var backupEpoch: UInt64 = 1
        /// The number of the last backup, and the base of the next incremental one.
        var backup: (number: UInt64, point: BackupPoint)?
        var fullBytes: UInt64 = 0
        /// The bytes of incremental backups since the last full one, and of frames since the last backup.
        var partBytes: UInt64 = 0
        var frameBytes: UInt64 = 0

        init(_ origin: BranchOrigin) {
            check = origin.check
            end = origin.start
            date = origin.date
        }

        /// The end before an object, where the origin is lost.
        init(before header: SequenceHeader) {
            check = header.previous
            end = header.before
            date = header.dateBefore
        }

        mutating func accept(_ header: SequenceHeader) {
            number = header.number
            check = header.check
            end = header.after
            date = header.date
            epoch = header.epoch
            if header.kind != .frames { backupEpoch = header.epoch }
            switch header.kind {
            case .frames: frameBytes += header.contentBytes
            case .part: partBytes += header.contentBytes
            case .full: (fullBytes, partBytes) = (header.contentBytes, 0)
            }
            if header.kind != .frames { (backup, frameBytes) = ((header.number, header.point), 0) }
        }
    }

    let store: Store
    let objectStore: any ObjectStore
    let names: ReplicaNames
    let database: ReplicaIdentity
    let options: Options
    let signal = LogSignal()
    let progress: ShippingProgress
    let thread: ShippingThread
    private let lock = Lock()
    private let reader: BranchReader
    // Guarded by `lock`.
    private var state: State
    private var fence: ReplicationError?
    /// The full backups, once retention has read them.
    private var backups: KeptBackups?
    /// The moment from which on retention is tried, after a failure.
    private var nextRetention: Duration = .zero
    /// The beginning of the last request that showed the end of the branch.
    private var contact: Duration

    /// Attaches a store to the branch that it continues, or begins one.
    ///
    /// - Parameters:
    ///   - store: open for writing, with ``/MakoStorage/StoreOptions/logArchiveBytes`` set.
    ///   - objectStore: the destination.
    ///   - prefix: the prefix of all object names.
    ///   - branch: whether the database continues its branch or begins another.
    ///   - options: the sizes, the retention and the clock.
    /// - Throws: ``ReplicationError/fenced(branch:reason:)`` when another database has extended the branch,
    ///   ``ReplicationError/logGone(branch:commit:)`` when the log no longer proves the continuation.
    public init(
        _ store: Store, to objectStore: any ObjectStore, prefix: String = "", branch: Branch = .continued,
        options: Options = Options()
    ) throws(ReplicationError) {
        if !prefix.isEmpty && ObjectName.parts(prefix) == nil { throw .objects(.invalidName(prefix)) }
        let (high, low) = store.identity
        database = ReplicaIdentity(high: high, low: low)
        names = ReplicaNames(prefix: prefix, database: database.name)
        self.store = store
        self.objectStore = objectStore
        self.options = options
        contact = options.uptime()
        let place = try storage { () throws(StorageError) in try store.makeDurable() }
        switch branch {
        case .new:
            reader = try BranchReader.make(
                objectStore, names, database, parent: (0, 0), start: place, date: options.now())
            if let origin = reader.origin { state = State(origin) } else { state = try State(of: reader) }
        case .continued:
            (reader, state) = try Replicator.attach(
                store, objectStore, names,
                BranchOrigin(
                    database, branch: 1, parent: (0, 0), start: place, date: options.now()))
        }
        options.retentionClock.attach(options.now(), newest: state.date, uptime: contact)
        progress = ShippingProgress(state.end)
        progress.note(state.end, hasBackup: state.backup != nil)
        thread = ShippingThread(signal)
        store.addSignal(signal)
    }

    deinit {
        signal.stop()
        store.removeSignal(signal)
    }

    /// The branch that the store is shipped to.
    public var branch: UInt64 { reader.branch }

    /// The newest commit that is shipped; nil before the first backup.
    public var shippedCommit: UInt64? { progress.shippedCommit }

    /// Milliseconds since 1970, by the system's clock.
    public static func milliseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static let start = ContinuousClock.now
    private static let uptime: @Sendable () -> Duration = { start.duration(to: .now) }

    /// Makes everything committed until now durable, and ships it.
    ///
    /// After an error of the object store the next call goes on where this one ended. A failure to delete what is no longer kept is no error of
    /// this call; see ``retentionFailure``.
    ///
    /// - Throws: ``ReplicationError/fenced(branch:reason:)`` when another database extends the branch; every later call throws it, too.
    @discardableResult
    public func ship() throws(ReplicationError) -> Report {
        lock.lock()
        defer { lock.unlock() }
        return try shipWithLock()
    }

    /// Ships everything, and notes that commits wait from now on.
    func beginConfirming() throws(ReplicationError) {
        lock.lock()
        defer { lock.unlock() }
        do throws(ReplicationError) { try shipWithLock() } catch {
            // Also one that an earlier shipment has found: commits must not go on that no object will have.
            if case .fenced = error { store.fence("\(error)") }
            throw error
        }
        // Under the lock, so that no shipment is fenced between without making the store read-only.
        progress.isConfirming = true
    }

    @discardableResult
    private func shipWithLock() throws(ReplicationError) -> Report {
        if let fence { throw fence }
        signal.take()
        var isShipped = false
        defer { signal.finish(isShipped: isShipped) }
        do throws(ReplicationError) {
            let report = try shipAll()
            isShipped = true
            return report
        } catch {
            if case .fenced = error {
                fence = error
                if progress.isConfirming { store.fence("\(error)") }
            }
            throw error
        }
    }

    private func shipAll() throws(ReplicationError) -> Report {
        let target = try storage { () throws(StorageError) in try store.makeDurable() }
        var report = Report()
        if state.backup == nil { try shipBackup(&report) }
        while state.end.lsn < target.lsn || state.end.commit < target.commit {
            guard try !shipFrames(upTo: nil, &report) else { continue }
            store.publishEarly(state.end.commit + 1)
            try shipBackup(&report)
        }
        if state.frameBytes >= options.backupAfterBytes { try shipBackup(&report) }
        // Releases shipped segments.
        store.noteShipped(state.end.lsn)
        if report.objects > 0 || backups == nil { try retain(&report) }
        report.commit = state.end.commit
        return report
    }

    /// Deletes what is no longer kept.
    ///
    /// A failure is noted, and ends neither shipping nor confirmation, which do not depend on it: an object store may refuse
    /// deletions for good. Only a fence is thrown.
    private func retain(_ report: inout Report) throws(ReplicationError) {
        guard let retention = options.retention, options.uptime() >= nextRetention else { return }
        do throws(ReplicationError) {
            try retain(retention, &report)
            progress.retentionFailure = backups?.damage
        } catch {
            if case .fenced = error { throw error }
            progress.retentionFailure = error
            // Not with each object, so that commits which wait for the next one do not wait for requests that fail.
            nextRetention = options.uptime() + Replicator.retentionPause
        }
    }

    private func retain(_ retention: Retention, _ report: inout Report) throws(ReplicationError) {
        if backups == nil { backups = try Replicator.keptBackups(reader, through: state.number) }
        let clock = options.now()
        let now = options.retentionClock.time(clock, uptime: options.uptime())
        if backups?.isFullDue(retention, now: now, clock: clock) == true { try shipBackup(isFull: true, &report) }
        guard var found = backups else { return }
        defer { backups = found }
        try Replicator.retain(&found, retention, reader, now: now, clock: clock)
    }

    // MARK: Objects

    /// Ships the next frames of the log. Returns false when they are removed or not self-contained.
    private func shipFrames(upTo bound: UInt64?, _ report: inout Report) throws(ReplicationError) -> Bool {
        let piece = try storage { () throws(StorageError) in
            try store.archivedLog(after: state.end, upTo: bound, limit: options.objectBytes)
        }
        guard piece.end != state.end else { return false }
        let content = FrameContent.encode(piece.segments)
        var header = next(.frames, to: piece.end)
        header.base = state.backup?.number ?? 0
        header.contentBytes = UInt64(content.count)
        header.digest = Digest.of(content)
        try put(header, ObjectContent(header.encoded + content), &report)
        return true
    }

    /// Ships a backup: a full one at the beginning of a branch and after many incremental ones.
    private func shipBackup(isFull: Bool = false, _ report: inout Report) throws(ReplicationError) {
        let isFull = isFull || state.partBytes > state.fullBytes / 2 || state.backupEpoch != state.epoch
        let base = isFull ? nil : state.backup
        let backup = try storage { () throws(StorageError) in try store.replicaBackup(since: base?.point) }
        defer { backup.discard() }
        // Frames before the backup, because each of their commits stays a restore point.
        if state.backup != nil {
            while state.end.lsn < backup.end.lsn, try shipFrames(upTo: backup.end.lsn, &report) {}
        }
        // Another replicator of this store may be ahead.
        guard backup.end.lsn >= state.end.lsn, backup.end.commit >= state.end.commit else { return }
        let content = backup.content
        var header = next(base == nil ? .full : .part, to: backup.end)
        header.basis = backup.point.basis
        header.base = base?.number ?? 0
        header.contentBytes = content.bytes
        header.digest = try objects { () throws(ObjectStoreError) in try Digest.of(content) }
        if base == nil {
            try putFull(header, content, &report)
            try put(header, ObjectContent(header.encoded), &report)
        } else {
            try put(header, content.following(header.encoded), &report)
        }
    }

    private func putFull(
        _ header: SequenceHeader, _ content: ObjectContent, _ report: inout Report
    ) throws(ReplicationError) {
        let name = reader.object(of: header)
        do throws(ObjectStoreError) {
            _ = try objectStore.put(name, content, .ifAbsent)
            report.objects += 1
            report.bytes += content.bytes
        } catch {
            // The name contains the digest, so that the object is this backup, whose answer was lost.
            guard case .exists = error else { throw .objects(error) }
        }
        let found = try objects { () throws(ObjectStoreError) in try objectStore.get(name, 0..<1) }
        guard found.total == content.bytes else { throw .damaged(object: name, reason: "it is cut short") }
    }

    private func next(_ kind: SequenceKind, to end: LogPlace) -> SequenceHeader {
        var header = SequenceHeader(database, reader.branch, state.number + 1, kind, from: state.end, to: end)
        // As it is: readers correct a clock that was wrong, which a date that never descends would keep wrong for ever.
        header.date = options.now()
        header.dateBefore = state.date
        header.previous = state.check
        header.epoch = state.epoch
        return header
    }

    /// Puts the next object of the sequence, or adopts an existing one.
    private func put(
        _ header: SequenceHeader, _ content: ObjectContent, _ report: inout Report
    ) throws(ReplicationError) {
        let began = options.uptime()
        do throws(ObjectStoreError) {
            _ = try objectStore.put(reader.name(header.number), content, .ifAbsent)
        } catch {
            guard case .exists = error else { throw .objects(error) }
            return try adopt(header.number, began)
        }
        report.objects += 1
        report.bytes += content.bytes
        try accept(header, began)
        if header.number % Replicator.objectsPerHint == 0 { reader.noteHead(header.number) }
    }

    private static let objectsPerHint: UInt64 = 32

    /// Adopts an existing object if its commits are in this log: it is the store's own, and the answer was lost. An object of another database
    /// fences the store.
    private func adopt(_ number: UInt64, _ began: Duration) throws(ReplicationError) {
        guard let header = try reader.header(number) else {
            throw .objects(.unavailable(reason: "\(reader.name(number)) is there and cannot be read"))
        }
        let link = try Replicator.link(header.after, store)
        guard header.previous == state.check, header.before == state.end, link != .foreign else {
            throw .fenced(
                branch: reader.branch, reason: "object \(number) leads to commit \(header.after.commit) of another log")
        }
        // The log went while the answer was awaited.
        guard link == .continued else { throw .logGone(branch: reader.branch, commit: header.after.commit) }
        guard header.kind == .full || state.backup != nil else {
            throw .damaged(object: reader.name(number), reason: "nothing is before it")
        }
        try reader.forEachPiece(of: header) { _, _ in }
        try accept(header, began)
    }

    /// Moves the end of the branch behind an object, and confirms its commits.
    ///
    /// - Parameter began: when the request began that created or found it.
    private func accept(_ header: SequenceHeader, _ began: Duration) throws(ReplicationError) {
        // After the request: the name may have been free again, because another writer's retention has deleted it.
        if options.uptime() - contact > Replicator.silence, let kept = try reader.kept(), kept.number > header.number {
            throw .fenced(branch: reader.branch, reason: "object \(header.number) is older than what is kept there")
        }
        contact = began
        state.accept(header)
        backups?.accept(header)
        progress.note(state.end, hasBackup: state.backup != nil)
        store.confirm(state.end.lsn)
    }
}

extension ReplicaBackup {
    fileprivate var content: ObjectContent {
        ObjectContent(bytes: bytes) { offset, count throws(ObjectStoreError) in
            do throws(StorageError) { return try self.read(from: offset, count: count) } catch {
                throw .source("\(error)")
            }
        }
    }
}

extension ObjectContent {
    /// The content behind a header.
    fileprivate func following(_ header: [UInt8]) -> ObjectContent {
        let start = UInt64(header.count)
        return ObjectContent(bytes: start + bytes) { offset, count throws(ObjectStoreError) in
            let end = offset + UInt64(count)
            var piece = Array(header[Int(min(offset, start))..<Int(min(end, start))])
            if end > start {
                let from = max(offset, start) - start
                piece += try self.read(from: from, count: Int(end - start - from))
            }
            return piece
        }
    }
}
