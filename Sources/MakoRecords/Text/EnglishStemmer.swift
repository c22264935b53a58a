/// Martin Porter's second English stemmer, "Porter2", as described at
/// https://snowballstem.org/algorithms/english/stemmer.html. Part of the file format of indexes that use it.
enum EnglishStemmer {
    /// Stems a word in lower case, and returns the number of bytes left. Words with other letters than a to z are not
    /// changed.
    static func stem(_ word: UnsafeMutableBufferPointer<UInt8>, _ count: Int) -> Int {
        guard count > 2, (0..<count).allSatisfy({ word[$0] &- 97 < 26 }) else { return count }
        var run = StemmerRun(word, count)
        return run.stem()
    }

    /// The start of the region in which the suffixes of a word lie.
    static func firstRegion(of word: [UInt8]) -> Int {
        var memory = word
        return memory.withUnsafeMutableBufferPointer { word in
            var run = StemmerRun(word, word.count)
            return run.firstRegion()
        }
    }

    /// The words with stems of their own.
    static var exceptions: [(word: String, stem: String)] {
        StemmerRun.exceptions.map { ("\($0.word)", "\($0.stem)") }
    }
}

/// The stemming of one word.
private struct StemmerRun {
    private let word: UnsafeMutableBufferPointer<UInt8>
    private var count: Int
    /// The starts of the regions R1 and R2, in which suffixes must lie.
    private var first = 0
    private var second = 0

    init(_ word: UnsafeMutableBufferPointer<UInt8>, _ count: Int) {
        self.word = word
        self.count = count
    }

    mutating func stem() -> Int {
        if let (_, stem) = StemmerRun.exceptions.first(where: { isWhole($0.word) }) {
            replace(count, with: stem)
            return count
        }
        markConsonants()
        findRegions()
        step1a()
        if !StemmerRun.keptLater.contains(where: { isWhole($0) }) {
            step1b()
            step1c()
            take(StemmerRun.step2)
            step3()
            step4()
            step5()
        }
        for place in 0..<count where word[place] == UInt8(ascii: "Y") { word[place] = UInt8(ascii: "y") }
        return count
    }

    static let exceptions: [(word: StaticString, stem: StaticString)] = [
        ("skis", "ski"), ("skies", "sky"), ("dying", "die"), ("lying", "lie"), ("tying", "tie"), ("idly", "idl"),
        ("gently", "gentl"), ("ugly", "ugli"), ("early", "earli"), ("only", "onli"), ("singly", "singl"),
        ("sky", "sky"), ("news", "news"), ("howe", "howe"), ("atlas", "atlas"), ("cosmos", "cosmos"),
        ("bias", "bias"), ("andes", "andes"),
    ]

    mutating func firstRegion() -> Int {
        markConsonants()
        findRegions()
        return first
    }

    private static let keptLater: [StaticString] = [
        "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed",
    ]

    // MARK: Letters

    private func isVowel(_ place: Int) -> Bool {
        switch word[place] {
        case 97, 101, 105, 111, 117, 121: true
        default: false
        }
    }

    /// A y at the start or after a vowel is a consonant, marked as Y during the stemming.
    private func markConsonants() {
        for place in 0..<count
        where word[place] == UInt8(ascii: "y") && (place == 0 || isVowel(place - 1)) {
            word[place] = UInt8(ascii: "Y")
        }
    }

    /// Returns the position after the first consonant that follows a vowel.
    private func region(from start: Int) -> Int {
        var place = start
        while place < count, !isVowel(place) { place += 1 }
        while place < count, isVowel(place) { place += 1 }
        return min(place + 1, count)
    }

    private mutating func findRegions() {
        first = region(from: 0)
        for prefix: StaticString in ["gener", "commun", "arsen"] where begins(with: prefix) {
            first = prefix.utf8CodeUnitCount
        }
        second = region(from: first)
    }

    private func isShortSyllable(endingAt end: Int) -> Bool {
        guard end >= 2, isVowel(end - 2), !isVowel(end - 1) else { return false }
        if end == 2 { return true }
        let last = word[end - 1]
        let isOpen = last == UInt8(ascii: "w") || last == UInt8(ascii: "x") || last == UInt8(ascii: "Y")
        return !isVowel(end - 3) && !isOpen
    }

    private var isShort: Bool { first >= count && isShortSyllable(endingAt: count) }

    private func hasVowel(before end: Int) -> Bool { (0..<max(0, end)).contains { isVowel($0) } }

    // MARK: Suffixes

    private func matches(_ text: StaticString, at start: Int) -> Bool {
        guard start >= 0 else { return false }
        return text.withUTF8Buffer { bytes in
            for place in 0..<bytes.count where word[start + place] != bytes[place] { return false }
            return true
        }
    }

    private func isWhole(_ text: StaticString) -> Bool { text.utf8CodeUnitCount == count && matches(text, at: 0) }

    private func begins(with text: StaticString) -> Bool {
        text.utf8CodeUnitCount <= count && matches(text, at: 0)
    }

    private func ends(_ text: StaticString) -> Bool { matches(text, at: count - text.utf8CodeUnitCount) }

    /// Replaces this many bytes at the end.
    private mutating func replace(_ taken: Int, with text: StaticString) {
        count -= taken
        text.withUTF8Buffer { bytes in
            for byte in bytes {
                word[count] = byte
                count += 1
            }
        }
    }

    private func isLetter(_ place: Int, _ letters: StaticString) -> Bool {
        guard place >= 0 else { return false }
        return letters.withUTF8Buffer { $0.contains(word[place]) }
    }

    // MARK: Steps

    private mutating func step1a() {
        if ends("sses") { return count -= 2 }
        if ends("ied") || ends("ies") { return count -= count > 4 ? 2 : 1 }
        if ends("us") || ends("ss") { return }
        if ends("s"), hasVowel(before: count - 2) { count -= 1 }
    }

    private mutating func step1b() {
        for ending: StaticString in ["eedly", "eed"] where ends(ending) {
            let length = ending.utf8CodeUnitCount
            if count - length >= first { count -= length - 2 }
            return
        }
        for ending: StaticString in ["ingly", "edly", "ing", "ed"] where ends(ending) {
            let length = ending.utf8CodeUnitCount
            guard hasVowel(before: count - length) else { return }
            count -= length
            if ends("at") || ends("bl") || ends("iz") { return replace(0, with: "e") }
            if count >= 2, word[count - 1] == word[count - 2], isLetter(count - 1, "bdfgmnprt") { return count -= 1 }
            if isShort { replace(0, with: "e") }
            return
        }
    }

    private mutating func step1c() {
        guard count > 2, isLetter(count - 1, "yY"), !isVowel(count - 2) else { return }
        word[count - 1] = UInt8(ascii: "i")
    }

    /// Longest suffixes first.
    private static let step2: [(ending: StaticString, stem: StaticString)] = [
        ("ational", "ate"), ("ization", "ize"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive"),
        ("tional", "tion"), ("biliti", "ble"), ("lessli", "less"), ("entli", "ent"), ("ation", "ate"),
        ("alism", "al"), ("aliti", "al"), ("ousli", "ous"), ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"),
        ("anci", "ance"), ("abli", "able"), ("izer", "ize"), ("ator", "ate"), ("alli", "al"), ("bli", "ble"),
        ("ogi", "og"), ("li", ""),
    ]

    private mutating func take(_ endings: [(ending: StaticString, stem: StaticString)]) {
        guard let (ending, stem) = endings.first(where: { ends($0.ending) }) else { return }
        let length = ending.utf8CodeUnitCount
        guard count - length >= first else { return }
        if length == 2 && !isLetter(count - 3, "cdeghkmnrt") { return }
        if length == 3 && ends("ogi") && !isLetter(count - 4, "l") { return }
        replace(length, with: stem)
    }

    private mutating func step3() {
        if ends("ative") {
            if count - 5 >= second { count -= 5 }
            return
        }
        take([
            ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic"), ("ical", "ic"),
            ("ness", ""), ("ful", ""),
        ])
    }

    private static let step4: [StaticString] = [
        "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion",
        "al", "er", "ic",
    ]

    private mutating func step4() {
        guard let ending = StemmerRun.step4.first(where: { ends($0) }) else { return }
        let length = ending.utf8CodeUnitCount
        guard count - length >= second else { return }
        if ends("ion") && !isLetter(count - 4, "st") { return }
        count -= length
    }

    private mutating func step5() {
        if ends("e") {
            let start = count - 1
            if start >= second || (start >= first && !isShortSyllable(endingAt: start)) { count -= 1 }
        } else if ends("ll"), count - 1 >= second {
            count -= 1
        }
    }
}
