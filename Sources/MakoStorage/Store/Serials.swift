extension Store {
    var nextSerial: UInt64 { dataFile.nextSerial.load(ordering: .relaxed) }

    @inline(__always)
    func takeSerial() throws(StorageError) -> UInt64 { try takeSerials(1) }

    /// Returns the first of `count` consecutive serials. They are below the ceiling in the header.
    @inline(__always)
    func takeSerials(_ count: Int) throws(StorageError) -> UInt64 {
        let first = dataFile.nextSerial.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
        let end = first &+ UInt64(count)
        if end > dataFile.ceiling.load(ordering: .relaxed) { try raiseCeiling(above: end) }
        assert(
            end <= dataFile.ceiling.load(ordering: .relaxed),
            "invariant 2: the header vouches for a serial before it is used")
        return first
    }

    /// Raises the ceiling when half of the stock is used, so that no writer has to.
    ///
    /// - Returns: whether it was raised.
    func raiseCeilingAhead() throws(StorageError) -> Bool {
        let serial = nextSerial
        let ceiling = dataFile.ceiling.load(ordering: .relaxed)
        // Without a write since opening there is no stock to renew.
        guard serial < ceiling, ceiling - serial < FileHeader.serialStock / 2 else { return false }
        try raiseCeiling(above: serial + FileHeader.serialStock / 2)
        return true
    }

    @inline(never)
    private func raiseCeiling(above serial: UInt64) throws(StorageError) {
        if isSuspended { throw .suspended(path: path) }
        if isEncrypted && serial + FileHeader.serialStock >= PageCipher.serialLimit {
            throw .invalidArgument(
                "the numbers that keep encrypted pages apart are used up; copy the database into a new file")
        }
        if serial >= counterLimit - FileHeader.serialStock {
            throw .invalidArgument("the numbers of pages are used up; copy the database into a new file")
        }
        do throws(FileError) { try dataFile.raiseCeiling(above: serial, isWritten: !options.readOnly) } catch {
            throw failed(error, "raising the serial ceiling")
        }
    }
}
