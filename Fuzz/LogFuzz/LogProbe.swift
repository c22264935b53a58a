@testable import MakoStorage

/// Hands the payload of a commit to a transaction, as no log would that passed its checks.
enum LogProbe {
    /// Writes values to pages of their own, which no tree refers to, for ``operations(_:naming:in:)``.
    ///
    /// - Returns: the lists of their runs, as operations name them.
    static func namedValues(_ values: [[UInt8]], in store: Store) throws(StorageError) -> [[UInt8]] {
        let transaction = try store.beginWrite()
        var lists: [[UInt8]] = []
        var writers: [ExtentWriter] = []
        for value in values {
            let block = value.withUnsafeBytes { LZ4.compress($0, limit: value.count / 2) }
            let bytes = block ?? value
            let writer = ExtentWriter(transaction.writer, tree: 1, bytes: bytes.count)
            try bytes.withUnsafeBytes { bytes in result { () throws(StorageError) in try writer.append(bytes) } }.get()
            lists.append(try writer.finish(length: UInt64(value.count)).encoded())
            writers.append(writer)
        }
        return lists
    }

    /// Takes the payload of a logged commit and applies it to a transaction, as recovery does.
    ///
    /// - Parameter lists: of values whose pages were written before, and which the operations may name.
    static func operations(
        _ bytes: [UInt8], naming lists: [[UInt8]] = [], in transaction: borrowing WriteTransaction
    ) throws(StorageError) {
        let store = transaction.store
        let runs = lists.compactMap { $0.withUnsafeBytes { ValueExtents($0) } }.flatMap(\.runs)
        transaction.writer.reserved = Set(runs)
        store.versions.lock.withLock {
            // Those that the transaction before took were given back with it.
            store.versions.space.settle()
            for run in runs { _ = store.versions.space.reserve(run.pages) }
        }
        let outcome: Result<Void, StorageError> = bytes.withUnsafeBytes { bytes in
            result { () throws(StorageError) in
                try transaction.writer.replay(bytes, commit: 1, path: "probe")
            }
        }
        try outcome.get()
    }
}
