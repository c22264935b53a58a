import Synchronization

/// The fixed pages of the data file: reads them with their copies, and writes them in an order that survives a crash.
final class DataFile {
    let file: any File
    private(set) var header: FileHeader
    /// The keys of an encrypted database.
    let keys: DatabaseKeys?
    let codec: PageCodec
    /// The fork generation of the process that opened the file.
    private let generation = Forks.generation
    /// The directory of the files; nil in a read-only store. Kept open, because a sync must not fail for lack of a file
    /// descriptor.
    var directory: (any FileDirectory)?
    /// The header lock. Guards the header, its updates and `encryption`.
    let lock = Lock()
    /// The current encryption of the database.
    @exclusivity(unchecked) var encryption: Encryption?
    /// The `FormatFeatures` in the header.
    let features: Atomic<UInt64>
    /// The next write id, and the high-water mark: the limit that the header records before a write id below it is used.
    let nextWriteID: Atomic<UInt64>
    let highWaterMark: Atomic<UInt64>
    /// The only intact copy of the header, found by opening or left by a failed write; nil if both are intact.
    private var soundCopy: Int?
    /// Whether the lock of the file was released, so that the header must not be written. Guarded by `lock`.
    @exclusivity(unchecked) var isReleased = false
    /// The damages of copies that opening has skipped.
    private(set) var findings: [String] = []

    private init(
        file: any File, header: FileHeader, keys: DatabaseKeys?, entropy: any Entropy, findings: [String]
    ) {
        self.file = file
        self.header = header
        self.keys = keys
        codec = PageCodec(of: header.id, keys: keys, entropy: entropy)
        self.findings = findings
        features = Atomic(header.mustRead)
        nextWriteID = Atomic(header.highWaterMark)
        highWaterMark = Atomic(header.highWaterMark)
    }

    // MARK: Creating

    /// Writes an empty database to an empty file, without a sync.
    ///
    /// - Parameters:
    ///   - commit: the number of the empty state.
    ///   - encryption: the encryption; nil for an unencrypted database.
    static func create(
        _ file: any File, segmentBytes: Int, commit: UInt64 = 0, encryption: Encryption?, entropy: any Entropy
    ) throws(StorageError) {
        let id = DatabaseID(high: entropy.next(), low: entropy.next())
        var header = FileHeader(
            id: id, mustRead: 0, highWaterMark: FileHeader.writeIDStock,
            segmentBytes: SegmentHeader.segmentBytes(wanted: segmentBytes), newestSegment: 0, generation: 1)
        var codec = PageCodec(of: id)
        if let encryption {
            let (keys, record) = try DatabaseKeys.make(for: encryption, database: id, path: file.path, entropy: entropy)
            header.mustRead = FormatFeatures.encryption.rawValue
            header.key = record
            codec = PageCodec(of: id, keys: keys, entropy: entropy)
        }
        try storage { () throws(FileError) in try create(file, header, commit, codec) }
    }

    private static func create(_ file: any File, _ header: FileHeader, _ commit: UInt64, _ codec: PageCodec)
        throws(FileError)
    {
        let space = SpaceMap()
        _ = space.allocate()  // adds region 0
        let region = SpaceMap.RegionState(copy: 0, writeID: 1)
        let directory = Directory(regions: [region], trees: [], names: TreeNames()).encoded()
        let run = Overflow(
            firstPage: UInt64(SpaceMap.reserved(region: 0)), firstWriteID: 2, length: directory.count,
            stored: directory.count, isCompressed: false)
        var words = space.live[0]
        SpaceMap.set(run.firstPage, in: &words)
        let meta = Meta(number: 0, commit: commit, point: 3, log: .start, nextTreeID: 1, directory: run, regions: 1)
        try writeFixedPages(header, meta, to: file, codec)
        try write(bitmap: words, region: 0, region, to: file, codec)
        try write(directory: directory, run, to: file, codec)
    }

    /// Writes both copies of the header, and a meta to both slots of a new file.
    ///
    /// - Parameter meta: the meta, with an even number; the second slot gets the next number.
    static func writeFixedPages(_ header: FileHeader, _ meta: Meta, to file: any File, _ codec: PageCodec)
        throws(FileError)
    {
        var bytes = [UInt8](repeating: 0, count: SpaceMap.fixedPages * pageBytes)
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            for copy in 0..<FileHeader.copies { header.write(to: base + copy * pageBytes, copy: copy) }
            for number in meta.number...meta.number + 1 {
                var meta = meta
                meta.number = number
                for copy in 0..<Meta.copies {
                    let place = Int(Meta.page(number: number, copy: copy))
                    meta.write(to: base + place * pageBytes, copy: copy, codec)
                }
            }
        }
        try writeBytes(file, bytes, count: bytes.count, at: 0)
    }

    // MARK: Pages of a checkpoint

    /// Writes a region's bitmap to the place in its state.
    static func write(
        bitmap words: [UInt64], region: Int, _ state: SpaceMap.RegionState, to file: any File, _ codec: PageCodec
    ) throws(FileError) {
        let number = SpaceMap.bitmapPage(region: region, copy: Int(state.copy))
        var bytes = [UInt8](repeating: 0, count: pageBytes)
        bytes.withUnsafeMutableBytes { buffer in
            guard let page = buffer.baseAddress else { return }
            Page(page).format(page: number, type: .bitmap, level: 0, writeID: state.writeID, tree: 0)
            words.withUnsafeBytes {
                (page + Page.bodyOffset).copyMemory(
                    from: $0.baseAddress ?? UnsafeRawPointer(page), byteCount: $0.count)
            }
            codec.seal(page, number: number)
        }
        try writeBytes(file, bytes, count: pageBytes, at: number * UInt64(pageBytes))
    }

    /// Writes a directory to its run of pages, which all have the same write id.
    static func write(directory: [UInt8], _ run: Overflow, to file: any File, _ codec: PageCodec) throws(FileError) {
        let pageCount = max(1, run.pageCount)
        var bytes = [UInt8](repeating: 0, count: pageCount * pageBytes)
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            directory.withUnsafeBytes { directory in
                for index in 0..<pageCount {
                    let page = base + index * pageBytes
                    let number = run.firstPage + UInt64(index)
                    Page(page).format(page: number, type: .directory, level: 0, writeID: run.firstWriteID, tree: 0)
                    let offset = index * Overflow.payloadBytes
                    let count = min(Overflow.payloadBytes, directory.count - offset)
                    if count > 0, let source = directory.baseAddress {
                        (page + Page.bodyOffset).copyMemory(from: source + offset, byteCount: count)
                    }
                    codec.seal(page, number: number)
                }
            }
        }
        try writeBytes(file, bytes, count: bytes.count, at: run.firstPage * UInt64(pageBytes))
    }

    // MARK: Opening

    /// Reads the header block from the better of its copies.
    ///
    /// - Parameters:
    ///   - repairing: whether to overwrite a damaged or older copy with the better one, because the file will be
    ///     written.
    ///   - access: the access to the keys of an encrypted file.
    static func open(
        _ file: any File, repairing: Bool = false, _ access: KeyAccess = .secret(nil),
        entropy: any Entropy = SystemEntropy()
    ) throws(StorageError) -> DataFile {
        let bytes = try readPages(file, from: 0, count: FileHeader.copies)
        var best: FileHeader?
        var findings: [String] = []
        var version: UInt32?
        var foreign = 0
        var generations: [UInt64?] = []
        for copy in 0..<FileHeader.copies {
            let reading = bytes.withUnsafeBytes { buffer -> FileHeader.Reading in
                guard let base = buffer.baseAddress, buffer.count >= (copy + 1) * pageBytes else {
                    return DataFile.beginsLikeOne(buffer) ? .damaged : .foreign
                }
                return FileHeader.read(base + copy * pageBytes, copy: copy)
            }
            generations.append(nil)
            switch reading {
            case .good(let header):
                generations[copy] = header.generation
                if header.generation > best?.generation ?? 0 { best = header }
            case .version(let found): version = found
            case .damaged: findings.append("copy \(copy) of the header block is damaged")
            case .foreign:
                foreign += 1
                findings.append("copy \(copy) of the header block is damaged beyond recognition")
            }
        }
        if let header = best {
            try header.checkFeatures(path: file.path, writing: repairing)
            try header.checkSegments(path: file.path, addresses: Int.self)
            let keys = try access.keys(of: header, path: file.path)
            let dataFile = DataFile(file: file, header: header, keys: keys, entropy: entropy, findings: findings)
            if repairing, let sound = generations.firstIndex(of: header.generation),
                generations != [header.generation, header.generation]
            {
                dataFile.soundCopy = sound
                try storage { () throws(FileError) in try dataFile.update { _ in } }
            }
            return dataFile
        }
        if let version {
            throw .unsupportedVersion(path: file.path, found: version, supported: FileHeader.version)
        }
        if foreign == FileHeader.copies {
            throw .notADatabase(path: file.path, reason: "it does not begin like one")
        }
        throw .corrupted(page: 0, reason: "both copies of the header block are damaged or missing")
    }

    /// Whether a file that is too short for a header starts as one.
    private static func beginsLikeOne(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= 48 && bytes.loadUnaligned(fromByteOffset: 40, as: UInt64.self) == FileHeader.magic
    }

    static func readPages(_ file: any File, from first: UInt64, count: Int) throws(StorageError) -> [UInt8] {
        try storage { () throws(FileError) in
            try readBytes(file, count: count * pageBytes, at: first * UInt64(pageBytes))
        }
    }

    /// Returns the readable metas, the newest first, each from the better of its copies.
    func readMetas() throws(StorageError) -> [Meta] {
        let count = 2 * Meta.copies
        var bytes = try DataFile.readPages(file, from: Meta.firstPage, count: count)
        var metas: [Meta] = []
        for index in 0..<count {
            let place = Meta.firstPage + UInt64(index)
            let meta = bytes.withUnsafeMutableBytes { buffer -> Meta? in
                guard let base = buffer.baseAddress, buffer.count >= (index + 1) * pageBytes else { return nil }
                return Meta(base + index * pageBytes, place: place, codec)
            }
            if let meta {
                if !metas.contains(meta) { metas.append(meta) }
            } else {
                findings.append(
                    "copy \(index % 2) of meta slot \(index / 2 == 0 ? "A" : "B") (page \(place)) is damaged")
            }
        }
        return metas.sorted { $0.number > $1.number }
    }

    // MARK: Writing

    /// Rewrites the header block, one copy after the other, so that one of the two is intact at every moment.
    func update(_ change: (inout FileHeader) -> Void) throws(FileError) {
        if isReleased { throw .released(file.path) }
        var next = header
        change(&next)
        next.generation += 1
        var bytes = GrowingBytes(alignment: pageBytes)
        defer { bytes.deallocate() }
        let block = bytes.extend(by: pageBytes)
        block.initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
        // Never overwrite the only intact copy first. Sync only these bytes, because a checkpoint may just have written
        // many others, for which a writer would have to wait.
        for copy in soundCopy == 0 ? [1, 0] : [0, 1] {
            soundCopy = 1 - copy
            next.write(to: block, copy: copy)
            let place = UInt64(copy * pageBytes)
            try file.writeDurably(bytes.bytes, at: place)
        }
        soundCopy = nil
        header = next
    }

    /// Takes over the header that another store has written to the file, with both copies intact.
    func adopt(_ other: DataFile) {
        lock.withLock {
            (header, soundCopy) = (other.header, nil)
            features.store(header.mustRead, ordering: .relaxed)
            nextWriteID.store(header.highWaterMark, ordering: .relaxed)
            highWaterMark.store(header.highWaterMark, ordering: .relaxed)
        }
    }

    /// Makes the name of a segment durable, then records in the header that it is in use. Must come after the segment's
    /// header is durable and before a commit in it counts as durable, so that a missing end of the log is detected, and
    /// a segment that was never started is not missed.
    func recordSegment(_ number: UInt64) throws(FileError) {
        try syncDirectory()
        try lock.withLock { () throws(FileError) in
            try update { $0.newestSegment = number }
        }
    }

    /// The same behind frames that are in the file, so that also a refusal by the system is final.
    func recordSegment(_ number: UInt64, behind frames: UnsafeRawBufferPointer?) throws(FileError) {
        do throws(FileError) { try recordSegment(number) } catch {
            throw frames?.isEmpty == false ? error.ofRest : error
        }
    }

    /// Makes the names of the files durable.
    func syncDirectory() throws(FileError) { try directory?.sync() }

    /// Raises the high-water mark of write ids in the header, before one of them is used.
    ///
    /// - Parameter isWritten: false for a read-only store.
    func raiseHighWaterMark(above writeID: UInt64, isWritten: Bool) throws(FileError) {
        try lock.withLock { () throws(FileError) in
            guard writeID > highWaterMark.load(ordering: .relaxed) else { return }
            let raised = writeID + FileHeader.writeIDStock
            if isWritten { try update { $0.highWaterMark = raised } }
            highWaterMark.store(raised, ordering: .relaxed)
        }
    }

    /// Whether the parent of this process opened the file, before a fork.
    var isInherited: Bool {
        generation != Forks.generation
    }

    /// Waits for the header's writes of other threads: a call that began before may raise the high-water mark of write ids
    /// or change the key.
    func closeFiles() {
        lock.withLock {
            directory?.close()
            file.close()
        }
    }

    /// Rewrites the damaged copies of a meta, one after the other.
    func repair(_ meta: Meta) throws(StorageError) {
        for copy in 0..<Meta.copies {
            let place = Meta.page(number: meta.number, copy: copy)
            var bytes = try DataFile.readPages(file, from: place, count: 1)
            let found = bytes.withUnsafeMutableBytes { buffer in
                buffer.count == pageBytes ? buffer.baseAddress.flatMap { Meta($0, place: place, codec) } : nil
            }
            if found != meta {
                try storage { () throws(FileError) in
                    try write(meta, copy: copy)
                    try file.sync()
                }
            }
        }
    }

    /// Writes and syncs both copies of a meta.
    func write(_ meta: Meta) throws(FileError) {
        for copy in 0..<Meta.copies {
            do throws(FileError) { try write(meta, copy: copy) } catch { throw copy == 0 ? error : error.ofRest }
        }
        try file.sync()
    }

    private func write(_ meta: Meta, copy: Int) throws(FileError) {
        var bytes = [UInt8](repeating: 0, count: pageBytes)
        bytes.withUnsafeMutableBytes {
            if let base = $0.baseAddress { meta.write(to: base, copy: copy, codec) }
        }
        try writeBytes(
            file, bytes, count: pageBytes, at: Meta.page(number: meta.number, copy: copy) * UInt64(pageBytes))
    }

    /// Returns the bitmap of a region as a checkpoint recorded it.
    func readBitmap(region: Int, _ state: SpaceMap.RegionState) throws(StorageError) -> [UInt64] {
        let page = SpaceMap.bitmapPage(region: region, copy: Int(state.copy))
        var bytes = try DataFile.readPages(file, from: page, count: 1)
        return try bytes.withUnsafeMutableBytes { buffer -> Result<[UInt64], StorageError> in
            guard let base = buffer.baseAddress, buffer.count == pageBytes,
                codec.open(base, number: page)
            else { return .failure(.corrupted(page: page, reason: "the bitmap of region \(region) is damaged")) }
            guard
                base.load(fromByteOffset: Page.writeIDOffset, as: UInt64.self) == state.writeID,
                base.load(fromByteOffset: Page.identityOffset, as: UInt64.self)
                    == Page.identity(page: page, type: .bitmap, level: 0)
            else { return .failure(.corrupted(page: page, reason: "the bitmap of region \(region) is stale")) }
            let words = (0..<SpaceMap.wordsPerRegion).map {
                base.load(fromByteOffset: Page.bodyOffset + $0 * 8, as: UInt64.self)
            }
            let reserved = SpaceMap.reservedBits(region: region)
            guard words[0] & reserved == reserved else {
                return .failure(.corrupted(page: page, reason: "the bitmap of region \(region) gives fixed pages away"))
            }
            return .success(words)
        }.get()
    }
}
