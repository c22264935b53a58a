/// The vacuum: shrinks a file with many free pages by moving pages from its end to free places and truncating it.
///
/// Moving is copy-on-write, so readers and crashes are not affected: a transaction without operations, a few pages
/// long, for which the writer lock is taken only if it is free. The old places are free when no snapshot and no
/// retained checkpoint needs them; therefore two checkpoints are taken before and after.
///
///     checkpoints  two, even without new commits
///     moving       move pages beyond `limit` below it, in key order
///     checkpoints  two again
///     cutting      remove regions and pages behind the last one in use
///
/// The unit of work is one page, and a failure leaves the store unchanged.
final class Vacuum {
    /// The number of background steps without work and without commits before it begins by itself: two seconds, with a
    /// background thread.
    static let patience = 20
    /// The number of steps before the next attempt after one without a gain: half a minute. The obstacle, usually a
    /// snapshot, may be gone then.
    static let longPatience = 300
    private static let movesPerTransaction = 64
    /// The number of pages searched at once, the last pages of the file first.
    private static let movesPerRound = 8192

    private enum Phase {
        case resting
        /// The number of checkpoints still to take.
        case checkpoints(Int, then: Goal)
        case moving
        case cutting
    }

    private enum Goal { case moving, cutting }

    /// A page to move, as the path to it.
    private struct Move {
        var tree: UInt32
        var position: TreePosition
    }

    private let lock = Lock()
    private var phase = Phase.resting
    /// Pages from this id on must move.
    private var limit: UInt64 = 0
    /// The pages to move, the highest key first.
    private var moves: [Move] = []
    /// The trees with large values beyond the limit, each with the position of the search.
    private var largeValues: [Move] = []
    private var idleSteps = 0
    private var patience = Vacuum.patience
    private var lastCommit: UInt64 = 0

    // MARK: Driving

    /// Does one step if the store is idle. Returns false if there is nothing to do now.
    func step(_ store: Store) throws(StorageError) -> Bool {
        guard lock.tryLock() else { return false }
        defer { lock.unlock() }
        if case .resting = phase {
            let commit = store.versions.lock.withLock { store.versions.latest.commit }
            if commit != lastCommit {
                (lastCommit, idleSteps, patience) = (commit, 0, Vacuum.patience)
                return false
            }
            idleSteps += 1
            guard idleSteps >= patience else { return false }
            idleSteps = 0
            // Try again soon only after a gain.
            patience = Vacuum.longPatience
            return try begin(store)
        }
        return try advance(store, waits: false)
    }

    /// Runs until the file cannot be shrunk further now.
    func run(_ store: Store) throws(StorageError) {
        lock.lock()
        defer { lock.unlock() }
        rest()
        var length = UInt64.max
        while try begin(store) {
            while try advance(store, waits: true) {}
            let now = store.versions.lock.withLock { store.versions.space.extent }
            // Stop at pages that snapshots need.
            if now >= length { return }
            length = now
        }
    }

    private func advance(_ store: Store, waits: Bool) throws(StorageError) -> Bool {
        do throws(StorageError) {
            switch phase {
            case .resting: return false
            case .checkpoints(let left, let goal): return try checkpoint(store, left, goal, waits: waits)
            case .moving: return try move(store, waits: waits)
            case .cutting: return try cut(store, waits: waits)
            }
        } catch {
            rest()
            throw error
        }
    }

    private func rest() {
        phase = .resting
        moves = []
        largeValues = []
        idleSteps = 0
    }

    /// Acquires the writer lock. Without waiting, returns false if it is held.
    private func takeWriterLock(_ store: Store, waits: Bool) throws(StorageError) -> Bool {
        if !waits {
            guard store.writerLock.tryTake() else { return false }
        } else {
            try store.takeWriterLock()
        }
        if let refusal = store.writeRefusal {
            store.writerLock.release()
            throw refusal
        }
        store.pipeline.rollBackRefused()
        return true
    }

    // MARK: Planning

    /// Starts the vacuum. Returns false if the file is short enough.
    private func begin(_ store: Store) throws(StorageError) -> Bool {
        let (limit, length) = try Vacuum.lengths(of: store)
        guard length > limit + limit / 16 else { return false }
        self.limit = limit
        phase = .checkpoints(2, then: .moving)
        return true
    }

    /// Whether an idle store would shrink its file by a megabyte or more, for which the background thread is started.
    static func isDue(in store: Store) throws(StorageError) -> Bool {
        let (limit, length) = try lengths(of: store)
        return length > limit + limit / 16 + 256
    }

    /// Returns the page from which on pages must move, and the length of the file in pages, without the reserve.
    private static func lengths(of store: Store) throws(StorageError) -> (limit: UInt64, length: UInt64) {
        let (count, extent) = store.versions.lock.withLock {
            (UInt64(store.versions.space.liveCount), store.versions.space.extent)
        }
        // Keep a sixteenth and a directory's pages free, so that the next writes do not grow the file at once.
        let limit = count + count / 16 + 16
        let fileBytes = try storage { () throws(FileError) in try store.dataFile.file.size() }
        let filePages = fileBytes / UInt64(pageBytes)
        let reserve = store.reservePages(of: filePages)
        return (limit, max(extent, filePages - min(filePages, reserve)))
    }

    /// Finds the pages to move.
    private func search(_ store: Store) throws(StorageError) {
        // The snapshot keeps writers from reusing the pages that are examined.
        guard let source = try store.capture(label: "vacuum") else { throw .closed(path: store.path) }
        defer { source.snapshot.close() }
        let live = source.live
        var round = Round()
        defer { round.page.base.deallocate() }
        search: for region in live.indices.reversed() {
            let first = SpaceMap.reserved(region: region)
            for bit in (first..<SpaceMap.pagesPerRegion).reversed()
            where live[region][bit / 64] & 1 << UInt64(bit % 64) != 0 {
                let page = SpaceMap.page(region: region, bit: bit)
                if page < limit || round.moves.count == Vacuum.movesPerRound { break search }
                try round.look(at: page, store.frames)
            }
        }
        moves = round.moves.sorted { $1.tree == $0.tree ? $1.position.isBefore($0.position) : $1.tree < $0.tree }
        largeValues = round.trees.sorted().map { Move(tree: $0, position: .start) }
        phase = .moving
    }

    /// The result of one search.
    private struct Round {
        var moves: [Move] = []
        var trees = Set<UInt32>()
        let page = Page(.allocate(byteCount: pageBytes + 1024, alignment: 16))

        mutating func look(at number: UInt64, _ frames: FrameStore) throws(StorageError) {
            try frames.copyPage(number, to: page.base)
            try PageCheck.validate(page.base)
            switch PageType(rawValue: page.type) {
            case .integerLeaf where page.count > 0:
                moves.append(Move(tree: page.tree, position: .integer(IntegerNode.keys(page.base)[0])))
            case .integerInner where page.count > 1:
                // Use the second key, because the first key of an inner node is not maintained.
                moves.append(Move(tree: page.tree, position: .integer(IntegerNode.keys(page.base)[1])))
            case .byteLeaf, .byteInner:
                moves.append(Move(tree: page.tree, position: .bytes([UInt8](ByteNode.lower(page.base)))))
            case .overflow: trees.insert(page.tree)
            default: break
            }
        }
    }

    // MARK: Moving

    private func move(_ store: Store, waits: Bool) throws(StorageError) -> Bool {
        guard !moves.isEmpty || !largeValues.isEmpty else {
            phase = .checkpoints(2, then: .cutting)
            return true
        }
        guard try takeWriterLock(store, waits: waits) else { return false }
        let writer = Writer(store: store, base: store.newest)
        do throws(StorageError) {
            writer.useNumbers(below: limit, count: Vacuum.movesPerTransaction * 2)
            var count = 0
            while count < Vacuum.movesPerTransaction, let next = moves.last {
                // Without free pages below the limit the found pages stay.
                guard try writer.relocate(next.tree, next.position, beyond: limit) else {
                    if count == 0 { moves = [] }
                    break
                }
                moves.removeLast()
                count += 1
            }
            if moves.isEmpty { try moveLargeValues(writer) }
        } catch {
            store.rollback(writer)
            throw error
        }
        lastCommit = store.newest.commit + (writer.hasChanges ? 1 : 0)
        try store.commit(writer, .async)
        return true
    }

    /// Visits the next entries of a tree, and rewrites values beyond the limit.
    private func moveLargeValues(_ writer: Writer) throws(StorageError) {
        guard let next = largeValues.last else { return }
        largeValues.removeLast()
        if let position = try writer.relocateLargeValues(next.tree, from: next.position, beyond: limit) {
            largeValues.append(Move(tree: next.tree, position: position))
        }
    }

    // MARK: Checkpoints and truncation

    private func checkpoint(_ store: Store, _ left: Int, _ goal: Goal, waits: Bool) throws(StorageError) -> Bool {
        guard left > 0 else {
            switch goal {
            case .moving: try search(store)
            case .cutting: phase = .cutting
            }
            return true
        }
        if waits { try store.flush(.durable) }
        guard try returnIdleNumbers(store, waits: waits) else { return false }
        if waits { store.checkpointer.lock.lock() } else if !store.checkpointer.lock.tryLock() { return false }
        defer { store.checkpointer.lock.unlock() }
        if waits { try store.checkpointer.runToEnd(store) }
        // A checkpoint that is already running may have begun before the last move.
        if store.checkpointer.isRunning { return false }
        store.versions.lock.withLock { store.versions.space.settle() }
        _ = try store.checkpointer.begin(store, anyway: true)
        if waits { try store.checkpointer.runToEnd(store) }
        phase = .checkpoints(left - 1, then: goal)
        return true
    }

    /// Returns the page ids that were taken for the next transaction, because they may be at the end of the file.
    private func returnIdleNumbers(_ store: Store, waits: Bool) throws(StorageError) -> Bool {
        guard try takeWriterLock(store, waits: waits) else { return false }
        store.returnIdleNumbers()
        store.writerLock.release()
        return true
    }

    private func cut(_ store: Store, waits: Bool) throws(StorageError) -> Bool {
        guard try returnIdleNumbers(store, waits: waits) else { return false }
        if waits { store.checkpointer.lock.lock() } else if !store.checkpointer.lock.tryLock() { return false }
        defer { store.checkpointer.lock.unlock() }
        if waits { try store.checkpointer.runToEnd(store) }
        if store.checkpointer.isRunning { return false }
        let named = max(
            store.checkpointer.last.regions.count, store.checkpointer.previous?.regions.count ?? 0)
        // Under the space lock, so that no page behind the new end is allocated meanwhile.
        let again: Bool
        do throws(FileError) {
            again = try store.versions.lock.withLock { () throws(FileError) in
                store.versions.space.dropEmptyRegions()
                // Regions that a retained checkpoint names stay until it is released, also after a failed attempt.
                if named > store.versions.space.regionCount { return true }
                store.versions.space.forgetTop()
                let used = store.versions.space.extent
                // Keep half of the reserve, which is enough for the next writes, because the file should be short.
                let lacking =
                    Int(clamping: store.reservePages(of: used) / 2) - store.versions.space.freeCount(below: used)
                let end = used + UInt64(max(0, lacking))
                let file = store.dataFile.file
                let before = try file.size()
                if before > end * UInt64(pageBytes) {
                    try file.resize(to: end * UInt64(pageBytes))
                    store.events?.note(.shrank(fromBytes: before, toBytes: end * UInt64(pageBytes)))
                    store.versions.room = FileRoom(pages: end)
                    patience = Vacuum.patience
                }
                return false
            }
        } catch { throw StorageError(error) }
        // The retained checkpoints still name the removed regions.
        if again { phase = .checkpoints(2, then: .cutting) } else { rest() }
        return true
    }
}
