/// A 128-bit hash of the rest of a key that is too long for the engine. Part of the file format: it must never change.
///
/// Two independent lanes of multiply-and-fold; lookups compare the row, so that a collision costs time but never gives
/// a wrong result.
enum KeyHash {
    /// The largest length of a row key that element and full-text indexes store whole; of longer keys they store the
    /// first ``keptBytes`` and the hash of the rest.
    static let longestWhole = 700
    static let keptBytes = 684

    static func append(of bytes: some Collection<UInt8>, to buffer: inout KeyBuffer) {
        let (high, low) = hash(bytes)
        buffer.append(bigEndian: high)
        buffer.append(bigEndian: low)
    }

    static func hash(_ bytes: some Collection<UInt8>) -> (UInt64, UInt64) {
        var a: UInt64 = 0x243F_6A88_85A3_08D3
        var b: UInt64 = 0x1319_8A2E_0370_7344
        var word: UInt64 = 0
        var filled: UInt64 = 0
        for byte in bytes {
            word |= UInt64(byte) << (filled * 8)
            filled += 1
            if filled == 8 {
                mix(&a, &b, word)
                word = 0
                filled = 0
            }
        }
        mix(&a, &b, word)
        mix(&a, &b, UInt64(bytes.count))
        mix(&a, &b, 0xA409_3822_299F_31D0)
        return (a, b)
    }

    @inline(__always)
    private static func mix(_ a: inout UInt64, _ b: inout UInt64, _ word: UInt64) {
        let first = (a ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        let second = (b &+ word).multipliedFullWidth(by: 0xD1B5_4A32_D192_ED03)
        a = (first.high ^ first.low) &+ (b << 23 | b >> 41)
        b = (second.high ^ second.low) ^ (a << 37 | a >> 27)
    }
}
