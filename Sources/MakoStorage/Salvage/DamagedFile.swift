/// A database file in which anything may be damaged, opened for reading alone.
///
/// What reading meets is never an error of its own: a page that the device refuses is as lost as one with a wrong checksum.
final class DamagedFile {
    let path: String
    let fileSystem: any FileSystem
    let file: any File
    let pageCount: UInt64
    let id: DatabaseID
    let seed: UInt64
    /// Nil when both copies are lost; the identity then came from somewhere else.
    let header: FileHeader?
    private(set) var findings: [String] = []
    private(set) var pagesRead: UInt64 = 0
    private(set) var damaged: PageSet

    private static let pagesPerRead = 64

    /// Opens the file and finds out whose it is, since that seeds every checksum in it.
    ///
    /// - Throws: ``StorageError/notFound(path:)``, ``StorageError/alreadyOpen(path:)``, ``StorageError/identityLost(path:)``,
    ///   and what tells that the file was never a database of this version.
    init(path: String, fileSystem: any FileSystem) throws(StorageError) {
        self.path = path
        self.fileSystem = fileSystem
        if fileSystem.isDirectory(path) { throw .notADatabase(path: path, reason: "it is a directory") }
        do throws(FileError) { file = try fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
        do throws(StorageError) {
            // Where there are no locks, as on some network file systems, one has to go without.
            if let isLocked = try? file.lock(exclusive: false), !isLocked { throw .alreadyOpen(path: path) }
            let size = try storage { [file] () throws(FileError) in try file.size() }
            let count = size / UInt64(pageBytes)
            pageCount = count
            damaged = PageSet(limit: count)
            let identity = try Identity.find(file, path: path, fileSystem: fileSystem, pageCount: count)
            id = identity.id
            seed = id.seed
            header = identity.header
            findings = identity.findings
        } catch {
            file.close()
            throw error
        }
    }

    /// Reads a page and checks that it is whole and in its place. Its inner bounds are not checked.
    func read(_ number: UInt64, into memory: UnsafeMutableRawPointer) throws(StorageError) {
        pagesRead += 1
        try FrameStore.readPage(number, of: file, seed: seed, into: memory)
    }

    /// Counts a page as lost, once.
    func noteDamaged(_ page: UInt64) {
        // Beyond the end of a file that was cut short there is nothing to count.
        _ = damaged.insert(page)
    }

    /// Calls `body` with every page of the file in turn, and whether it is whole and in its place.
    func scan(_ body: (_ page: SalvagedPage, _ isWhole: Bool) throws(StorageError) -> Void) throws(StorageError) {
        let page = SalvagedPage()
        var first: UInt64 = 0
        while first < pageCount {
            let count = Int(min(UInt64(DamagedFile.pagesPerRead), pageCount - first))
            let bytes = readRun(first, count)
            for index in 0..<count {
                let number = first + UInt64(index)
                let range = index * pageBytes..<(index + 1) * pageBytes
                let isWhole = bytes.withUnsafeBytes {
                    page.take(number, from: UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed)
                }
                pagesRead += 1
                try body(page, isWhole)
            }
            first += UInt64(count)
        }
    }

    /// Consecutive pages; those that the device refuses read as zeros.
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

    /// Puts an overflow value together, if all its pages are there.
    func value(of overflow: Overflow, with page: SalvagedPage) throws(StorageError) -> [UInt8] {
        var block: [UInt8] = []
        guard overflow.firstPage + UInt64(overflow.pageCount) <= pageCount else {
            throw .corrupted(page: overflow.firstPage, reason: "the file ends before it")
        }
        block.reserveCapacity(overflow.stored)
        for index in 0..<overflow.pageCount {
            let reference = overflow.reference(at: index)
            do throws(StorageError) { try page.read(reference.page, from: self) } catch {
                noteDamaged(reference.page)
                throw error
            }
            guard page.type == .overflow,
                page.header.serial == overflow.firstSerial &+ UInt64(index) || sabotaged("salvageTakesAnyOverflow")
            else { throw .corrupted(page: reference.page, reason: "it is not part of the value any more") }
            block += page.body.prefix(overflow.stored - block.count)
        }
        guard overflow.isCompressed else { return block }
        guard let value = LZ4.decompress(block, length: overflow.length) else {
            throw .corrupted(page: overflow.firstPage, reason: "its LZ4 block does not unpack")
        }
        return value
    }

    func close() { file.close() }
}

/// Whose file it is: the identity, from the header block or from what else tells it.
private struct Identity {
    var id: DatabaseID
    var header: FileHeader?
    var findings: [String]

    static func find(_ file: any File, path: String, fileSystem: any FileSystem, pageCount: UInt64)
        throws(StorageError) -> Identity
    {
        var best: FileHeader?
        var findings: [String] = []
        var candidates: [DatabaseID] = []
        var version: UInt32?
        var beginsLikeOne = false
        for copy in 0..<FileHeader.copies {
            let bytes = (try? DataFile.readPages(file, from: UInt64(copy), count: 1)) ?? []
            let reading = bytes.withUnsafeBytes { buffer -> FileHeader.Reading in
                guard buffer.count == pageBytes, let base = buffer.baseAddress else { return .foreign }
                // The identity may have survived in a copy that did not.
                candidates.append(
                    DatabaseID(
                        high: base.loadUnaligned(fromByteOffset: 56, as: UInt64.self),
                        low: base.loadUnaligned(fromByteOffset: 64, as: UInt64.self)))
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
            return Identity(id: header.id, header: header, findings: findings)
        }
        if let version { throw .unsupportedVersion(path: path, found: version, supported: FileHeader.version) }
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

    /// The candidate under which some page of the file carries the right checksum.
    private static func seal(_ candidates: [DatabaseID], of file: any File, _ pageCount: UInt64) -> DatabaseID? {
        let page = SalvagedPage()
        for number in Meta.firstPage..<max(Meta.firstPage, pageCount) {
            guard let bytes = try? DataFile.readPages(file, from: number, count: 1) else { continue }
            for id in candidates where bytes.withUnsafeBytes({ page.take(number, from: $0, seed: id.seed) }) {
                return id
            }
        }
        return nil
    }

    /// Whether pages say which they are, though nobody can tell whether the rest of them is right.
    private static func hasNumberedPages(_ file: any File, _ pageCount: UInt64) -> Bool {
        let page = SalvagedPage()
        return (Meta.firstPage..<max(Meta.firstPage, min(pageCount, 256))).contains { number in
            guard let bytes = try? DataFile.readPages(file, from: number, count: 1) else { return false }
            _ = bytes.withUnsafeBytes { page.take(number, from: $0, seed: 0) }
            return !page.isBlank && page.header.number == number && page.type != nil
        }
    }
}
