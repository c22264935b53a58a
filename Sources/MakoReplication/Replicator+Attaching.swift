import MakoStorage

extension Replicator {
    /// The relation between the log of a store and a place.
    enum Link {
        /// The log contains the place, or ends there.
        case continued
        /// The log contains other commits at the place.
        case foreign
        /// The log begins after the place.
        case gone
    }

    static func link(_ place: LogPlace, _ store: Store) throws(ReplicationError) -> Link {
        let newest = try storage { () throws(StorageError) in try store.makeDurable() }
        if place.lsn == newest.lsn { return place == newest ? .continued : .foreign }
        if place.lsn > newest.lsn { return .foreign }
        let piece = try storage { () throws(StorageError) in try store.archivedLog(after: place, limit: 1) }
        if piece.end != place { return .continued }
        switch piece.stop {
        // The frame behind the place continues its chain value.
        case .notSelfContained: return .continued
        case .foreign: return .foreign
        case .gone, .upToDate, .limit: return .gone
        }
    }

    /// Finds the newest branch that a store continues, and its state.
    ///
    /// - Parameter first: the origin of the first branch, created when the database has none.
    static func attach(
        _ store: Store, _ objectStore: any ObjectStore, _ names: ReplicaNames, _ first: BranchOrigin
    ) throws(ReplicationError) -> (BranchReader, State) {
        var branches = try BranchReader.all(objectStore, names)
        if branches.isEmpty {
            do throws(ObjectStoreError) {
                _ = try objectStore.put(names.origin(1), ObjectContent(first.encoded), .ifAbsent)
            } catch {
                // Two writers that begin at the same time share the branch; its first object fences one of them.
                guard case .exists = error else { throw .objects(error) }
            }
            branches = try BranchReader.all(objectStore, names)
        }
        var (failure, gone): (ReplicationError?, ReplicationError?)
        var fence: (error: ReplicationError, departure: UInt64)?
        for branch in branches.reversed() {
            let state: State
            do throws(ReplicationError) { state = try State(of: branch) } catch {
                // Nothing proves that the store continues this branch; it may continue an earlier one.
                switch error {
                case .damaged(branch.names.origin(branch.branch), _), .storage(.unsupportedVersion): break
                default: throw error
                }
                failure = failure ?? error
                continue
            }
            switch try link(state.end, store) {
            case .continued:
                try branch.requireKnownFormat()
                return (branch, state)
            case .foreign:
                let error = ReplicationError.fenced(
                    branch: branch.branch,
                    reason: "it leads to commit \(state.end.commit), which is not in the log of this one")
                guard let departure = try Replicator.departure(of: store, from: branch, before: state.number) else {
                    failure = failure ?? error
                    continue
                }
                if fence.map({ departure > $0.departure }) ?? true { fence = (error, departure) }
            case .gone: gone = .logGone(branch: branch.branch, commit: state.end.commit)
            }
        }
        // A branch that begins in another log, as that of a restored database, says less than one whose log is gone.
        throw fence?.error ?? gone ?? failure ?? .noBranch(1)
    }

    /// The last place of a branch that is in the log of a store: the store shipped to the branch, or comes from it, until another database
    /// extended it.
    ///
    /// - Parameter end: the object whose end is not in the log.
    /// - Returns: its LSN. Nil when the log has no place of the branch, or has it no longer.
    private static func departure(
        of store: Store, from branch: BranchReader, before end: UInt64
    ) throws(ReplicationError) -> UInt64? {
        var departure: UInt64?
        if let start = branch.origin?.start, try link(start, store) == .continued { departure = start.lsn }
        // Behind the first place that is not in the log, none is.
        var (inside, outside) = (0 as UInt64, end)
        while outside > inside + 1 {
            let middle = inside + (outside - inside) / 2
            let place: LogPlace?
            do throws(ReplicationError) { place = try branch.header(middle)?.after } catch {
                guard error.isOfUnusableObject else { throw error }
                place = nil
            }
            let relation = try place.map { place throws(ReplicationError) in try link(place, store) }
            if let place, relation == .continued { departure = place.lsn }
            if relation == .foreign { outside = middle } else { inside = middle }
        }
        return departure
    }
}

extension Replicator.State {
    /// Reads the state of a branch from its newest objects.
    init(of reader: BranchReader) throws(ReplicationError) {
        let newest = try reader.newest(from: reader.kept())
        if newest == 0 {
            guard let origin = reader.origin else {
                try reader.requireKnownFormat()
                throw .damaged(
                    object: reader.names.origin(reader.branch),
                    reason: "it \(reader.originDamage ?? "is missing"), and no object says where the branch ends")
            }
            self.init(origin)
            return
        }
        // The newest object says where the branch ends, with an origin or without.
        let last = try Replicator.State.header(newest, reader)
        self.init(before: last)
        accept(last)
        var number = last.kind == .frames ? last.base : last.number
        let own = frameBytes
        (partBytes, backup) = (0, nil)
        while number > 0 {
            let header = try Replicator.State.header(number, reader)
            if backup == nil { (backup, backupEpoch) = ((number, header.point), header.epoch) }
            switch header.kind {
            case .frames: throw .damaged(object: reader.name(number), reason: "it is no backup")
            case .part:
                partBytes += header.contentBytes
                guard header.base < number else {
                    throw .damaged(object: reader.name(number), reason: "it builds on a later object")
                }
                number = header.base
            case .full:
                fullBytes = header.contentBytes
                number = 0
            }
        }
        frameBytes = own
    }

    private static func header(_ number: UInt64, _ reader: BranchReader) throws(ReplicationError) -> SequenceHeader {
        guard let header = try reader.header(number) else {
            throw .damaged(object: reader.name(number), reason: "it is missing")
        }
        return header
    }
}
