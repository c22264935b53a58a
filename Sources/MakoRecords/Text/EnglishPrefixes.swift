extension EnglishStemmer {
    /// Returns the stems of words with a prefix that do not begin with it themselves, except the prefix's own stem:
    /// "happi" for "happines", because "happiness" begins with it. Some are stems of no such word: the text decides.
    ///
    /// A stem is a beginning of its word and at most one other letter, so that the rest of the prefix must be the
    /// beginning of suffixes that the stemmer removes, at most one in each step.
    static func shorterStems(ofWordsFrom prefix: [UInt8]) -> [[UInt8]] {
        guard prefix.count > 1, prefix.allSatisfy({ $0 &- 97 < 26 }) else { return [] }
        var stems: [[UInt8]] = []
        for (word, stem) in exceptions where word.utf8.starts(with: prefix) { stems.append(Array(stem.utf8)) }
        let region = min(firstRegion(of: prefix), prefix.count)
        for cut in 1..<prefix.count where mayLose(prefix, from: cut, region: region) {
            for letter in ["", "e", "i", "l"] { stems.append(prefix[..<cut] + Array(letter.utf8)) }
        }
        let own = stem(of: prefix)
        return Set(stems).filter { $0 != own && !$0.starts(with: prefix) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The stem of a word in lower case.
    static func stem(of word: [UInt8]) -> [UInt8] {
        // A step may put a letter more.
        var memory = word + [0, 0, 0, 0]
        let count = memory.withUnsafeMutableBufferPointer { stem($0, word.count) }
        return Array(memory[..<count])
    }

    /// Returns whether the stemmer may remove the end of a word that continues a prefix.
    ///
    /// - Parameters:
    ///   - cut: the number of letters that stay.
    ///   - region: the start of the region in which the suffixes of the later steps lie.
    private static func mayLose(_ prefix: [UInt8], from cut: Int, region: Int) -> Bool {
        let rest = prefix[cut...]
        let inflections = suffixes.count - 2
        if mayBegin(rest, inflections) { return true }
        let (letter, further) = (prefix[cut], rest.dropFirst())
        let isDoubled = letter == prefix[cut - 1] && "bdfgmnprt".utf8.contains(letter)
        if isDoubled || isSame(letter, UInt8(ascii: "i")), mayBegin(further, inflections) { return true }
        if cut < region { return false }
        return mayBegin(rest, 0) || "el".utf8.contains(letter) && mayBegin(further, 0)
    }

    /// The suffixes of each step, as they are in a word: the last step first, and those of "-ing" and the plural last.
    private static let suffixes: [[[UInt8]]] = [
        [
            "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
            "ion", "al", "er", "ic", "abiliti", "ibiliti",
        ],
        ["ational", "tional", "alize", "icate", "iciti", "ical", "ness", "ful", "ative", "ation", "tion", "at"],
        [
            "ational", "ization", "fulness", "ousness", "iveness", "tional", "biliti", "lessli", "entli", "ation",
            "alism", "aliti", "ousli", "iviti", "fulli", "enci", "anci", "abli", "izer", "ator", "alli", "bli", "ogi",
            "li", "or", "ional", "iliti", "ibli",
        ],
        ["at", "iz", "abl", "ibl", "bl"],
        ["eedly", "eed", "ingly", "edly", "ing", "ed", "ly"],
        // No "s": the word ends with it, so that it is the prefix, whose own stem is sought as well.
        ["es", "ed"],
    ].map { $0.map { Array($0.utf8) } }

    /// Returns whether letters are a beginning of suffixes of a step and the steps before it.
    private static func mayBegin(_ letters: ArraySlice<UInt8>, _ step: Int) -> Bool {
        if letters.isEmpty { return true }
        if step == suffixes.count { return false }
        return suffixes[step].contains { suffix in
            guard zip(letters, suffix).allSatisfy({ isSame($0, $1) }) else { return false }
            return letters.count <= suffix.count || mayBegin(letters.dropFirst(suffix.count), step + 1)
        } || mayBegin(letters, step + 1)
    }

    /// Returns whether two letters are the same to the stemmer, which turns y into i.
    private static func isSame(_ first: UInt8, _ second: UInt8) -> Bool {
        let letters = [UInt8(ascii: "i"), UInt8(ascii: "y")]
        return first == second || letters.contains(first) && letters.contains(second)
    }
}
