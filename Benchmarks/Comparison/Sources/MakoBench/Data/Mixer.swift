/// Deterministic pseudo-random numbers: the same seed gives the same benchmark on every machine.
struct Mixer: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Mixer.mix(state)
    }

    /// A bijection on 64-bit numbers, so distinct inputs never collide.
    @inline(__always)
    static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The contribution of a read to the checksum: the first and the last eight bytes of a value, so that its first and last cache lines
/// are really loaded.
@inline(__always)
func touch(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
    bytes.loadUnaligned(as: UInt64.self) &+ bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
}

@inline(__always)
func touch(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = bytes.baseAddress else { return 0 }
    return touch(start, bytes.count)
}
