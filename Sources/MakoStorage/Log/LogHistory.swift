extension LogReader {
    /// Whether the log has another commit of a number than the one behind which it would have a chain value.
    ///
    /// False where the log has no commit of the number: it then says nothing. A recovery may leave a commit behind a barrier whose
    /// checkpoint was never written, so that the chain value of any frame counts.
    func hasOtherCommit(_ commit: UInt64, than chain: UInt64) throws(StorageError) -> Bool {
        var isThere = false
        for number in try storage({ () throws(FileError) in try segmentNumbers() }) {
            guard let segment = try openIfThere(number) else { continue }
            defer { segment.file.close() }
            guard segment.header.database == database else { continue }
            let found = try segment.bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try find(commit, chain, in: bytes, of: segment) }
            }.get()
            if found.hasChain { return false }
            isThere = isThere || found.hasCommit
        }
        return isThere
    }

    /// Nil where the writer has removed the segment meanwhile.
    private func openIfThere(_ number: UInt64) throws(StorageError) -> Segment? {
        do throws(StorageError) { return try open(number, whole: true) } catch {
            if case .io(let error) = error, error.isNotFound { return nil }
            throw error
        }
    }

    private func find(
        _ commit: UInt64, _ wanted: UInt64, in bytes: UnsafeRawBufferPointer, of segment: Segment
    ) throws(StorageError) -> (hasCommit: Bool, hasChain: Bool) {
        let base = segment.header.start
        let block = UInt64(SegmentHeader.blockBytes)
        var (lsn, chain) = (base + block, segment.header.chain)
        var hasCommit = false
        while chain != wanted {
            var next: LogFrame?
            // A synced group ends with zeros up to the next block.
            for place in [lsn, (lsn + block - 1) / block * block] where next == nil {
                next = try frame(bytes, base: base, at: place, segment, chain)
            }
            guard let frame = next else { return (hasCommit, false) }
            chain = LogFrame.chain(of: UnsafeRawBufferPointer(rebasing: bytes[Int(frame.lsn - base)...]))
            lsn = frame.lsn + UInt64(LogFrame.bytes(payload: frame.stored))
            if frame.kind == .commit && frame.commit == commit { hasCommit = true }
        }
        return (hasCommit, true)
    }
}
