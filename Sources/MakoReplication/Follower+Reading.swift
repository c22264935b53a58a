import MakoStorage

/// An object of a sequence, and its content where it was read with the header.
struct SequenceObject {
    let header: SequenceHeader
    var content: [UInt8]?
}

extension Follower {
    /// The number of steps without a new object after which the follower looks for objects behind a missing one.
    private static let stepsPerSearch: UInt64 = 16

    /// Reads the next object. Returns nil when there is none.
    func next(_ report: inout Report) throws(ReplicationError) -> SequenceObject? {
        if let object = try reader.object(state.number + 1) {
            idleSteps = 0
            return object
        }
        // Counted before the search, whose object begins to count anew.
        let isSearched = idleSteps % Follower.stepsPerSearch == 0
        idleSteps += 1
        guard isSearched, let later = try reader.first(behind: state.number) else { return nil }
        // It was shipped after it was looked for.
        if later == state.number + 1 { return try reader.object(later) }
        let name = reader.name(state.number + 1)
        try restart(.gone(object: name), after: .damaged(object: name, reason: "it is missing"), &report)
        return try next(&report)
    }

    /// Passes the next objects, which cannot be read, if the first readable one behind them continues the file's log: then
    /// no commit is theirs alone.
    ///
    /// - Returns: whether it does.
    func passUnreadable(_ report: inout Report) throws(ReplicationError) -> Bool {
        var number = state.number + 1
        while let later = try reader.first(behind: number) {
            do throws(ReplicationError) {
                guard let header = try reader.header(later), header.before == state.end, header.epoch >= state.epoch
                else { return false }
                report.passed += (state.number + 1..<later).map(reader.name)
                (state.number, state.check) = (later - 1, header.previous)
                return true
            } catch {
                guard case .damaged = error else { throw error }
            }
            number = later
        }
        return false
    }
}

extension BranchReader {
    /// The bytes of the first request for an object: those of most objects of frames.
    private static let firstBytes: UInt64 = 2 << 20

    /// Reads the header of an object, and its content if it has frames. Returns nil when there is no object.
    func object(_ number: UInt64) throws(ReplicationError) -> SequenceObject? {
        let found: ObjectBytes
        do throws(ObjectStoreError) { found = try store.get(name(number), 0..<BranchReader.firstBytes) } catch {
            if case .notFound = error { return nil }
            throw .objects(error)
        }
        let header = try decode(found, number)
        let isWhole = header.kind == .frames && UInt64(found.bytes.count) == found.total
        return SequenceObject(
            header: header, content: isWhole ? Array(found.bytes.dropFirst(SequenceHeader.bytes)) : nil)
    }

    /// The content of an object of frames, verified.
    func content(of object: SequenceObject) throws(ReplicationError) -> [UInt8] {
        guard let content = object.content else { return try self.content(of: object.header) }
        guard Digest.of(content) == object.header.digest else {
            throw .damaged(object: name(object.header.number), reason: "its checksum is wrong")
        }
        return content
    }

    /// The number of the first object behind another, by the listing.
    func first(behind number: UInt64) throws(ReplicationError) -> UInt64? {
        let listed = try objects { () throws(ObjectStoreError) in
            try store.list(names.sequence(branch), after: number == 0 ? nil : name(number), limit: 1)
        }
        return listed.first.flatMap { names.number($0, in: branch) }
    }

    /// The backups that lead to one: a full one, incremental ones, and itself.
    func backups(through newest: SequenceHeader) throws(ReplicationError) -> [SequenceHeader] {
        var line = [newest]
        while let first = line.first, first.kind != .full {
            guard first.kind == .part, first.base < first.number, let base = try header(first.base) else {
                throw .damaged(
                    object: name(first.number), reason: "what it builds on is missing, the object \(name(first.base))")
            }
            line.insert(base, at: 0)
        }
        return line
    }

    /// The backups that lead to the newest one whose objects are there.
    ///
    /// - Parameters:
    ///   - number: the newest one comes behind this object.
    ///   - commit: which it has, or a later one.
    ///   - unusable: the names of objects that are damaged or missing.
    /// - Returns: nothing when there is none.
    func newestBackups(
        behind number: UInt64, reaching commit: UInt64, without unusable: Set<String> = []
    ) throws(ReplicationError) -> [SequenceHeader] {
        while true {
            let mark = try kept()
            let found = try backups(from: newest(from: mark), behind: number, reaching: commit, without: unusable)
            guard found.isEmpty else { return found }
            // Retention may have deleted them meanwhile, and has left later ones.
            if try kept() == mark { return [] }
        }
    }

    private func backups(
        from newest: UInt64, behind number: UInt64, reaching commit: UInt64, without unusable: Set<String>
    ) throws(ReplicationError) -> [SequenceHeader] {
        var next = newest
        while next > number {
            do throws(ReplicationError) {
                guard let header = try header(next) else {
                    next -= 1
                    continue
                }
                if header.kind == .frames {
                    guard header.base > number, header.base < next else { return [] }
                    next = header.base
                    continue
                }
                if header.after.commit < commit { return [] }
                let line = try backups(through: header)
                if unusable.isDisjoint(with: line.map(object)) { return line }
            } catch {
                guard case .damaged = error else { throw error }
            }
            next -= 1
        }
        return []
    }
}

/// Where a follower begins.
struct FollowerStart {
    enum Position {
        /// The file ends at a place, within or behind an object that continues the state.
        case found(LogPlace, Follower.State)
        /// Instead of the file that ends at the place.
        case restart(Follower.Restart, LogPlace?)
    }

    let reader: BranchReader
    let position: Position

    /// Finds the branch and the place of a file.
    static func find(
        _ names: ReplicaNames, _ store: any ObjectStore, _ path: String, _ options: Follower.Options
    ) throws(ReplicationError) -> FollowerStart {
        let branches = try branches(names, store, options)
        let look = try storage { () throws(StorageError) in try FollowerFile.look(at: path, options.store) }
        guard let look else {
            for reader in branches {
                if try !reader.newestBackups(behind: 0, reaching: 0).isEmpty {
                    return FollowerStart(reader: reader, position: .restart(.newFile, nil))
                }
            }
            throw .noRestorePoint(commit: 0, before: nil, after: nil)
        }
        guard ReplicaIdentity(high: look.high, low: look.low).name == names.database else {
            throw .notFollowing(path: path, reason: "it is of another database")
        }
        guard look.isFollower else { throw .notFollowing(path: path, reason: "it is a database of its own") }
        var gone: FollowerStart?
        for reader in branches {
            switch try locate(look.place, reader) {
            case .found(let state): return FollowerStart(reader: reader, position: .found(look.place, state))
            case .foreign: continue
            case .gone(let object):
                let start = FollowerStart(reader: reader, position: .restart(.gone(object: object), look.place))
                gone = gone ?? start
            }
        }
        if let gone { return gone }
        throw .notFollowing(
            path: path,
            reason: options.branch.map { "its commit \(look.place.commit) is not of branch \($0)" }
                ?? "its commit \(look.place.commit) is of no branch")
    }

    /// The branches, the newest first.
    private static func branches(
        _ names: ReplicaNames, _ store: any ObjectStore, _ options: Follower.Options
    ) throws(ReplicationError) -> [BranchReader] {
        guard let branch = options.branch else { return try BranchReader.all(store, names).reversed() }
        guard let reader = try BranchReader.find(store, names, branch) else { throw .noBranch(branch) }
        return [reader]
    }

    private enum Location {
        case found(Follower.State)
        /// The branch does not pass the place.
        case foreign
        /// The objects there are gone, the newest of which has the name.
        case gone(object: String)
    }

    /// Finds a place in a branch, from its end on.
    private static func locate(_ place: LogPlace, _ reader: BranchReader) throws(ReplicationError) -> Location {
        var number = try reader.newest(from: reader.kept())
        guard number > 0 else { return .foreign }
        let first = try reader.first(behind: 0) ?? 1
        var lost: UInt64?
        while number >= first {
            let header = try readable(number, reader)
            if let header {
                if header.after == place { return .found(Follower.State(after: header)) }
                if header.before == place { return .found(try state(before: header, reader)) }
                if header.after.commit < place.commit { break }
                if header.before.commit < place.commit {
                    guard let passes = try Self.passes(place, header, reader) else {
                        return .gone(object: reader.name(number))
                    }
                    return passes ? .found(try state(before: header, reader)) : .foreign
                }
            }
            lost = header == nil ? number : nil
            number -= 1
        }
        if let lost { return .gone(object: reader.name(lost)) }
        // Behind the end of the branch, or before what is left of it.
        return number < first && first > 1 ? .gone(object: reader.name(first - 1)) : .foreign
    }

    /// Nil when an object is missing or damaged.
    private static func readable(
        _ number: UInt64, _ reader: BranchReader
    ) throws(ReplicationError) -> SequenceHeader? {
        do throws(ReplicationError) { return try reader.header(number) } catch {
            if case .damaged = error { return nil }
            throw error
        }
    }

    private static func state(
        before header: SequenceHeader, _ reader: BranchReader
    ) throws(ReplicationError) -> Follower.State {
        guard header.number > 1, let before = try reader.header(header.number - 1) else {
            return Follower.State(before: header)
        }
        return Follower.State(after: before)
    }

    /// Whether a place is in the frames of an object. Nil when retention has deleted the object since its header was read.
    private static func passes(
        _ place: LogPlace, _ header: SequenceHeader, _ reader: BranchReader
    ) throws(ReplicationError) -> Bool? {
        guard header.kind == .frames else { return false }
        let content: [UInt8]
        do throws(ReplicationError) { content = try reader.content(of: header) } catch {
            if case .objects(.notFound) = error { return nil }
            throw error
        }
        guard let segments = FrameContent.decode(content) else { return false }
        return segments.contains { $0.contains(place) }
    }
}
