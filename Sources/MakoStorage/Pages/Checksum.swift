import CPlatform

/// The 64-bit checksum of pages, metas and log frames.
///
/// A multiply-and-fold hash of the wyhash family (Wang Yi, "Modern Non-Cryptographic Hash Function and Pseudorandom
/// Number Generator", 2019), in the form that keeps its inputs in the fold, so that an operand of zero does not erase
/// the state. It detects accidental damage; it does not protect against an attacker.
package enum Checksum {
    private static let k0: UInt64 = 0xa076_1d64_78bd_642f
    private static let k1: UInt64 = 0xe703_7ed1_a0b4_28db
    private static let k2: UInt64 = 0x8ebc_6af0_9c88_c6e3
    private static let k3: UInt64 = 0x5899_65cc_7537_4cc3

    @inline(__always)
    package static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return (a ^ product.low) ^ (b ^ product.high)
    }

    /// The state of a chain of `mix` steps, shaped for instruction-level parallelism.
    ///
    /// Each product depends on the one before, and this dependency bounds the time for a page. So everything else that
    /// the next factor needs, its word included, is combined while the processor multiplies; only the two halves of the
    /// product are missing then, the upper one last.
    private struct Chain {
        private var ready: UInt64
        private var high: UInt64 = 0

        /// - Parameter word: the word to combine with the value in the first product.
        @inline(__always)
        init(_ value: UInt64, meeting word: UInt64) { ready = value ^ word }

        /// Advances the value to `mix(factor, word ^ value)`, with the word given in the step before.
        ///
        /// - Parameter word: the word for the next step.
        @inline(__always)
        mutating func mix(_ factor: UInt64, thenMeeting word: UInt64) {
            let other = ready ^ high
            let rest = mako_settled(word ^ factor ^ other)
            let product = factor.multipliedFullWidth(by: other)
            ready = rest ^ product.low
            high = product.high
        }

        /// The value, if the last step was given the word 0.
        @inline(__always)
        var value: UInt64 { ready ^ high }
    }

    /// Returns the checksum of `count` bytes at `start`.
    package static func hash(_ start: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
        var a = seed ^ k0
        var b = mix(seed ^ k1, UInt64(truncatingIfNeeded: count) ^ k2)
        var position = start
        var left = count
        if left >= 32 {
            var first = Chain(a, meeting: word(position + 8))
            var second = Chain(b, meeting: word(position + 24))
            while left >= 64 {
                let (nextFirst, nextSecond) = (word(position + 40), word(position + 56))
                first.mix(word(position) ^ k1, thenMeeting: nextFirst)
                second.mix(word(position + 16) ^ k2, thenMeeting: nextSecond)
                position += 32
                left &-= 32
            }
            first.mix(word(position) ^ k1, thenMeeting: 0)
            second.mix(word(position + 16) ^ k2, thenMeeting: 0)
            position += 32
            left &-= 32
            a = first.value
            b = second.value
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

    /// The checksum of some bytes.
    package static func hash(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { buffer in
            withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { none in
                let start = buffer.baseAddress ?? none.baseAddress.map { UnsafeRawPointer($0) }
                return start.map { hash($0, count: buffer.count, seed: seed) } ?? 0
            }
        }
    }

    @inline(__always)
    private static func word(_ at: UnsafeRawPointer) -> UInt64 {
        UInt64(littleEndian: at.loadUnaligned(as: UInt64.self))
    }
}
