/// Substring search for LIKE. It holds no object, so that nothing is retained for a text.
struct RunSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The substring, in lower case if case is ignored. Borrowed from memory that outlives the search.
    private let bytes: UnsafeRawBufferPointer
    private let ignoresCase: Bool
    private let isAtStart: Bool
    private let isAtEnd: Bool
    // The first and the last byte, repeated in a word, and their masks for case-insensitive comparison.
    private let first: UInt64
    private let firstCase: UInt64
    private let end: UInt64
    private let endCase: UInt64

    /// - Parameters:
    ///   - bytes: the substring, not empty.
    ///   - isAtStart: whether it must be a prefix.
    ///   - isAtEnd: whether it must be a suffix.
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

    /// Returns whether the text has the substring at a permitted position.
    ///
    /// - Complexity: at most the product of the lengths.
    @inline(__always)
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        let room = text.count &- bytes.count
        if room < 0 { return false }
        if isAtStart { return (room == 0 || !isAtEnd) && isRun(text, 0) }
        if isAtEnd { return isRun(text, room) }
        return contains(text, room)
    }

    /// Returns whether the text contains the substring. Compares the first and the last byte at eight positions at
    /// once, in one word each.
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

    /// Returns the top bits of the bytes that are zero; bytes above such a byte may be marked wrongly.
    @inline(__always)
    private static func zeroBytes(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & (ones &* 0x80) }

    /// Returns whether the substring is at a position.
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
