/// What one operation cannot hold in its memory: a file without a name, which ends with its handle, or with its process.
///
/// It is written in blocks, each once and one behind the other; they are read in any order. Those of an encrypted database are encrypted, with a
/// key that this object draws and nothing keeps. One thread uses it.
///
///     block n, at n * 16 KiB:   content, zeros behind its end | tag (16 bytes, where it is encrypted)
package final class SpillFile {
    private static let storedBytes = 16 << 10

    /// The content of a block, in bytes.
    package let blockBytes: Int
    private let file: any File
    /// What it was made beside: errors name that, since the file has no name.
    private let path: String
    private let key: CipherKey?
    /// A block on its way: the nonce, and what the file has.
    private let block: UnsafeMutableRawBufferPointer
    private var blocks: UInt64 = 0

    /// - Parameters:
    ///   - place: what the file is made beside: the database, or a name in a directory for temporary files.
    ///   - cipher: what its blocks are encrypted with; nil for one that is not.
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
        // Before the first byte: no name leads to it, so that nothing is left of it when the process dies.
        do throws(FileError) { try fileSystem.remove(temporary.path) } catch {
            temporary.discard()
            throw StorageError(error)
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
    /// - Parameter content: at most ``blockBytes``.
    /// - Returns: its number.
    /// - Throws: `diskFull`, and what the device says.
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

    /// Reads a block that was written.
    ///
    /// - Parameter content: gets ``blockBytes`` bytes.
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

    /// No block is written twice, and the key is this file's own: its number is nonce enough.
    private func setNonce(_ number: UInt64) {
        nonce.initializeMemory(as: UInt8.self, repeating: 0)
        nonce.storeBytes(of: number.littleEndian, as: UInt64.self)
    }

    /// What is read is not what was written.
    package var isNotAsWritten: StorageError { .io(.lostBlock(of: path)) }
}

/// Where an operation leaves what its memory does not hold.
package protocol SpillSpace: ~Copyable {
    /// Counts what the operation has in memory beside pages, until it counts 0.
    func countSide(bytes: Int)
    func makeSpillFile() throws(StorageError) -> SpillFile
}

extension WriteTransaction: SpillSpace {
    /// How many bytes an operation may have in memory beside pages: a quarter of what the store has for them.
    package var sideMemory: Int { max(256 << 10, min(store.cacheBytes / 4, 256 << 20)) }

    /// Counts what an operation has in memory beside pages against the store's budget, until it counts 0.
    package func countSide(bytes: Int) { writer.countSide(bytes: bytes) }

    /// A file for what an operation cannot hold in its memory, beside the database.
    package func makeSpillFile() throws(StorageError) -> SpillFile {
        try writer.check()
        return try store.makeSpillFile()
    }
}

extension Store {
    /// How many bytes each sort, set of groups or different rows, and hash join of a query may hold.
    var queryMemory: Int {
        let bytes = options.queryMemoryBytes ?? max(StoreOptions.leastQueryMemory, cacheBytes / 4)
        return max(64 << 10, min(bytes, 1 << 30))
    }

    /// Beside the database.
    func makeSpillFile() throws(StorageError) -> SpillFile {
        try SpillFile(
            beside: path, on: options.files, cipher: dataFile.keys?.cipher, entropy: options.entropy)
    }

    /// Beside the database, or where that directory takes no file, as that of a database that is only read may, in the system's directory for
    /// temporary files.
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
    /// How many bytes each sort, set of groups or different rows, and hash join of a query over the snapshot may hold.
    package var queryMemory: Int { store._withUnsafeGuaranteedRef { $0.queryMemory } }

    /// Whether this thread is inside a read that lends bytes: until that ends pages of others stay as well, so that it must not wait for anything.
    package static var isLending: Bool { Epochs.isInside }

    /// What queries hold is not taken off the memory for pages.
    package func countSide(bytes: Int) {}

    /// A file for what a query cannot hold in its memory.
    package func makeSpillFile() throws(StorageError) -> SpillFile {
        try store._withUnsafeGuaranteedRef { store in
            result { () throws(StorageError) in try store.makeQuerySpillFile() }
        }.get()
    }
}
