import MakoStorage

/// Reads the objects of one branch.
struct BranchReader {
    let store: any ObjectStore
    let names: ReplicaNames
    let branch: UInt64
    var database: ReplicaIdentity { names.identity }
    /// Nil when the origin is lost or damaged. The sequence is of use without it.
    let origin: BranchOrigin?
    /// The reason why there is no origin.
    let originDamage: String?
    /// The format of an origin that a later version wrote.
    private var laterFormat: UInt64?
    let cache: HeaderCache

    /// Reads the origin of a branch. Returns nil when there is none, which may be lost: see ``find(_:_:_:_:)``.
    init?(
        _ store: any ObjectStore, _ names: ReplicaNames, _ branch: UInt64, _ cache: HeaderCache = HeaderCache()
    ) throws(ReplicationError) {
        let name = names.origin(branch)
        let found: ObjectBytes
        do throws(ObjectStoreError) { found = try store.get(name, nil) } catch {
            if case .notFound = error { return nil }
            throw .objects(error)
        }
        let origin = BranchOrigin(found.bytes)
        if let origin, origin.database == names.identity, origin.branch == branch {
            self.init(store, names, branch, cache, origin: origin)
        } else if let later = BranchOrigin.laterFormat(found.bytes) {
            self.init(store, names, branch, cache, damage: "has format \(later), of a later version")
            laterFormat = later
        } else {
            self.init(store, names, branch, cache, damage: origin == nil ? "is damaged" : "is of another branch")
        }
    }

    private init(
        _ store: any ObjectStore, _ names: ReplicaNames, _ branch: UInt64, _ cache: HeaderCache,
        origin: BranchOrigin? = nil, damage: String? = nil
    ) {
        self.store = store
        self.names = names
        self.branch = branch
        self.cache = cache
        self.origin = origin
        originDamage = damage
    }

    /// Throws when a later version of Mako began the branch, of which this one may misread the objects.
    func requireKnownFormat() throws(ReplicationError) {
        guard let laterFormat else { return }
        throw .later(names.origin(branch), laterFormat, BranchOrigin.format)
    }

    /// Finds a branch, also one whose origin is lost. Returns nil when no object is of the branch.
    static func find(
        _ store: any ObjectStore, _ names: ReplicaNames, _ branch: UInt64, _ cache: HeaderCache = HeaderCache()
    ) throws(ReplicationError) -> BranchReader? {
        if let reader = try BranchReader(store, names, branch, cache) { return reader }
        guard branch > 0, try listed(store, names, behind: branch - 1) == branch else { return nil }
        return try reread(store, names, branch, cache)
    }

    /// All branches of a database, in the order of their creation.
    ///
    /// Branches are numbered without gaps, so that a number before one that is there is a branch whose origin is lost.
    static func all(
        _ store: any ObjectStore, _ names: ReplicaNames, _ cache: HeaderCache = HeaderCache()
    ) throws(ReplicationError) -> [BranchReader] {
        var branches: [BranchReader] = []
        while true {
            let number = UInt64(branches.count) + 1
            if let next = try BranchReader(store, names, number, cache) {
                branches.append(next)
                continue
            }
            guard let last = try listed(store, names, behind: number - 1) else { return branches }
            // No object is of the branches between.
            for lost in number..<last { branches.append(BranchReader(store, names, lost, cache, damage: "is missing")) }
            branches.append(try reread(store, names, last, cache))
        }
    }

    /// Reads an origin again behind the listing: the branch may have been created between.
    private static func reread(
        _ store: any ObjectStore, _ names: ReplicaNames, _ branch: UInt64, _ cache: HeaderCache
    ) throws(ReplicationError) -> BranchReader {
        try BranchReader(store, names, branch, cache)
            ?? BranchReader(store, names, branch, cache, damage: "is missing")
    }

    /// The next branch behind another that has any object.
    private static func listed(
        _ store: any ObjectStore, _ names: ReplicaNames, behind branch: UInt64
    ) throws(ReplicationError) -> UInt64? {
        var after = names.end(of: branch)
        while true {
            let found = try objects { () throws(ObjectStoreError) in
                try store.list(names.folder, after: after, limit: 1)
            }
            guard let name = found.first else { return nil }
            if let number = names.branch(name), number > branch { return number }
            // The name is none of a branch.
            after = name
        }
    }

    /// Creates a branch after the last one. Another writer may take a number first; the branch then gets the next one.
    static func make(
        _ store: any ObjectStore, _ names: ReplicaNames, _ database: ReplicaIdentity,
        parent: (branch: UInt64, chain: UInt64), start: LogPlace, date: UInt64
    ) throws(ReplicationError) -> BranchReader {
        var number: UInt64 = UInt64(try all(store, names).count) + 1
        while true {
            let origin = BranchOrigin(database, branch: number, parent: parent, start: start, date: date)
            do throws(ObjectStoreError) {
                _ = try store.put(names.origin(number), ObjectContent(origin.encoded), .ifAbsent)
            } catch {
                guard case .exists = error else { throw .objects(error) }
            }
            // An equal origin is this writer's own: the answer to an earlier attempt was lost.
            if let branch = try BranchReader(store, names, number), branch.origin == origin { return branch }
            number += 1
        }
    }

    func name(_ number: UInt64) -> String { names.sequence(branch, number) }

    /// Reads the header of an object. Returns nil when the object does not exist.
    func header(_ number: UInt64) throws(ReplicationError) -> SequenceHeader? {
        if let known = cache.header(name(number)) { return known }
        let found: ObjectBytes
        do throws(ObjectStoreError) {
            found = try store.get(name(number), 0..<UInt64(SequenceHeader.bytes))
        } catch {
            if case .notFound = error { return nil }
            throw .objects(error)
        }
        let header = try decode(found, number)
        cache.note(header, name(number))
        return header
    }

    /// Decodes the header that bytes of an object begin with. Throws when it is damaged, or a later version wrote it.
    func decode(_ found: ObjectBytes, _ number: UInt64) throws(ReplicationError) -> SequenceHeader {
        let bytes = Array(found.bytes.prefix(SequenceHeader.bytes))
        guard let header = SequenceHeader(bytes) else {
            if let later = SequenceHeader.laterFormat(bytes) {
                throw .later(name(number), later, SequenceHeader.format)
            }
            throw .damaged(object: name(number), reason: "its header is damaged")
        }
        try check(header, number, total: found.total)
        return header
    }

    /// Throws when a header is not that of an object of so many bytes.
    private func check(_ header: SequenceHeader, _ number: UInt64, total: UInt64) throws(ReplicationError) {
        guard header.database == database, header.branch == branch, header.number == number else {
            throw .damaged(object: name(number), reason: "it is of another place")
        }
        let content = header.kind == .full ? 0 : header.contentBytes
        guard total == UInt64(SequenceHeader.bytes) + content else {
            throw .damaged(object: name(number), reason: "it has \(total) bytes")
        }
    }

    /// The number of the newest object; 0 without objects.
    ///
    /// The hint and the listing may be late or lost, so that each next name after both is read.
    ///
    /// - Parameter kept: what retention has left, below which no object is expected.
    func newest(from kept: RetentionMark?) throws(ReplicationError) -> UInt64 {
        var newest = max(hint(), kept?.number ?? 0)
        var after = newest > 0 ? name(newest) : nil
        while true {
            let listed = try objects { () throws(ObjectStoreError) in
                try store.list(names.sequence(branch), after: after, limit: BranchReader.listed)
            }
            for name in listed { if let number = names.number(name, in: branch) { newest = max(newest, number) } }
            guard listed.count == BranchReader.listed else { break }
            after = listed.last
        }
        while try exists(newest + 1) { newest += 1 }
        return newest
    }

    private static let listed = 1000

    private func exists(_ number: UInt64) throws(ReplicationError) -> Bool {
        do throws(ObjectStoreError) {
            _ = try store.get(name(number), 0..<1)
            return true
        } catch {
            if case .notFound = error { return false }
            throw .objects(error)
        }
    }

    // MARK: The content

    /// Reads and verifies the content of an object, without its header.
    func content(of header: SequenceHeader) throws(ReplicationError) -> [UInt8] {
        let found = try objects { () throws(ObjectStoreError) in try store.get(name(header.number), nil) }
        let bytes = Array(found.bytes.dropFirst(SequenceHeader.bytes))
        guard Array(found.bytes.prefix(SequenceHeader.bytes)) == header.encoded,
            UInt64(bytes.count) == header.contentBytes, Digest.of(bytes) == header.digest
        else { throw .damaged(object: name(header.number), reason: "its checksum is wrong") }
        return bytes
    }

    /// Reads the content of a backup in pieces, and verifies it at the end.
    func forEachPiece(
        of header: SequenceHeader, _ body: (_ bytes: [UInt8], _ offset: UInt64) throws(StorageError) -> Void
    ) throws(ReplicationError) {
        let name = object(of: header)
        let start = header.kind == .full ? 0 : UInt64(SequenceHeader.bytes)
        var digest = Digest()
        var offset: UInt64 = 0
        while offset < header.contentBytes {
            let end = min(offset + BranchReader.pieceBytes, header.contentBytes)
            let piece = try objects { () throws(ObjectStoreError) in
                try store.get(name, start + offset..<start + end)
            }
            guard UInt64(piece.bytes.count) == end - offset, piece.total == start + header.contentBytes else {
                throw .damaged(object: name, reason: "it has \(piece.total) bytes")
            }
            digest.add(piece.bytes)
            try storage { () throws(StorageError) in try body(piece.bytes, offset) }
            offset = end
        }
        guard digest.finish() == header.digest else {
            throw .damaged(object: name, reason: "its checksum is wrong")
        }
    }

    private static let pieceBytes: UInt64 = 4 << 20

    /// The name of the object with the content.
    func object(of header: SequenceHeader) -> String {
        header.kind == .full
            ? names.full(branch, header.after.commit, digest: header.digest) : name(header.number)
    }

    // MARK: The hint

    /// Reads the hint. Returns 0 when it is missing, damaged, or names no object.
    private func hint() -> UInt64 {
        guard let found = try? store.get(names.head(branch), nil) else { return 0 }
        let words = Words(found.bytes)
        let number = words.word(2)
        guard words.isSound, words.word(1) == BranchReader.headMagic, number > 0, number < 1 << 48 else { return 0 }
        return (try? exists(number)) == true ? number : 0
    }

    /// Writes the hint. A failure only slows down the next reader.
    func noteHead(_ number: UInt64) {
        let name = names.head(branch)
        let content = ObjectContent(Words.encode([BranchReader.headMagic, number], bytes: 32))
        do throws(ObjectStoreError) { _ = try store.put(name, content, .ifAbsent) } catch {
            guard case .exists = error, let old = try? store.get(name, nil) else { return }
            _ = try? store.put(name, content, .ifMatch(old.tag))
        }
    }

    private static let headMagic: UInt64 = 0x3064_6548_6f6b_614d  // "MakoHed0"
}

/// The encoding of an object's frames: for each segment its description, the count of bytes, and the frames.
enum FrameContent {
    static func encode(_ segments: [SegmentFrames]) -> [UInt8] {
        var bytes: [UInt8] = []
        for segment in segments {
            bytes += segment.header
            bytes += Words.bytes(of: UInt64(segment.frames.count))
            bytes += segment.frames
        }
        return bytes
    }

    /// Returns nil when a count exceeds the bytes.
    static func decode(_ bytes: [UInt8]) -> [SegmentFrames]? {
        var segments: [SegmentFrames] = []
        var offset = 0
        while offset < bytes.count {
            let start = offset + SegmentFrames.headerBytes + 8
            guard start <= bytes.count else { return nil }
            let count = Words(Array(bytes[start - 8..<start])).word(0)
            guard count <= UInt64(bytes.count - start) else { return nil }
            segments.append(
                SegmentFrames(
                    header: Array(bytes[offset..<offset + SegmentFrames.headerBytes]),
                    frames: Array(bytes[start..<start + Int(count)])))
            offset = start + Int(count)
        }
        return segments
    }
}
