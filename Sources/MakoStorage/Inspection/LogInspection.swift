/// A file of the log, described by its first block.
package struct SegmentDescription: Sendable, Hashable {
    package var path: String
    package var fileBytes: UInt64
    /// Nil if the file does not start as a segment of its number: it is being created, unused or damaged.
    package var header: Header?

    package struct Header: Sendable, Hashable {
        package var number: UInt64
        package var segmentBytes: UInt64
        /// The end of the segment before, where this one continues the log.
        package var previousEnd: UInt64
        package var databaseHigh: UInt64
        package var databaseLow: UInt64
    }
}

/// A frame of the log.
package struct FrameDescription: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case commit
        /// The commit is in a checkpoint, not in the log.
        case barrier
    }

    package struct Operation: Sendable, Hashable {
        package enum Kind: String, Sendable, Hashable {
            /// `named`: a value whose pages the log names.
            case put, named, delete, createTree, renameTree, dropTree, deleteRange, deleteAll
        }

        package var kind: Kind
        package var tree: UInt32
        /// The key, or the first key of a range.
        package var key: SalvageReport.Key?
        /// The last key of a range; of byte keys, the exclusive end, or nil for the end of the tree.
        package var last: SalvageReport.Key?
        /// The name of a tree that is created or renamed.
        package var name: String?
        package var valueBytes = 0
    }

    package var segment: UInt64
    package var lsn: UInt64
    package var offset: Int
    package var kind: Kind
    package var commit: UInt64
    /// The bytes of the operations as stored, and decompressed.
    package var storedBytes: Int
    package var rawBytes: Int
    package var isCompressed: Bool
    /// The position up to which the log was known to be durable when this was written.
    package var durable: UInt64
    /// Whether the frame is complete and continues the chain.
    package var isWhole: Bool
    /// The bytes between the frame before and this one that are not padding: a damaged or torn part.
    package var gap: Int
    /// The operations; nil if they were not requested or cannot be read.
    package var operations: [Operation]?
}

/// Inspects the log of a database, which may be damaged, and which another process may be writing.
package enum LogInspection {
    /// Reports every segment and every frame in it, in order.
    ///
    /// - Parameters:
    ///   - path: the path of the data file, which need not exist.
    ///   - operations: whether to read the operations of the frames.
    ///   - encryption: the encryption of an encrypted database; frames are reported without it too.
    /// - Throws: ``StorageError/encrypted(path:)`` if operations are requested and there is no key; I/O errors.
    package static func log(
        of path: String, encryption: Encryption? = nil, fileSystem: any FileSystem = POSIXFileSystem(),
        operations: Bool = false,
        segment: (SegmentDescription) -> Void, frame: (FrameDescription) -> Void
    ) throws(StorageError) {
        let path = try fileSystem.databasePath(path)
        var reader = LogReader(
            fileSystem: fileSystem, path: path, database: DatabaseID(high: 0, low: 0), readOnly: true, required: 0)
        if let header = header(of: path, fileSystem), header.key != nil {
            reader.isLocked = true
            if encryption != nil || operations {
                reader.keys = try KeyAccess.secret(encryption).keys(of: header, path: path)
            }
        }
        for number in try storage({ () throws(FileError) in try reader.segmentNumbers() }) {
            do throws(StorageError) {
                try look(at: number, reader, operations, segment, frame)
            } catch {
                // The writer may have renamed the file to reuse it.
                if case .io(let failure) = error, failure.isNotFound { continue }
                throw error
            }
        }
    }

    /// Returns the header of the data file; nil if it does not exist or cannot be read.
    private static func header(of path: String, _ fileSystem: any FileSystem) -> FileHeader? {
        guard let file = try? fileSystem.open(path, .readOnly) else { return nil }
        defer { file.close() }
        let page = SalvagedPage()
        return (0..<FileHeader.copies).compactMap { copy in
            let bytes = (try? DataFile.readPages(file, from: UInt64(copy), count: 1)) ?? []
            _ = bytes.withUnsafeBytes { page.take(UInt64(copy), from: $0, .header) }
            return bytes.count == pageBytes ? page.fileHeader(copy: copy) : nil
        }.max { $0.generation < $1.generation }
    }

    private static func look(
        at number: UInt64, _ reader: LogReader, _ operations: Bool, _ segment: (SegmentDescription) -> Void,
        _ frame: (FrameDescription) -> Void
    ) throws(StorageError) {
        let path = LogFile.segmentPath(reader.path, number)
        guard let found = try reader.open(number, whole: false) else {
            let bytes = try storage { () throws(FileError) in
                let file = try reader.fileSystem.open(path, .readOnly)
                defer { file.close() }
                return try file.size()
            }
            segment(SegmentDescription(path: path, fileBytes: bytes))
            return
        }
        defer { found.file.close() }
        let header = found.header
        let fileBytes = try storage { () throws(FileError) in try found.file.size() }
        segment(
            SegmentDescription(
                path: path, fileBytes: fileBytes,
                header: .init(
                    number: header.number, segmentBytes: header.segmentBytes, previousEnd: header.previousEnd,
                    databaseHigh: header.database.high, databaseLow: header.database.low)))
        let bytes = try reader.read(found.file, count: Int(clamping: min(fileBytes, header.segmentBytes)))
        scan(bytes, found, reader, operations, frame)
    }

    private static func scan(
        _ bytes: [UInt8], _ segment: LogReader.Segment, _ reader: LogReader, _ operations: Bool,
        _ report: (FrameDescription) -> Void
    ) {
        let header = segment.header
        let block = SegmentHeader.blockBytes
        var offset = block
        var end = block
        var chain = header.chain
        while offset < bytes.count {
            guard let found = reader.look(bytes, at: offset, header, after: chain) else {
                // A group ends with zeros up to the next block; after damage, frames start again in a later block.
                offset = (offset / block + 1) * block
                continue
            }
            let frame = found.frame
            let padding = (end + block - 1) / block * block
            report(
                FrameDescription(
                    segment: header.number, lsn: frame.lsn, offset: offset,
                    kind: frame.kind == .barrier ? .barrier : .commit, commit: frame.commit, storedBytes: frame.stored,
                    rawBytes: frame.raw, isCompressed: frame.isCompressed, durable: frame.durable,
                    isWhole: found.isWhole, gap: offset > padding ? offset - end : 0,
                    operations: operations && found.isWhole
                        ? self.operations(of: frame, at: offset, in: bytes, segment.cipher) : nil))
            chain = found.chain
            end = found.isWhole ? offset + LogFrame.bytes(payload: frame.stored) : offset + LogFrame.headerBytes
            offset = end
        }
    }

    // MARK: Operations

    private static func operations(of frame: LogFrame, at offset: Int, in bytes: [UInt8], _ cipher: SegmentCipher?)
        -> [FrameDescription.Operation]?
    {
        let start = offset + LogFrame.headerBytes
        let stored = Array(bytes[start..<start + frame.stored])
        guard let cipher else { return operations(of: frame, stored) }
        let plain = cipher.open(Array(bytes[offset..<start]) + stored)
        return plain.flatMap { operations(of: frame, $0) }
    }

    private static func operations(of frame: LogFrame, _ payload: [UInt8]) -> [FrameDescription.Operation]? {
        guard frame.isCompressed else { return operations(in: payload) }
        guard frame.raw <= Limits.valueBytes, let raw = LZ4.decompress(payload, length: frame.raw) else { return nil }
        return operations(in: raw)
    }

    private static func operations(in payload: [UInt8]) -> [FrameDescription.Operation]? {
        payload.withUnsafeBytes { bytes in
            var reader = OperationReader(bytes)
            var found: [FrameDescription.Operation] = []
            do throws(OperationReader.Malformed) {
                while let step = try reader.next() { found.append(operation(step)) }
            } catch { return nil }
            return found
        }
    }

    private static func operation(_ step: OperationReader.Step) -> FrameDescription.Operation {
        func key(_ key: OperationReader.RecordKey) -> SalvageReport.Key {
            switch key {
            case .integer(let number): .integer(number)
            case .bytes(let bytes): .bytes([UInt8](bytes))
            }
        }
        switch step {
        case .put(let tree, let own, let value):
            return .init(kind: .put, tree: tree, key: key(own), valueBytes: value.count)
        case .putRuns(let tree, let own, let value):
            return .init(kind: .named, tree: tree, key: key(own), valueBytes: Int(clamping: value.length))
        case .delete(let tree, let own): return .init(kind: .delete, tree: tree, key: key(own))
        case .createTree(let tree, _, _, let name): return .init(kind: .createTree, tree: tree, name: name)
        case .renameTree(let tree, let name): return .init(kind: .renameTree, tree: tree, name: name)
        case .dropTree(let tree): return .init(kind: .dropTree, tree: tree)
        case .deleteAll(let tree): return .init(kind: .deleteAll, tree: tree)
        case .deleteByteRange(let tree, let lower, let upper):
            return .init(
                kind: .deleteRange, tree: tree, key: .bytes([UInt8](lower)), last: upper.map { .bytes([UInt8]($0)) })
        case .deleteRange(let tree, let range):
            return .init(
                kind: .deleteRange, tree: tree, key: .integer(range.lowerBound), last: .integer(range.upperBound))
        }
    }
}
