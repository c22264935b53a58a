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
    /// The database: errors name it, since the file has no name.
    private let path: String
    private let key: CipherKey?
    /// A block on its way: the nonce, and what the file has.
    private let block: UnsafeMutableRawBufferPointer
    private var blocks: UInt64 = 0

    /// - Parameters:
    ///   - path: the database that the file is made beside.
    ///   - cipher: what its blocks are encrypted with; nil for one that is not.
    init(
        beside path: String, on fileSystem: any FileSystem, cipher: Encryption.Cipher?, entropy: any Entropy
    ) throws(StorageError) {
        key = try cipher.map { (cipher) throws(StorageError) in
            guard let key = CipherKey(entropy.bytes(KeyRecord.keyBytes), cipher) else {
                throw .encryptionUnavailable(path: path)
            }
            return key
        }
        self.path = path
        let temporary = try TemporaryFile.make(for: path, on: fileSystem, access: nil)
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

extension WriteTransaction {
    /// How many bytes an operation may have in memory beside pages: a quarter of what the store has for them.
    package var sideMemory: Int { max(256 << 10, min(store.cacheBytes / 4, 256 << 20)) }

    /// Counts what an operation has in memory beside pages against the store's budget, until it counts 0.
    package func countSide(bytes: Int) { writer.countSide(bytes: bytes) }

    /// A file for what an operation cannot hold in its memory, beside the database.
    package func makeSpillFile() throws(StorageError) -> SpillFile {
        try writer.check()
        return try SpillFile(
            beside: store.path, on: store.options.files, cipher: store.dataFile.keys?.cipher,
            entropy: store.options.entropy)
    }
}
