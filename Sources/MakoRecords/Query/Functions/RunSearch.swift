/// Seeks a run of bytes in texts. It holds no object, so that nothing is counted for a text.
struct RunSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// In lower case where case is ignored. They are somebody else's, and outlive the search.
    private let bytes: UnsafeRawBufferPointer
    private let ignoresCase: Bool
    private let isAtStart: Bool
    private let isAtEnd: Bool
    // The first and the last byte, each in all bytes of a word, and the bits that make texts alike in case there.
    private let first: UInt64
    private let firstCase: UInt64
    private let end: UInt64
    private let endCase: UInt64

    /// - Parameters:
    ///   - bytes: at least one.
    ///   - isAtStart: whether texts begin with them.
    ///   - isAtEnd: whether texts end with them.
    init(_ bytes: UnsafeRawBufferPointer, ignoresCase: Bool, isAtStart: Bool, isAtEnd: Bool) {
        func spread(_ byte: UInt8) -> (word: UInt64, caseBits: UInt64) {
            let isLetter = ignoresCase && byte >= 97 && byte <= 122
            return (UInt64(byte) &* RunSearch.ones, isLetter ? RunSearch.ones &* 0x20 : 0)
        }
        self.bytes = bytes
        self.ignoresCase = ignoresCase
        self.isAtStart = isAtStart
        self.isAtEnd = isAtEnd
        (first, firstCase) = spread(bytes.first ?? 0)
        (end, endCase) = spread(bytes.last ?? 0)
    }

    /// Whether the text has the run where it is to stand. Time is at most the product of the lengths.
    @inline(__always)
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        let room = text.count &- bytes.count
        if room < 0 { return false }
        if isAtStart { return (room == 0 || !isAtEnd) && isRun(text, 0) }
        if isAtEnd { return isRun(text, room) }
        return contains(text, room)
    }

    /// Whether the text has the run anywhere. Eight places at a time are asked for its first and last byte, in one word each.
    private func contains(_ text: UnsafeRawBufferPointer, _ room: Int) -> Bool {
        let last = bytes.count &- 1
        guard room >= 7 else { return (0...room).contains { isRun(text, $0) } }
        var start = 0
        while start <= room {
            let window = min(start, room &- 7)
            let begins = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: window, as: UInt64.self))
            let ends = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: window &+ last, as: UInt64.self))
            var found = RunSearch.zeroBytes((begins | firstCase) ^ first) & RunSearch.zeroBytes((ends | endCase) ^ end)
            while found != 0 {
                if isRun(text, window &+ found.trailingZeroBitCount &>> 3) { return true }
                found &= found &- 1
            }
            start &+= 8
        }
        return false
    }

    /// The top bits of the bytes that are zero; above such a byte others may be marked, too.
    @inline(__always)
    private static func zeroBytes(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & (ones &* 0x80) }

    /// Whether the text has the run at a place.
    @inline(__always)
    private func isRun(_ text: UnsafeRawBufferPointer, _ place: Int) -> Bool {
        var index = 0
        while index < bytes.count {
            let byte = text[place &+ index]
            let folded = ignoresCase && byte &- 65 < 26 ? byte | 0x20 : byte
            if folded != bytes[index] { return false }
            index &+= 1
        }
        return true
    }
}
