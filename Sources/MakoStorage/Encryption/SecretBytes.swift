import CPlatform

/// Bytes of a secret, in memory that is overwritten when they are let go of.
///
/// What the caller passed them in, and what the system has swapped out, is not in reach.
final class SecretBytes: @unchecked Sendable {
    // Written by `init` and `deinit` alone.
    private(set) var bytes: [UInt8]

    /// Copies the bytes.
    init(_ bytes: [UInt8]) {
        var own = [UInt8](repeating: 0, count: bytes.count)
        for index in bytes.indices { own[index] = bytes[index] }
        self.bytes = own
    }

    deinit { forget(&bytes) }
}

/// Overwrites bytes of a secret that are not needed any more.
func forget(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { mako_forget($0.baseAddress, UInt64($0.count)) }
}
