extension Store {
    /// Whether everything in the store's files but the header block is encrypted.
    public var isEncrypted: Bool { dataFile.keys != nil }

    /// What copies of the store are encrypted with.
    var currentEncryption: Encryption? { dataFile.lock.withLock { dataFile.encryption } }

    /// Sets what the database opens with from now on.
    ///
    /// The data is not written again: its own key stays, and is locked with the new one. So this takes two writes, and a crash leaves a
    /// database that opens with the old key or the new. Backups that were made before open with the old key; and whoever has the old key
    /// and kept an older header of the file can read newer data, too. ``copy(to:encryption:progress:)`` and
    /// ``compact(at:options:encryption:progress:)`` draw a new key for the data itself.
    ///
    /// ```swift
    /// try store.changeKey(to: .passphrase("correct horse battery staple"))
    /// ```
    ///
    /// - Parameter new: its cipher does not count; the database keeps its own.
    /// - Throws: ``StorageError/notEncrypted(path:)``, ``StorageError/readOnly(reason:)``, ``StorageError/invalidArgument(_:)`` for what is no
    ///   key, and I/O errors: then it opens with the old key, or where the error came late with the new one.
    public func changeKey(to new: Encryption) throws(StorageError) {
        guard let keys = dataFile.keys else { throw .notEncrypted(path: path) }
        guard !isInherited else { throw .inherited(path: path) }
        if let reason = writeRefusal {
            throw isClosed.load(ordering: .acquiring) ? .closed : .readOnly(reason: reason)
        }
        let record = try keys.record(for: new, entropy: options.entropy)
        do throws(FileError) {
            try dataFile.lock.withLock { () throws(FileError) in
                try dataFile.update { $0.key = record }
                dataFile.encryption = new
            }
            noteWeakPassphrase()
            events?.deliver()
        } catch { throw failed(error, "changing the key") }
    }

    /// Tells of a passphrase that takes little work to guess.
    func noteWeakPassphrase() {
        guard let derivation = dataFile.lock.withLock({ dataFile.header.key?.derivation }),
            derivation.kind == .passphrase,
            derivation.rounds < KeyRecord.Derivation.strongRounds
        else { return }
        events?.note(.weakPassphrase(rounds: derivation.rounds))
    }
}
