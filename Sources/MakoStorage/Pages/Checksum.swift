/// The 64-bit checksum of pages, metas and log frames.
///
/// A multiply-and-fold hash of the wyhash family (Wang Yi, "Modern Non-Cryptographic Hash Function and
/// Pseudorandom Number Generator", 2019), in the form that keeps its inputs in the fold, so that an operand of
/// zero does not wipe out what came before. It finds accidents; it is no protection against an attacker.
enum Checksum {
    private static let k0: UInt64 = 0xa076_1d64_78bd_642f
    private static let k1: UInt64 = 0xe703_7ed1_a0b4_28db
    private static let k2: UInt64 = 0x8ebc_6af0_9c88_c6e3
    private static let k3: UInt64 = 0x5899_65cc_7537_4cc3

    @inline(__always)
    static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return (a ^ product.low) ^ (b ^ product.high)
    }

    /// The checksum of `count` bytes at `start`.
    static func hash(_ start: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
        var a = seed ^ k0
        var b = mix(seed ^ k1, UInt64(truncatingIfNeeded: count) ^ k2)
        var position = start
        var left = count
        while left >= 32 {
            a = mix(word(position) ^ k1, word(position + 8) ^ a)
            b = mix(word(position + 16) ^ k2, word(position + 24) ^ b)
            position += 32
            left &-= 32
        }
        while left >= 8 {
            a = mix(word(position) ^ k3, a ^ k1)
            position += 8
            left &-= 8
        }
        if left > 0 {
            var last: UInt64 = 0
            for index in 0..<left {
                last |= UInt64(position.load(fromByteOffset: index, as: UInt8.self)) &<< UInt64(8 &* index)
            }
            b = mix(last ^ k3, b ^ k2)
        }
        return mix(mix(a ^ k0, b ^ k3), k1 ^ UInt64(truncatingIfNeeded: count))
    }

    @inline(__always)
    private static func word(_ at: UnsafeRawPointer) -> UInt64 {
        UInt64(littleEndian: at.loadUnaligned(as: UInt64.self))
    }
}
