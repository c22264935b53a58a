import MakoStorage

/// Keeps a copy of a branch up to date in a file of its own, which readers open while it grows.
///
/// ```swift
/// let follower = try Follower(FolderObjectStore(at: "/mnt/backup/mako"), at: "replica.mako")
/// var options = StoreOptions()
/// options.readOnly = true
/// let replica = try Store(at: "replica.mako", options: options)
/// while isRunning {
///     if try follower.follow().commits > 0 { try replica.refresh() }
///     try await Task.sleep(for: .seconds(1))
/// }
/// ```
///
/// A new file begins with the newest backup of the newest branch. Frames are appended to the file's log as they are, after
/// their chain is verified, so that readers see each commit as a whole, in order, and no other. A commit that is in no
/// frame comes with an incremental backup; the file is then put together again beside the old one, and replaces it.
/// Nothing else writes the file, until ``promote(options:)`` makes it one that continues the branch.
public final class Follower: @unchecked Sendable {
    /// The branch, the file and the sizes of a follower.
    public struct Options: Sendable {
        /// The identity of the database; nil if the object store contains one.
        public var database: String?
        /// Nil for the newest branch with a backup or, of an existing file, for the branch that it is a copy of.
        public var branch: UInt64?
        /// The bytes of log after which the follower writes a checkpoint. They are replayed by each opening, and by a
        /// promotion.
        public var checkpointBytes: UInt64 = 8 << 20
        /// The file system, the memory of replays, and the encryption of the file.
        public var store = StoreOptions()
        /// Milliseconds since 1970.
        public var now: @Sendable () -> UInt64 = Replicator.milliseconds

        /// Creates the default options.
        public init() {}
    }

    /// Why a follower put its file together from backups.
    public enum Restart: Sendable, Hashable {
        /// There was no file.
        case newFile
        /// Commits are in no frame, but in an incremental or full backup.
        case backup
        /// The next object is gone: retention has removed it, or it is lost.
        case gone(object: String)
        /// The next object is damaged.
        case damaged(object: String, reason: String)
    }

    /// The result of a step.
    public struct Report: Sendable, Hashable {
        /// The number of objects that the step applied.
        public var objects = 0
        /// The size of these objects, in bytes.
        public var bytes: UInt64 = 0
        /// The number of new commits.
        public var commits: UInt64 = 0
        /// The newest commit that readers see.
        public var commit: UInt64 = 0
        /// When the newest applied object was shipped, in milliseconds since 1970.
        public var shipped: UInt64 = 0
        /// Why the file was put together anew; nil when it was not.
        public var restart: Restart?
        /// The names of damaged and missing objects that the step has passed, because they have no commit of their own, as
        /// most backups.
        public var passed: [String] = []
    }

    /// The place in the branch: the last object that is applied.
    struct State {
        var number: UInt64
        var check: UInt64
        var end: LogPlace
        var date: UInt64
        var epoch: UInt64 = 1
        /// The number of the last backup.
        var base: UInt64 = 0

        init(after header: SequenceHeader) {
            number = header.number
            check = header.check
            end = header.after
            date = header.date
            epoch = header.epoch
            base = header.kind == .frames ? header.base : header.number
        }

        /// The place before an object.
        init(before header: SequenceHeader) {
            number = header.number - 1
            check = header.previous
            end = header.before
            date = header.dateBefore
        }
    }

    let objectStore: any ObjectStore
    let path: String
    let options: Options
    private let lock = Lock()
    // Guarded by `lock`.
    private(set) var reader: BranchReader
    var state: State
    let file: FollowerFile
    var idleSteps: UInt64 = 0
    private var isClosed = false
    let loop = FollowerLoop()
    /// How the file began; nil where it was there.
    public let firstRestart: Restart?

    /// Restores a new file from the newest backup, or continues the file of an earlier follower.
    ///
    /// - Parameters:
    ///   - objectStore: where the branch is.
    ///   - prefix: the prefix that the replicator used.
    ///   - path: the file, which only followers write.
    ///   - options: the branch, and the options of the file's store.
    /// - Throws: ``ReplicationError/notFollowing(path:reason:)`` when the file is no follower's, or of another branch,
    ///   ``ReplicationError/noRestorePoint(commit:before:after:)`` before the first backup.
    public init(
        _ objectStore: any ObjectStore, prefix: String = "", at path: String, options: Options = Options()
    ) throws(ReplicationError) {
        let names = try Replica(objectStore, prefix: prefix).names(of: options.database)
        let start = try FollowerStart.find(names, objectStore, path, options)
        try start.reader.requireKnownFormat()
        self.objectStore = objectStore
        self.path = path
        self.options = options
        reader = start.reader
        switch start.position {
        case .found(let place, let state):
            self.state = state
            firstRestart = nil
            file = try Follower.open(path, place, options)
        case .restart(let restart, let old):
            firstRestart = restart
            // The lock keeps other followers from the file.
            let locked = try old.map { place throws(ReplicationError) in try Follower.open(path, place, options) }
            let backups = try Follower.restoreNewest(start.reader, path, options, behind: 0, replacing: old)
            guard let newest = backups.last else { throw .noRestorePoint(commit: 0, before: nil, after: nil) }
            state = State(after: newest)
            if let locked {
                try storage { () throws(StorageError) in try locked.adoptReplacement(at: newest.after) }
                file = locked
            } else {
                file = try Follower.open(path, newest.after, options)
            }
        }
    }

    deinit { close() }

    private static func open(
        _ path: String, _ place: LogPlace, _ options: Options
    ) throws(ReplicationError) -> FollowerFile {
        try storage { () throws(StorageError) in
            try FollowerFile(at: path, place: place, options: options.store)
        }
    }

    /// The branch that the file is a copy of.
    public var branch: UInt64 { lock.withLock { reader.branch } }

    /// The newest commit that readers see.
    public var commit: UInt64 { lock.withLock { file.place.commit } }

    /// Stops the loop and lets go of the file, which the next follower continues.
    public func close() {
        stop()
        lock.withLock {
            isClosed = true
            file.close()
        }
    }

    // MARK: Following

    /// Applies what was shipped since the last call. Readers see it when they refresh.
    ///
    /// After an error the next call goes on where this one ended.
    ///
    /// - Throws: ``ReplicationError/damaged(object:reason:)`` when an object is damaged or lost and no later backup
    ///   leads past it.
    @discardableResult
    public func follow() throws(ReplicationError) -> Report {
        lock.lock()
        defer { lock.unlock() }
        return try followWithLock()
    }

    private func followWithLock() throws(ReplicationError) -> Report {
        guard !isClosed else { throw .storage(.closed(path: file.path)) }
        var report = Report()
        let before = file.place.commit
        while true {
            do throws(ReplicationError) {
                while let object = try next(&report) { try apply(object, &report) }
                break
            } catch { try goOn(after: error, &report) }
        }
        report.commit = file.place.commit
        report.commits = file.place.commit - before
        report.shipped = state.date
        return report
    }

    private func apply(_ object: SequenceObject, _ report: inout Report) throws(ReplicationError) {
        let header = object.header
        let name = reader.name(header.number)
        guard header.previous == state.check, header.before == state.end, header.epoch >= state.epoch else {
            throw .damaged(object: name, reason: "it does not continue the one before it")
        }
        if header.kind == .frames {
            guard let segments = FrameContent.decode(try reader.content(of: object)) else {
                throw .damaged(object: name, reason: "its frames contradict themselves")
            }
            let verified = try storage { () throws(StorageError) in
                try file.verify(segments, from: header.before, to: header.after)
            }
            guard let verified else {
                throw .damaged(object: name, reason: "its frames do not continue the log")
            }
            try storage { () throws(StorageError) in
                try file.append(verified)
                if file.logBytes >= options.checkpointBytes { try file.settle() }
            }
            report.bytes += header.contentBytes
        } else if header.after != file.place {
            // The frames before it do not lead to its commit.
            let backups = try reader.backups(through: header)
            try replace(by: backups)
            report.restart = .backup
            report.bytes += backups.reduce(0) { $0 + $1.contentBytes }
        }
        report.objects += 1
        state = State(after: header)
    }

    // MARK: Starting anew

    /// Starts anew behind an object that is damaged, or that retention has deleted since its name was read.
    private func goOn(after error: ReplicationError, _ report: inout Report) throws(ReplicationError) {
        switch error {
        case .damaged(let object, let reason):
            try restart(.damaged(object: object, reason: reason), after: error, &report)
        case .objects(.notFound(let name)):
            try restart(.gone(object: name), after: .damaged(object: name, reason: "it is missing"), &report)
        default: throw error
        }
    }

    /// Starts anew from a backup behind the next object, if its commits are needed.
    func restart(
        _ restart: Restart, after error: ReplicationError, _ report: inout Report
    ) throws(ReplicationError) {
        reader.cache.removeAll()
        if try passUnreadable(&report) { return }
        let backups = try Follower.restoreNewest(
            reader, path, options, behind: state.number + 1, replacing: file.place)
        guard let newest = backups.last else { throw error }
        try storage { () throws(StorageError) in try file.adoptReplacement(at: newest.after) }
        state = State(after: newest)
        report.restart = restart
        report.objects += 1
        report.bytes += backups.reduce(0) { $0 + $1.contentBytes }
    }

    private func replace(by backups: [SequenceHeader]) throws(ReplicationError) {
        let newest = try Follower.restore(backups, reader, path, options, isReplacing: true)
        try storage { () throws(StorageError) in try file.adoptReplacement(at: newest.after) }
    }

    /// Puts a file together from the newest backup that is whole, and from a later one when retention deletes that meanwhile.
    ///
    /// - Parameters:
    ///   - number: the newest backup comes behind this object.
    ///   - old: where the file ends that is replaced; nil without one.
    /// - Returns: the backups; nothing when there is none.
    private static func restoreNewest(
        _ reader: BranchReader, _ path: String, _ options: Options, behind number: UInt64, replacing old: LogPlace?
    ) throws(ReplicationError) -> [SequenceHeader] {
        var (unusable, failure): (Set<String>, ReplicationError?) = ([], nil)
        while true {
            let mark = try reader.kept()
            let backups = try reader.newestBackups(behind: number, reaching: old?.commit ?? 0, without: unusable)
            if backups.isEmpty, let failure { throw failure }
            if backups.isEmpty { return [] }
            do throws(ReplicationError) {
                _ = try restore(backups, reader, path, options, isReplacing: old != nil)
                return backups
            } catch {
                if case .objects(.notFound) = error, try reader.kept() != mark { continue }
                // An object store may name the missing object otherwise; without it the next attempt would be the same.
                guard let object = error.unusableObject, unusable.insert(object).inserted else {
                    throw failure.map(error.or) ?? error
                }
                failure = failure ?? error
            }
        }
    }

    /// Puts a file together from backups. It replaces the follower's file when it is complete and verified.
    private static func restore(
        _ backups: [SequenceHeader], _ reader: BranchReader, _ path: String, _ options: Options, isReplacing: Bool
    ) throws(ReplicationError) -> SequenceHeader {
        guard let newest = backups.last else { throw .noRestorePoint(commit: 0, before: nil, after: nil) }
        let restoration = try storage { () throws(StorageError) in
            try LogRestoration(at: path, isFollower: true, isReplacing: isReplacing, options: options.store)
        }
        do throws(ReplicationError) {
            try Replica.fill(restoration, BranchMap.Line(backups: backups), reader, upTo: newest.after.commit)
            _ = try Replica.finish(restoration, newest.after.commit, nil) { _ in }
        } catch { throw restoration.discard(after: error) }
        return newest
    }

    // MARK: Promotion

    /// Makes the file one that continues the branch, and opens it for writing.
    ///
    /// The follower applies what is shipped and takes the next number of the branch's sequence, by a commit without changes
    /// whose chain value is in no other log. From then on the writer before is fenced: its next `ship()` throws. Everything
    /// that the object store has acknowledged is in the file; commits that were not shipped are not.
    ///
    /// After an error the follower goes on, or the promotion is tried again.
    ///
    /// - Parameter options: of the store; with ``/MakoStorage/StoreOptions/logArchiveBytes`` set, a ``Replicator`` continues the branch.
    /// - Returns: the open store. The follower is closed.
    public func promote(options: StoreOptions) throws(ReplicationError) -> Store {
        stop()
        lock.lock()
        defer { lock.unlock() }
        repeat {
            // Objects that are missing because retention deleted them must be noticed before their numbers are used.
            idleSteps = 0
            _ = try followWithLock()
        } while try !putPromotion()
        try storage { () throws(StorageError) in try file.release() }
        isClosed = true
        return try storage { () throws(StorageError) in try Store(at: path, options: options) }
    }

    /// Extends the branch by a commit without changes. Returns false when another object has the number.
    private func putPromotion() throws(ReplicationError) -> Bool {
        let (frames, end) = try storage { () throws(StorageError) in try file.promotion() }
        let content = FrameContent.encode([frames])
        var header = SequenceHeader(
            reader.database, reader.branch, state.number + 1, .frames, from: state.end, to: end)
        header.date = options.now()
        header.dateBefore = state.date
        header.previous = state.check
        header.epoch = state.epoch + 1
        header.base = state.base
        header.contentBytes = UInt64(content.count)
        header.digest = Digest.of(content)
        let bytes = header.encoded + content
        do throws(ObjectStoreError) {
            _ = try objectStore.put(reader.name(header.number), ObjectContent(bytes), .ifAbsent)
        } catch {
            guard case .exists = error else { throw .objects(error) }
            // An equal object is this follower's own: the answer to an earlier attempt was lost.
            let found = try objects { () throws(ObjectStoreError) in
                try objectStore.get(reader.name(header.number), nil)
            }
            guard found.bytes == bytes else { return false }
        }
        var report = Report()
        try apply(SequenceObject(header: header, content: content), &report)
        return true
    }
}
