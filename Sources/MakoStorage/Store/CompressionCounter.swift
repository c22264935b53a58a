import Synchronization

/// The bytes that compression has saved since a store was opened. See ``StoreStats/compression``.
public struct CompressionStats: Sendable, Hashable, Codable {
    /// The bytes of values that were written to pages of their own.
    public var valueBytes: UInt64
    /// The bytes that were stored for these values.
    public var storedValueBytes: UInt64
    /// The bytes of the payloads of log frames.
    public var logContentBytes: UInt64
    /// The bytes that were stored for these payloads.
    public var storedLogContentBytes: UInt64
}

/// Counts the bytes of values. Only the holder of the writer lock adds to it.
final class CompressionCounter: Sendable {
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
