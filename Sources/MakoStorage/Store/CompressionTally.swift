import Synchronization

/// What compression has saved since a store was opened, in bytes. See ``StoreStats/compression``.
public struct CompressionStats: Sendable, Hashable, Codable {
    /// Values that were put on pages of their own: what they are, and what of them was written.
    public var valueBytes: UInt64
    public var storedValueBytes: UInt64
    /// Content of frames of the log: what it is, and what of it was written.
    public var logContentBytes: UInt64
    public var storedLogContentBytes: UInt64
}

/// Counts values as they are written, by whoever has the writer's turn.
final class CompressionTally: Sendable {
    private let bytes = Atomic<UInt64>(0)
    private let storedBytes = Atomic<UInt64>(0)

    func noteValue(bytes count: UInt64, stored: UInt64) {
        bytes.wrappingAdd(count, ordering: .relaxed)
        storedBytes.wrappingAdd(stored, ordering: .relaxed)
    }

    func stats(logContent: (bytes: UInt64, stored: UInt64)) -> CompressionStats {
        CompressionStats(
            valueBytes: bytes.load(ordering: .relaxed), storedValueBytes: storedBytes.load(ordering: .relaxed),
            logContentBytes: logContent.bytes, storedLogContentBytes: logContent.stored)
    }
}
