extension Store {
    var nextWriteID: UInt64 { dataFile.nextWriteID.load(ordering: .relaxed) }

    @inline(__always)
    func takeWriteID() throws(StorageError) -> UInt64 { try takeWriteIDs(1) }

    /// Returns the first of `count` consecutive write ids. They are below the high-water mark in the header.
    @inline(__always)
    func takeWriteIDs(_ count: Int) throws(StorageError) -> UInt64 {
        let first = dataFile.nextWriteID.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
        let end = first &+ UInt64(count)
        if end > dataFile.highWaterMark.load(ordering: .relaxed) { try raiseHighWaterMark(above: end) }
        assert(
            end <= dataFile.highWaterMark.load(ordering: .relaxed),
            "invariant 2: the header vouches for a write id before it is used")
        return first
    }

    /// Raises the high-water mark when half of the stock is used, so that no writer has to.
    ///
    /// - Returns: whether it was raised.
    func raiseHighWaterMarkAhead() throws(StorageError) -> Bool {
        let writeID = nextWriteID
        let highWaterMark = dataFile.highWaterMark.load(ordering: .relaxed)
        // Without a write since opening there is no stock to renew.
        guard writeID < highWaterMark, highWaterMark - writeID < FileHeader.writeIDStock / 2 else { return false }
        try raiseHighWaterMark(above: writeID + FileHeader.writeIDStock / 2)
        return true
    }

    @inline(never)
    private func raiseHighWaterMark(above writeID: UInt64) throws(StorageError) {
        if isSuspended { throw .suspended(path: path) }
        if isEncrypted && writeID + FileHeader.writeIDStock >= PageCipher.writeIDLimit {
            throw .invalidArgument(
                "the numbers that keep encrypted pages apart are used up; copy the database into a new file")
        }
        if writeID >= counterLimit - FileHeader.writeIDStock {
            throw .invalidArgument("the numbers of pages are used up; copy the database into a new file")
        }
        do throws(FileError) { try dataFile.raiseHighWaterMark(above: writeID, isWritten: !options.readOnly) } catch {
            throw failed(error, "raising the high-water mark of write ids")
        }
    }
}
