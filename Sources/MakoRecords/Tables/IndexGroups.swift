import MakoStorage

/// Counts the entries of an index for each value of its first column, an integer, in one index-only scan.
enum IndexGroups {
    /// Returns whether an entry starts with the encoding of a value.
    @inline(__always)
    static func begins(_ key: UnsafeRawBufferPointer, with coding: [UInt8]) -> Bool {
        guard key.count >= coding.count else { return false }
        return coding.withUnsafeBytes {
            KeyOrder.compareRaw(UnsafeRawBufferPointer(rebasing: key[..<coding.count]), $0) == 0
        }
    }

    /// Calls a closure with each value and its count; NULLs are excluded.
    static func forEach(
        _ index: IndexHandle, _ table: String, _ view: Snapshot, _ cancellation: Cancellation?,
        _ body: (Int64, Int64) -> Void
    ) throws(RecordError) {
        var number: UInt64 = 0
        var count: Int64 = 0
        var steps = 0
        try recorded {
            // NULL sorts before every number.
            try view.forEach(in: index.tree, from: [1]) { key, _ in
                guard key.count >= 9 else {
                    throw RecordError.indexDamaged(
                        table: table, index: index.schema.name, reason: "an entry names no row")
                }
                let next = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
                if next == number {
                    count &+= 1
                    return true
                }
                if count > 0 { body(Int64(bitPattern: number), count) }
                number = next
                count = 1
                steps &+= 1
                if steps & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
                return true
            }
        }
        if count > 0 { body(Int64(bitPattern: number), count) }
    }
}
