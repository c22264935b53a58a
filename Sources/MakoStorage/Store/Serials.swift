extension Store {
    var nextSerial: UInt64 { dataFile.nextSerial.load(ordering: .relaxed) }

    @inline(__always)
    func takeSerial() throws(StorageError) -> UInt64 { try takeSerials(1) }

    /// Returns the first of `count` consecutive serials. They are below the high-water mark in the header.
    @inline(__always)
    func takeSerials(_ count: Int) throws(StorageError) -> UInt64 {
        let first = dataFile.nextSerial.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
        let end = first &+ UInt64(count)
        if end > dataFile.highWaterMark.load(ordering: .relaxed) { try raiseHighWaterMark(above: end) }
        assert(
            end <= dataFile.highWaterMark.load(ordering: .relaxed),
            "invariant 2: the header vouches for a serial before it is used")
        return first
    }

    /// Raises the high-water mark when half of the stock is used, so that no writer has to.
    ///
    /// - Returns: whether it was raised.
    func raiseHighWaterMarkAhead() throws(StorageError) -> Bool {
        let serial = nextSerial
        let highWaterMark = dataFile.highWaterMark.load(ordering: .relaxed)
        // Without a write since opening there is no stock to renew.
        guard serial < highWaterMark, highWaterMark - serial < FileHeader.serialStock / 2 else { return false }
        try raiseHighWaterMark(above: serial + FileHeader.serialStock / 2)
        return true
    }

    @inline(never)
    private func raiseHighWaterMark(above serial: UInt64) throws(StorageError) {
        if isSuspended { throw .suspended(path: path) }
        if isEncrypted && serial + FileHeader.serialStock >= PageCipher.serialLimit {
            throw .invalidArgument(
                "the numbers that keep encrypted pages apart are used up; copy the database into a new file")
        }
        if serial >= counterLimit - FileHeader.serialStock {
            throw .invalidArgument("the numbers of pages are used up; copy the database into a new file")
        }
        do throws(FileError) { try dataFile.raiseHighWaterMark(above: serial, isWritten: !options.readOnly) } catch {
            throw failed(error, "raising the high-water mark of serials")
        }
    }
}
