/// Random numbers that depend on the seed alone (SplitMix64), so that a failure is repeated by its seed.
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator; equal seeds draw equal numbers.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number in `0..<bound`; 0 for an empty range.
    public mutating func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(next() % UInt64(bound))
    }

    /// True in `percent` of a hundred cases.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// A generator that is independent of later draws from this one.
    public mutating func fork() -> SplitMix { SplitMix(seed: next()) }
}
