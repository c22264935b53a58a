import CPlatform

/// The bytes of a secret, in memory that is overwritten when it is freed.
///
/// The caller's copy, and memory that the system has swapped out, cannot be overwritten.
final class SecretBytes: @unchecked Sendable {
    // Written by `init` and `deinit` only.
    private(set) var bytes: [UInt8]

    /// Copies the bytes.
    init(_ bytes: [UInt8]) {
        var own = [UInt8](repeating: 0, count: bytes.count)
        for index in bytes.indices { own[index] = bytes[index] }
        self.bytes = own
    }

    deinit { forget(&bytes) }
}

/// Overwrites the bytes of a secret that is no longer needed.
func forget(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { mako_forget($0.baseAddress, UInt64($0.count)) }
}
