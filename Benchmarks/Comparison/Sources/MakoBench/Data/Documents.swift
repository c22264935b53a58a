import Foundation

/// Texts of a hundred words, of which some are very common and most are rare, as in a language.
struct Documents: Sendable {
    static let words = 100
    private static let vocabulary = 50_000

    let count: Int

    /// The word of a rank: of one to five syllables.
    static func word(_ rank: Int) -> String {
        var rest = Mixer.mix(UInt64(rank) &+ 77)
        var word = ""
        for _ in 0..<(1 + rank.bitWidth / 16 + Int(rest & 1)) {
            word += consonants[Int(rest >> 3 & 15)] + vowels[Int(rest >> 7 & 7)]
            rest = Mixer.mix(rest)
        }
        return word + (rank > 400 ? consonants[rank & 15] : "")
    }

    private static let consonants = "bdfghklmnprstvwz".map { String($0) }
    private static let vowels = ["a", "e", "i", "o", "u", "ai", "ou", "ie"]

    /// The ranks of the words of a document: the n-th word is there one n-th as often as the first.
    static func ranks(_ document: Int) -> [Int] {
        var random = Mixer(seed: UInt64(document))
        return (0..<words).map { _ in
            let share = Double(random.next() >> 11) / Double(1 << 53)
            return min(vocabulary - 1, Int(pow(Double(vocabulary), share)) - 1)
        }
    }

    static func text(_ document: Int) -> String { ranks(document).map(word).joined(separator: " ") }
}
