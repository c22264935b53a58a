/// A temporary file for what an operation cannot hold in memory. It has no name, and is removed when its handle or its
/// process ends.
///
/// Blocks are appended, each is written once, and they are read in any order. For an encrypted database they are
/// encrypted with a random key that only this object has. For one thread.
///
///     block n, at n * 16 KiB:   content, zeros behind its end | tag (16 bytes, if encrypted)
package final class SpillFile {
    private static let storedBytes = 16 << 10

    /// The bytes of content in a block.
    package let blockBytes: Int
    private let file: any File
    /// The path next to which the file was created, for errors, because the file has no name.
    private let path: String
    private let key: CipherKey?
    /// The nonce and the bytes of the block being read or written.
    private let block: UnsafeMutableRawBufferPointer
    private var blocks: UInt64 = 0

    /// - Parameters:
    ///   - place: the path next to which the file is created: the database, or a name in a directory for temporary
    ///     files.
    ///   - cipher: the cipher of its blocks; nil for no encryption.
    init(
        beside place: String, on fileSystem: any FileSystem, cipher: Encryption.Cipher?, entropy: any Entropy
    ) throws(StorageError) {
        key = try cipher.map { (cipher) throws(StorageError) in
            guard let key = CipherKey(entropy.bytes(KeyRecord.keyBytes), cipher) else {
                throw .encryptionUnavailable(path: place)
            }
            return key
        }
        path = place
        let temporary = try TemporaryFile.make(for: place, on: fileSystem, access: nil)
        file = temporary.file
        if let access = try? file.access() { file.adopt(access.ofOwnerAlone) }
        // Remove the name before the first byte, so that nothing remains when the process dies.
        do throws(FileError) { try fileSystem.remove(temporary.path) } catch {
            temporary.discard()
            throw StorageError(error.inFile(place))
        }
        blockBytes = SpillFile.storedBytes - (key == nil ? 0 : CipherKey.tagBytes)
        block = .allocate(byteCount: CipherKey.nonceBytes + SpillFile.storedBytes, alignment: 16)
    }

    deinit {
        block.deallocate()
        file.close()
    }

    /// Writes the next block.
    ///
    /// - Parameter content: the content, at most ``blockBytes`` bytes.
    /// - Returns: the number of the block.
    /// - Throws: `diskFull` and I/O errors.
    package func append(_ content: UnsafeRawBufferPointer) throws(StorageError) -> UInt64 {
        assert(content.count <= blockBytes)
        let message = UnsafeMutableRawBufferPointer(rebasing: stored[..<blockBytes])
        message.copyMemory(from: content)
        UnsafeMutableRawBufferPointer(rebasing: message[content.count...]).initializeMemory(
            as: UInt8.self, repeating: 0)
        if let key {
            setNonce(blocks)
            key.seal(
                UnsafeRawBufferPointer(message), nonce: UnsafeRawBufferPointer(nonce),
                authenticating: UnsafeRawBufferPointer(start: nil, count: 0), ciphertext: message,
                tag: UnsafeMutableRawBufferPointer(rebasing: stored[blockBytes...]))
        }
        let offset = blocks * UInt64(SpillFile.storedBytes)
        do throws(FileError) { try file.write(UnsafeRawBufferPointer(stored), at: offset) } catch {
            throw StorageError(error.inFile(path))
        }
        blocks += 1
        return blocks - 1
    }

    /// Reads a written block.
    ///
    /// - Parameters:
    ///   - number: the number of the block.
    ///   - content: memory of ``blockBytes`` bytes.
    package func read(_ number: UInt64, into content: UnsafeMutableRawPointer) throws(StorageError) {
        let offset = number * UInt64(SpillFile.storedBytes)
        let count: Int
        do throws(FileError) { count = try file.read(into: stored, at: offset) } catch {
            throw StorageError(error.inFile(path))
        }
        guard count == stored.count else { throw isNotAsWritten }
        let message = UnsafeMutableRawBufferPointer(start: content, count: blockBytes)
        guard let key else { return message.copyMemory(from: UnsafeRawBufferPointer(rebasing: stored[..<blockBytes])) }
        setNonce(number)
        guard key.open(block, authenticating: UnsafeRawBufferPointer(start: nil, count: 0), into: message) else {
            throw isNotAsWritten
        }
    }

    private var nonce: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: block[..<CipherKey.nonceBytes])
    }

    private var stored: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: block[CipherKey.nonceBytes...])
    }

    /// The block number is a sufficient nonce, because no block is written twice and the key is used for this file
    /// only.
    private func setNonce(_ number: UInt64) {
        nonce.initializeMemory(as: UInt8.self, repeating: 0)
        nonce.storeBytes(of: number.littleEndian, as: UInt64.self)
    }

    /// The error for a block that differs from what was written.
    package var isNotAsWritten: StorageError { .io(.lostBlock(of: path)) }
}

/// A place for what an operation cannot hold in memory.
package protocol SpillSpace: ~Copyable {
    /// Counts memory that the operation uses outside pages, until it is set to 0.
    func countSide(bytes: Int)
    func makeSpillFile() throws(StorageError) -> SpillFile
}

extension WriteTransaction: SpillSpace {
    /// The largest memory of an operation outside pages in bytes: a quarter of the cache budget, within limits.
    package var sideMemory: Int { max(256 << 10, min(store.cacheBytes / 4, 256 << 20)) }

    /// Counts memory that an operation uses outside pages against the store's budget, until it is set to 0.
    package func countSide(bytes: Int) { writer.countSide(bytes: bytes) }

    /// Creates a temporary file next to the database.
    package func makeSpillFile() throws(StorageError) -> SpillFile {
        try writer.check()
        return try store.makeSpillFile()
    }
}

extension Store {
    /// The largest memory of each sort, group, distinct or hash join operator of a query, in bytes.
    var queryMemory: Int {
        let bytes = options.queryMemoryBytes ?? max(StoreOptions.leastQueryMemory, cacheBytes / 4)
        return max(64 << 10, min(bytes, 1 << 30))
    }

    /// Creates a temporary file next to the database.
    func makeSpillFile() throws(StorageError) -> SpillFile {
        try SpillFile(
            beside: path, on: options.files, cipher: dataFile.keys?.cipher, entropy: options.entropy)
    }

    /// Creates a temporary file next to the database or, if that directory is not writable, in the system's directory
    /// for temporary files.
    func makeQuerySpillFile() throws(StorageError) -> SpillFile {
        do throws(StorageError) { return try makeSpillFile() } catch {
            switch error {
            case .io, .readOnly: break
            default: throw error
            }
            guard let directory = TemporaryDirectory.path else { throw error }
            return try SpillFile(
                beside: directory + "/mako-query", on: options.files, cipher: dataFile.keys?.cipher,
                entropy: options.entropy)
        }
    }
}

extension Snapshot: SpillSpace {
    /// The largest memory of each sort, group, distinct or hash join operator of a query over the snapshot, in bytes.
    package var queryMemory: Int { store._withUnsafeGuaranteedRef { $0.queryMemory } }

    /// Whether this thread is inside a read that borrows bytes. It must not wait for anything then, because other
    /// snapshots' pages are retained too until that read ends.
    package static var isBorrowing: Bool { Epochs.isInside }

    /// Does nothing: the memory of queries is not taken off the cache budget.
    package func countSide(bytes: Int) {}

    /// Creates a temporary file for a query.
    package func makeSpillFile() throws(StorageError) -> SpillFile {
        try store._withUnsafeGuaranteedRef { store in
            result { () throws(StorageError) in try store.makeQuerySpillFile() }
        }.get()
    }
}
