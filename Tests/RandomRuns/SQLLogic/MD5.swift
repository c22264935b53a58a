/// The digest by which sqllogictest shortens long answers: RFC 1321. For nothing else.
enum MD5 {
    private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]
    /// 2^32 times the sines of 1 to 64, whole.
    private static let sines: [UInt32] = (1...64).map { UInt32(sine(Double($0)).magnitude * 0x1p32) }

    /// By its series, exact to all bits that count.
    private static func sine(_ angle: Double) -> Double {
        var reduced = angle.truncatingRemainder(dividingBy: 2 * .pi)
        if reduced > .pi { reduced -= 2 * .pi }
        var (sum, term) = (0.0, reduced)
        for step in 1...30 {
            sum += term
            term *= -reduced * reduced / Double(2 * step * (2 * step + 1))
        }
        return sum
    }

    static func hexadecimal(_ message: [UInt8]) -> String {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count) &* 8
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for start in stride(from: 0, to: bytes.count, by: 64) { add(bytes[start..<start + 64], to: &state) }
        return state.map { word in
            (0..<4).map { shift in
                let byte = UInt8(truncatingIfNeeded: word >> UInt32(8 * shift))
                return (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        }.joined()
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        let words = (0..<16).map { word in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[block.startIndex + word * 4 + $1]) << UInt32(8 * $1) }
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for step in 0..<64 {
            let mixed: UInt32
            let word: Int
            switch step / 16 {
            case 0: (mixed, word) = (b & c | ~b & d, step)
            case 1: (mixed, word) = (d & b | ~d & c, (5 * step + 1) % 16)
            case 2: (mixed, word) = (b ^ c ^ d, (3 * step + 5) % 16)
            default: (mixed, word) = (c ^ (b | ~d), 7 * step % 16)
            }
            let sum = a &+ mixed &+ sines[step] &+ words[word]
            let shift = shifts[step / 16 * 4 + step % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
        }
        state[0] = state[0] &+ a
        state[1] = state[1] &+ b
        state[2] = state[2] &+ c
        state[3] = state[3] &+ d
    }
}
