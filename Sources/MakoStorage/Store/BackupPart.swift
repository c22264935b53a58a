/// The state that a backup shows: what the next incremental backup needs to store only later changes.
public struct BackupPoint: Sendable, Hashable, Codable {
    private var databaseHigh: UInt64
    private var databaseLow: UInt64
    /// The number of the commit that the backup shows.
    public private(set) var commit: UInt64
    /// The transaction id of a checkpoint whose pages are all in the backup.
    package private(set) var basis: UInt64
    /// The log's chain value at the commit. It differs after a restore and different commits.
    package private(set) var chain: UInt64

    init(database: DatabaseID, commit: UInt64, basis: UInt64, chain: UInt64) {
        databaseHigh = database.high
        databaseLow = database.low
        self.commit = commit
        self.basis = basis
        self.chain = chain
    }

    /// The point of a backup that replication made, out of what it has noted.
    package init(databaseHigh: UInt64, databaseLow: UInt64, commit: UInt64, basis: UInt64, chain: UInt64) {
        self.init(
            database: DatabaseID(high: databaseHigh, low: databaseLow), commit: commit, basis: basis, chain: chain)
    }

    var database: DatabaseID { DatabaseID(high: databaseHigh, low: databaseLow) }

    /// Reads the point of a backup or of an incremental backup.
    ///
    /// - Parameters:
    ///   - path: the path of the backup.
    ///   - encryption: the encryption of an encrypted backup.
    ///   - fileSystem: the file system of the backup.
    /// - Throws: ``StorageError/wrongBase(path:reason:)`` if the file is no backup or was written to since, and the
    ///   errors of opening a file.
    public init(
        of path: String, encryption: Encryption? = nil, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StorageError) {
        try self.init(of: path, .secret(encryption), fileSystem)
    }

    init(of path: String, _ access: KeyAccess, _ fileSystem: any FileSystem) throws(StorageError) {
        let file: any File
        do throws(FileError) { file = try fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
        defer { file.close() }
        if let header = try BackupPart.Header(file) {
            self = header.own
            return
        }
        let dataFile = try DataFile.open(file, access)
        guard let meta = try dataFile.readMetas().first, meta.basis > 0 else {
            throw .wrongBase(path: path, reason: "it is no backup, or was opened and written to since it was made")
        }
        self.init(database: dataFile.header.id, commit: meta.commit, basis: meta.basis, chain: meta.log.chain)
    }
}

/// An incremental backup being written: a block that describes it, and pages in no particular order.
///
/// Each page has the bytes that it has in a full backup. Pages contain their ids; encrypted pages do not show them, so
/// a list of the ids follows the pages.
final class BackupPart: File, @unchecked Sendable {
    private let file: any File
    private(set) var pages: UInt64 = 0
    /// The ids of the pages, if the pages do not show them.
    private var list: [UInt64]?

    init(writing file: any File, listsPages: Bool) {
        self.file = file
        list = listsPages ? [] : nil
    }

    var path: String { file.path }
    func size() throws(FileError) -> UInt64 { try file.size() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    /// Appends whole pages; `offset` gives their place in a full backup.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try file.write(buffer, at: (1 + pages) * UInt64(pageBytes))
        let count = UInt64(buffer.count / pageBytes)
        pages += count
        list?.append(contentsOf: offset / UInt64(pageBytes)..<offset / UInt64(pageBytes) + count)
    }

    func resize(to size: UInt64) throws(FileError) {}
    func sync() throws(FileError) { try file.sync() }
    func lock(exclusive: Bool) throws(FileError) -> Bool { true }
    func close() {}

    func finish(base: BackupPoint, own: BackupPoint, filePages: UInt64) throws(FileError) {
        var header = Header(base: base, own: own, pages: pages, filePages: filePages)
        if let list {
            let bytes = BackupPart.encoded(list)
            header.listCheck = BackupPart.check(of: bytes)
            try writeBytes(file, bytes, count: bytes.count, at: (1 + pages) * UInt64(pageBytes))
        }
        try writeBytes(file, header.encoded, count: pageBytes, at: 0)
    }

    // MARK: The list of pages

    private static func encoded(_ list: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(list.count * 8)
        for number in list { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        return bytes
    }

    /// Returns the checksum of the list; never 0, which means no list.
    private static func check(of bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { buffer in
            buffer.baseAddress.map { Checksum.hash($0, count: buffer.count, seed: 0) } ?? 0
        } | 1
    }

    /// Returns the ids of the pages of a part, in their order; nil if the pages show them.
    static func list(of header: Header, in file: any File) throws(StorageError) -> [UInt64]? {
        guard header.listCheck != 0 else { return nil }
        let pages = Int(clamping: (header.pages * 8 + UInt64(pageBytes) - 1) / UInt64(pageBytes))
        let size = try storage { () throws(FileError) in try file.size() }
        guard size == (1 + header.pages) * UInt64(pageBytes) + header.pages * 8 else {
            throw .wrongBase(path: file.path, reason: "it is cut short")
        }
        let bytes = try DataFile.readPages(file, from: 1 + header.pages, count: pages)
        guard check(of: bytes) == header.listCheck else {
            throw .wrongBase(path: file.path, reason: "the list of its pages is damaged")
        }
        return bytes.withUnsafeBytes { buffer in
            (0..<Int(header.pages)).map {
                UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
    }

    /// The first block.
    struct Header {
        static let magic: UInt64 = 0x3063_6e49_6f6b_614d  // "MakoInc0"

        /// The state that it builds on, and the state that it leads to.
        var base: BackupPoint
        var own: BackupPoint
        var pages: UInt64
        /// The pages of the database file.
        var filePages: UInt64
        /// The checksum of the list behind the pages; 0 without a list.
        var listCheck: UInt64 = 0

        init(base: BackupPoint, own: BackupPoint, pages: UInt64, filePages: UInt64) {
            self.base = base
            self.own = own
            self.pages = pages
            self.filePages = filePages
        }

        var encoded: [UInt8] {
            var bytes = [UInt8](repeating: 0, count: pageBytes)
            let words = [
                Header.magic, own.database.high, own.database.low, base.commit, base.basis, base.chain, own.commit,
                own.basis, own.chain, pages, filePages, listCheck,
            ]
            bytes.withUnsafeMutableBytes { buffer in
                for (index, word) in words.enumerated() {
                    buffer.storeBytes(of: word.littleEndian, toByteOffset: 8 + index * 8, as: UInt64.self)
                }
            }
            let check = Header.checksum(bytes)
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: check.littleEndian, as: UInt64.self) }
            return bytes
        }

        /// Nil if the file does not start as an incremental backup.
        init?(_ file: any File) throws(StorageError) {
            let bytes = try DataFile.readPages(file, from: 0, count: 1)
            guard bytes.count == pageBytes else { return nil }
            func word(_ index: Int) -> UInt64 {
                (0..<8).reduce(0) { $0 | UInt64(bytes[8 + index * 8 + $1]) << UInt64($1 * 8) }
            }
            guard word(0) == Header.magic else { return nil }
            guard word(-1) == Header.checksum(bytes), word(10) < pageNumberLimit, word(9) < pageNumberLimit else {
                throw .wrongBase(path: file.path, reason: "its first block is damaged")
            }
            let id = DatabaseID(high: word(1), low: word(2))
            base = BackupPoint(database: id, commit: word(3), basis: word(4), chain: word(5))
            own = BackupPoint(database: id, commit: word(6), basis: word(7), chain: word(8))
            pages = word(9)
            filePages = word(10)
            listCheck = word(11)
        }

        private static func checksum(_ bytes: [UInt8]) -> UInt64 {
            bytes.withUnsafeBytes { buffer in
                buffer.baseAddress.map { Checksum.hash($0 + 8, count: pageBytes - 8, seed: 0) } ?? 0
            }
        }
    }
}
