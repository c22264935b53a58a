/// Splits text into the words of a full-text index.
///
///     var words = Tokenizer()
///     words.begin(text)
///     while words.next() { use(words.term, words.start..<words.end) }
///
/// A word is a run of letters, digits and marks, in lower case and without accents (``WordScalars``, ``BaseLetters``).
/// Letters of scripts written without spaces, such as Han and kana, are words of their own, so that words in such texts
/// are found as phrases. Bytes that are not UTF-8 separate words. Very long words are truncated.
struct Tokenizer: ~Copyable {
    /// The largest length of a term in bytes, which a key of the index can hold.
    static let termLimit = 192
    private static let room = 256

    /// The stemming of words.
    private let stemming: Stemming
    private let memory: UnsafeMutablePointer<UInt8>
    private var length = 0
    private var text = UnsafeRawBufferPointer(start: nil, count: 0)
    private var place = 0
    /// The range of the word in the text, in bytes.
    private(set) var start = 0
    private(set) var end = 0

    init(stemming: Stemming = .none) {
        self.stemming = stemming
        memory = .allocate(capacity: Tokenizer.room)
        memory.initialize(repeating: 0, count: Tokenizer.room)
    }

    deinit { memory.deallocate() }

    /// The term of the index, valid until the next word.
    var term: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: length) }

    /// Starts a text, whose memory must stay valid until its last word.
    mutating func begin(_ text: UnsafeRawBufferPointer) {
        self.text = text
        place = 0
        length = 0
    }

    /// Moves to the next word; returns `false` if there is none.
    mutating func next() -> Bool {
        guard findWord() else { return false }
        if stemming == .english {
            length = EnglishStemmer.stem(UnsafeMutableBufferPointer(start: memory, count: Tokenizer.room), length)
        }
        return true
    }

    private mutating func findWord() -> Bool {
        length = 0
        let count = text.count
        while place < count {
            if text[place] >= 0x80 {
                if takeScalar() { return true }
                continue
            }
            let (letters, size) = AsciiLetters.first(of: upcoming(count))
            if size > 0 {
                if length == 0 { start = place }
                // The memory has eight bytes after the longest term.
                UnsafeMutableRawPointer(memory + length).storeBytes(of: letters.littleEndian, as: UInt64.self)
                length = min(length &+ size, Tokenizer.termLimit)
                place &+= size
                end = place
                if size == 8 { continue }
                if place == count { return true }
                if text[place] >= 0x80 { continue }
            }
            place &+= 1
            if length > 0 { return true }
        }
        return length > 0
    }

    /// Returns the next eight bytes of the text, the first one lowest; zeros after its end.
    @inline(__always)
    private func upcoming(_ count: Int) -> UInt64 {
        if place &+ 8 <= count {
            return UInt64(littleEndian: text.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
        if count >= 8 {
            let last = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
            return last &>> UInt64(truncatingIfNeeded: 8 &* (place &+ 8 &- count))
        }
        var bytes: UInt64 = 0
        for offset in place..<count { bytes |= UInt64(text[offset]) &<< UInt64(8 &* (offset &- place)) }
        return bytes
    }

    /// The term's first eight bytes, see ``KeyBuffer/head(from:to:)``.
    @inline(__always)
    var head: UInt64 {
        let bytes = UInt64(bigEndian: UnsafeRawPointer(memory).load(as: UInt64.self))
        return length >= 8 ? bytes : bytes & ~(UInt64.max &>> UInt64(truncatingIfNeeded: 8 &* length))
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        memory[length] = byte
        length &+= 1
    }

    /// Processes a scalar beyond ASCII. Returns whether it ends a word.
    private mutating func takeScalar() -> Bool {
        let (scalar, size) = decoded()
        let kind: WordScalars.Kind = scalar == 0 ? .separator : WordScalars.kind(of: scalar)
        if kind == .single && length > 0 { return true }
        let first = place
        place += size
        switch kind {
        case .separator: return length > 0
        case .ignored:
            if length > 0 { end = place }
            return false
        case .word, .single:
            if length == 0 { start = first }
            end = place
            appendFolded(scalar)
            // A letter that did not fit the term is not a word of its own.
            return kind == .single && length > 0
        }
    }

    private mutating func appendFolded(_ scalar: UInt32) {
        guard let letter = Unicode.Scalar(scalar) else { return }
        let (first, second) = BaseLetters.base(of: LowerCase.scalar(of: letter).value)
        append(scalar: first)
        if second != 0 { append(scalar: second) }
    }

    private mutating func append(scalar value: UInt32) {
        guard let scalar = Unicode.Scalar(value) else { return }
        let bytes = UTF8.encode(scalar)
        guard let bytes, length + bytes.count <= Tokenizer.termLimit else { return }
        for byte in bytes { append(byte) }
    }

    /// Returns the scalar at the position and its size; 0 and 1 if the bytes are not UTF-8.
    private func decoded() -> (scalar: UInt32, size: Int) {
        let lead = text[place]
        let size = lead >= 0xF0 ? 4 : (lead >= 0xE0 ? 3 : 2)
        guard lead >= 0xC2, lead <= 0xF4, place + size <= text.count else { return (0, 1) }
        var scalar = UInt32(lead) & (0xFF >> (UInt32(size) + 1))
        for offset in 1..<size {
            let byte = text[place + offset]
            guard byte & 0xC0 == 0x80 else { return (0, 1) }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        let least: UInt32 = size == 2 ? 0x80 : (size == 3 ? 0x800 : 0x10000)
        guard scalar >= least, Unicode.Scalar(scalar) != nil else { return (0, 1) }
        return (scalar, size)
    }
}

extension String {
    /// Returns the words that a full-text index would see, as written; at most `limit`.
    ///
    /// Adjacent words without a separator are one piece: a name in a script without spaces.
    package func wordPieces(limit: Int) -> [String] {
        var text = self
        return text.withUTF8 { bytes in
            var words = Tokenizer()
            words.begin(UnsafeRawBufferPointer(bytes))
            var pieces: [Range<Int>] = []
            var count = 0
            while count < limit, words.next() {
                count += 1
                if let last = pieces.last, last.upperBound == words.start {
                    pieces[pieces.count - 1] = last.lowerBound..<words.end
                } else {
                    pieces.append(words.start..<words.end)
                }
            }
            return pieces.map { String(decoding: bytes[$0], as: UTF8.self) }
        }
    }
}

/// ASCII letters and digits, eight bytes at a time.
enum AsciiLetters {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// Returns the number of letters and digits before the first other byte, the first byte being the lowest, and all
    /// bytes in lower case.
    @inline(__always)
    static func first(of bytes: UInt64) -> (folded: UInt64, count: Int) {
        let low = bytes & ~tops
        let letters = between(low | ones &* 0x20, 0x61, 0x7A) & ~bytes & tops
        let others = ~(letters | between(low, 0x30, 0x39) & ~bytes) & tops
        // The case bit is two below the top bit.
        return (bytes | letters &>> 2, others == 0 ? 8 : others.trailingZeroBitCount &>> 3)
    }

    /// Returns the top bit of each byte between two others; all bytes are below 128.
    @inline(__always)
    private static func between(_ bytes: UInt64, _ first: UInt64, _ last: UInt64) -> UInt64 {
        (bytes &+ ones &* (0x80 &- first)) & ~(bytes &+ ones &* (0x7F &- last)) & tops
    }
}
