extension Store {
    /// Whether the store's files, except for the header block, are encrypted.
    public var isEncrypted: Bool { dataFile.keys != nil }

    /// The encryption for copies of the store.
    var currentEncryption: Encryption? { dataFile.lock.withLock { dataFile.encryption } }

    /// Changes the key of the database.
    ///
    /// The data is not rewritten: its data key stays, and is encrypted with the new key. So the change takes two
    /// writes, and after a crash the database opens with the old key or the new one. Earlier backups open with the old
    /// key; an attacker with the old key and an older header of the file can also read newer data.
    /// ``copy(to:encryption:progress:)`` and ``compact(at:options:encryption:progress:)`` use a new data key.
    ///
    /// ```swift
    /// try store.changeKey(to: .passphrase("correct horse battery staple"))
    /// ```
    ///
    /// - Parameter new: the new key. Its cipher is ignored; the database keeps its cipher.
    /// - Throws: ``StorageError/notEncrypted(path:)``, ``StorageError/readOnly(reason:)``,
    ///   ``StorageError/invalidArgument(_:)`` for an invalid key, and I/O errors: the database then opens with the old
    ///   key or, after a late error, with the new one.
    public func changeKey(to new: Encryption) throws(StorageError) {
        guard let keys = dataFile.keys else { throw .notEncrypted(path: path) }
        guard !isInherited else { throw .inherited(path: path) }
        if let refusal = writeRefusal { throw refusal }
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

    /// Reports a passphrase with a weak key derivation.
    func noteWeakPassphrase() {
        guard let derivation = dataFile.lock.withLock({ dataFile.header.key?.derivation }),
            derivation.kind == .passphrase,
            derivation.rounds < KeyRecord.Derivation.strongRounds
        else { return }
        events?.note(.weakPassphrase(rounds: derivation.rounds))
    }
}
