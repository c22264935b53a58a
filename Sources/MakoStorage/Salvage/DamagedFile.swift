/// A damaged database file, opened for reading only.
///
/// A failed read is no error of its own: a page that the device cannot read is as lost as one with a wrong checksum.
final class DamagedFile {
    let path: String
    let fileSystem: any FileSystem
    let file: any File
    let pageCount: UInt64
    let id: DatabaseID
    let keys: DatabaseKeys?
    let codec: PageCodec
    /// Nil if both copies are lost; the identity was then found elsewhere.
    let header: FileHeader?
    private(set) var findings: [String] = []
    private(set) var pagesRead: UInt64 = 0
    private(set) var damaged: PageSet

    private static let pagesPerRead = 64

    /// Opens the file and determines its identity, which seeds every checksum in it.
    ///
    /// - Throws: ``StorageError/notFound(path:)``, ``StorageError/alreadyOpen(path:)``,
    ///   ``StorageError/identityLost(path:)``, and errors that show that the file never was a database of this version.
    /// - Parameter isAlone: whether to fail if the file is open for writing.
    init(path: String, fileSystem: any FileSystem, encryption: Encryption? = nil, isAlone: Bool = true)
        throws(StorageError)
    {
        let path = try fileSystem.databasePath(path)
        self.path = path
        self.fileSystem = fileSystem
        if fileSystem.isDirectory(path) { throw .notADatabase(path: path, reason: "it is a directory") }
        do throws(FileError) { file = try fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
        do throws(StorageError) {
            // Without locks, as on some network file systems, continue unlocked.
            if isAlone, let isLocked = try? file.lock(exclusive: false), !isLocked { throw .alreadyOpen(path: path) }
            let size = try storage { [file] () throws(FileError) in try file.size() }
            let count = size / UInt64(pageBytes)
            pageCount = count
            damaged = PageSet(limit: count)
            let identity = try Identity.find(
                file, path: path, fileSystem: fileSystem, encryption: encryption, pageCount: count)
            id = identity.id
            keys = identity.keys
            codec = PageCodec(of: id, keys: keys)
            header = identity.header
            findings = identity.findings
        } catch {
            file.close()
            throw error
        }
    }

    /// Reads a page and checks its checksum and page id, not its inner bounds.
    func read(_ number: UInt64, into memory: UnsafeMutableRawPointer) throws(StorageError) {
        pagesRead += 1
        try FrameStore.readPage(number, of: file, codec, into: memory)
    }

    /// Counts a page as lost, once.
    func noteDamaged(_ page: UInt64) {
        // Pages beyond the end of a truncated file are not counted.
        _ = damaged.insert(page)
    }

    /// Calls `body` with every page of the file, and whether it is intact and in its place.
    func scan(_ body: (_ page: SalvagedPage, _ isWhole: Bool) throws(StorageError) -> Void) throws(StorageError) {
        let page = SalvagedPage()
        var first: UInt64 = 0
        while first < pageCount {
            let count = ByteCount.step(pageCount - first, most: DamagedFile.pagesPerRead)
            let bytes = readRun(first, count)
            for index in 0..<count {
                let number = first + UInt64(index)
                let range = index * pageBytes..<(index + 1) * pageBytes
                let isWhole = bytes.withUnsafeBytes {
                    page.take(number, from: UnsafeRawBufferPointer(rebasing: $0[range]), codec)
                }
                pagesRead += 1
                try body(page, isWhole)
            }
            first += UInt64(count)
        }
    }

    /// Returns consecutive pages; pages that cannot be read are zeros.
    private func readRun(_ first: UInt64, _ count: Int) -> [UInt8] {
        if let bytes = try? DataFile.readPages(file, from: first, count: count), bytes.count == count * pageBytes {
            return bytes
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * pageBytes)
        for index in 0..<count {
            let page = (try? DataFile.readPages(file, from: first + UInt64(index), count: 1)) ?? []
            bytes += page + [UInt8](repeating: 0, count: pageBytes - page.count)
        }
        return bytes
    }

    /// Returns an overflow value if all its pages are intact; for a value with a list of runs, that list.
    func value(of overflow: Overflow, with page: SalvagedPage) throws(StorageError) -> [UInt8] {
        var block: [UInt8] = []
        block.reserveCapacity(overflow.stored)
        try forEachPage(of: ValueExtents(overflow), with: page) { body in
            block += body.prefix(overflow.stored - block.count)
        }
        guard overflow.isCompressed else { return block }
        guard let value = LZ4.decompress(block, length: overflow.length) else {
            throw .corrupted(page: overflow.firstPage, reason: "its LZ4 block does not unpack")
        }
        return value
    }

    /// Returns the runs of a list, if every page of the value is intact.
    func runs(of list: Overflow, with page: SalvagedPage) throws(StorageError) -> ValueExtents {
        guard let value = try value(of: list, with: page).withUnsafeBytes({ ValueExtents($0) }) else {
            throw .corrupted(page: list.firstPage, reason: "its list of runs contradicts itself")
        }
        try check(value, with: page)
        return value
    }

    /// Checks that every page of a value is intact and has the written contents.
    func check(_ value: ValueExtents, with page: SalvagedPage) throws(StorageError) {
        var digest: UInt64 = 0
        try forEachShare(of: value, with: page) { (share) throws(StorageError) in
            digest = share.withUnsafeBytes { bytes in
                bytes.baseAddress.map { ValueExtents.digest(digest, $0, count: bytes.count) } ?? digest
            }
        }
        guard digest == value.digest else {
            throw .corrupted(
                page: value.runs[0].page, reason: "the value on it and on those after it is not the one written")
        }
    }

    /// Calls `body` with the stored bytes of each page.
    func forEachShare(
        of value: ValueExtents, with page: SalvagedPage, _ body: ([UInt8]) throws(StorageError) -> Void
    ) throws(StorageError) {
        var left = value.stored
        try forEachPage(of: value, with: page) { (bytes) throws(StorageError) in
            let share = bytes.prefix(ByteCount.step(left, most: bytes.count))
            left -= UInt64(share.count)
            try body(Array(share))
        }
    }

    private func forEachPage(
        of value: ValueExtents, with page: SalvagedPage, _ body: (ArraySlice<UInt8>) throws(StorageError) -> Void
    ) throws(StorageError) {
        for run in value.runs {
            guard run.pages.upperBound <= pageCount else {
                throw .corrupted(page: run.page, reason: "the file ends before it")
            }
            for number in run.pages {
                do throws(StorageError) { try page.read(number, from: self) } catch {
                    noteDamaged(number)
                    throw error
                }
                guard page.type == .overflow,
                    page.header.writeID == run.writeID &+ (number - run.page)
                else { throw .corrupted(page: number, reason: "it is not part of the value any more") }
                try body(page.body)
            }
        }
    }

    func close() { file.close() }
}

/// The identity of a file, from the header block or other places.
private struct Identity {
    var id: DatabaseID
    var header: FileHeader?
    var keys: DatabaseKeys? = nil
    var findings: [String]

    static func find(
        _ file: any File, path: String, fileSystem: any FileSystem, encryption: Encryption?, pageCount: UInt64
    ) throws(StorageError) -> Identity {
        var best: FileHeader?
        var findings: [String] = []
        var candidates: [DatabaseID] = []
        var locks: [(record: KeyRecord, id: DatabaseID)] = []
        var version: UInt32?
        var beginsLikeOne = false
        for copy in 0..<FileHeader.copies {
            let bytes = (try? DataFile.readPages(file, from: UInt64(copy), count: 1)) ?? []
            let reading = bytes.withUnsafeBytes { buffer -> FileHeader.Reading in
                guard buffer.count == pageBytes, let base = buffer.baseAddress else { return .foreign }
                // A damaged copy may still have the identity.
                candidates.append(
                    DatabaseID(
                        high: base.loadUnaligned(fromByteOffset: 56, as: UInt64.self),
                        low: base.loadUnaligned(fromByteOffset: 64, as: UInt64.self)))
                let place = KeyRecord.offset..<KeyRecord.offset + KeyRecord.bytes
                if let record = KeyRecord(Array(buffer[place])) {
                    locks.append((record, candidates[candidates.count - 1]))
                }
                return FileHeader.read(base, copy: copy)
            }
            switch reading {
            case .good(let header): if header.generation > best?.generation ?? 0 { best = header }
            case .version(let found): version = found
            case .damaged, .foreign: findings.append("copy \(copy) of the header block is damaged")
            }
            if case .foreign = reading {} else { beginsLikeOne = true }
        }
        if let header = best {
            try header.checkFeatures(path: path, writing: false)
            let keys = try KeyAccess.secret(encryption).keys(of: header, path: path)
            return Identity(id: header.id, header: header, keys: keys, findings: findings)
        }
        if let version { throw .unsupportedVersion(path: path, found: version, supported: FileHeader.version) }
        // A damaged copy may still have the key record.
        for lock in locks where encryption != nil {
            guard let keys = try? DatabaseKeys(opening: lock.record, of: lock.id, with: encryption, path: path) else {
                continue
            }
            findings.append("the database's key was taken from a damaged header")
            return Identity(id: lock.id, header: nil, keys: keys, findings: findings)
        }
        let reader = LogReader(
            fileSystem: fileSystem, path: path, database: DatabaseID(high: 0, low: 0), readOnly: true, required: 0)
        let fromLog = reader.databases()
        if let id = seal(candidates + fromLog, of: file, pageCount) {
            findings.append("the database's identity was taken from a damaged header, or from the log")
            return Identity(id: id, header: nil, findings: findings)
        }
        guard beginsLikeOne || !fromLog.isEmpty || hasNumberedPages(file, pageCount) else {
            throw .notADatabase(path: path, reason: "nothing in it looks like one")
        }
        throw .identityLost(path: path)
    }

    /// Returns the candidate for which some page of the file has the right checksum.
    private static func seal(_ candidates: [DatabaseID], of file: any File, _ pageCount: UInt64) -> DatabaseID? {
        let page = SalvagedPage()
        for number in Meta.firstPage..<max(Meta.firstPage, pageCount) {
            guard let bytes = try? DataFile.readPages(file, from: number, count: 1) else { continue }
            for id in candidates where bytes.withUnsafeBytes({ page.take(number, from: $0, PageCodec(of: id)) }) {
                return id
            }
        }
        return nil
    }

    /// Whether pages have their own page ids, although they cannot be verified.
    private static func hasNumberedPages(_ file: any File, _ pageCount: UInt64) -> Bool {
        let page = SalvagedPage()
        return (Meta.firstPage..<max(Meta.firstPage, min(pageCount, 256))).contains { number in
            guard let bytes = try? DataFile.readPages(file, from: number, count: 1) else { return false }
            _ = bytes.withUnsafeBytes { page.take(number, from: $0, .header) }
            return !page.isBlank && page.header.number == number && page.type != nil
        }
    }
}
