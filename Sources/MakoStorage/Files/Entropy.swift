/// The source of the engine's random numbers: database ids, log salts and keys. Tests use a seed, so that the same run
/// writes the same bytes.
public protocol Entropy: Sendable {
    /// Returns 64 random bits.
    func next() -> UInt64
}

/// The random numbers of the operating system.
public struct SystemEntropy: Entropy {
    /// Creates the source.
    public init() {}

    public func next() -> UInt64 { UInt64.random(in: .min ... .max) }
}

/// A sequence that depends on the seed alone (SplitMix64). Predictable, so for tests only.
public final class SeededEntropy: Entropy, @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var state: UInt64

    /// Creates the sequence of a seed.
    public init(seed: UInt64) { state = seed }

    public func next() -> UInt64 {
        lock.withLock {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }
}
