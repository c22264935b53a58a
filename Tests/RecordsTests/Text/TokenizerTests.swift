import Testing

@testable import MakoRecords

/// How texts are cut into words.
@Suite struct TokenizerTests {
    private func words(_ text: String, _ stemming: Stemming = .none) -> [String] {
        tokens(text, stemming).map(\.term)
    }

    private func tokens(_ text: String, _ stemming: Stemming = .none) -> [(term: String, shown: String)] {
        tokens(Array(text.utf8), stemming)
    }

    private func tokens(_ bytes: [UInt8], _ stemming: Stemming = .none) -> [(term: String, shown: String)] {
        var tokenizer = Tokenizer(stemming: stemming)
        var found: [(term: String, shown: String)] = []
        bytes.withUnsafeBytes { raw in
            tokenizer.begin(raw)
            while tokenizer.next() {
                found.append(
                    (
                        String(decoding: tokenizer.term, as: UTF8.self),
                        String(decoding: bytes[tokenizer.start..<tokenizer.end], as: UTF8.self)
                    ))
            }
        }
        return found
    }

    @Test func wordsAreLettersAndDigits() {
        #expect(
            words("Steam engines, 12 of them; e-mail: a@b.c!") == [
                "steam", "engines", "12", "of", "them", "e", "mail", "a", "b", "c",
            ])
        #expect(words("") == [])
        #expect(words(" .,;-  ") == [])
        #expect(words("don't") == ["don", "t"])
        #expect(words("naïve\u{a0}café—soirée") == ["naive", "cafe", "soiree"])
    }

    @Test func caseAndAccentsAreFolded() {
        #expect(words("ÉCOLE École e\u{301}cole") == ["ecole", "ecole", "ecole"])
        #expect(words("Straße STRASSE ẞ") == ["strasse", "strasse", "ss"])
        #expect(words("Œuvre ÆSIR Łódź Ørsted") == ["oeuvre", "aesir", "lodz", "orsted"])
        #expect(words("İstanbul Istanbul ısı") == ["istanbul", "istanbul", "isi"])
        #expect(words("ΣΟΦΟΣ σοφός ἄνθρωπος") == ["σοφοσ", "σοφοσ", "ανθρωποσ"])
        #expect(words("ЁЛКА ёлка Йод и\u{306}од") == ["елка", "елка", "иод", "иод"])
        #expect(words("ＡＢＣ１２") == ["abc12"])
        #expect(words("soft\u{ad}hyphen zero\u{200d}joiner") == ["softhyphen", "zerojoiner"])
        #expect(words("שָׁלוֹם مُحَمَّد") == ["שלום", "محمد"])
    }

    @Test func scriptsWithoutSpacesAreCutIntoLetters() {
        #expect(words("東京は晴れ。abc京") == ["東", "京", "は", "晴", "れ", "abc", "京"])
        #expect(words("한국어 검색") == ["한국어", "검색"])
        #expect(words("ไทย") == ["ไ", "ท", "ย"])
        #expect(words("हिन्दी") == ["हिन्दी"])
    }

    @Test func wordsHaveTheirPositions() {
        let found = tokens("Ein  Müller-Haus é\u{301}! 京")
        #expect(found.map(\.shown) == ["Ein", "Müller", "Haus", "é\u{301}", "京"])
    }

    @Test func bytesThatAreNoTextSeparate() {
        let broken: [UInt8] = [97, 0xFF, 98, 0xC3, 99, 0xE4, 0xBA, 100, 0xC0, 0x80, 101]
        #expect(tokens(broken).map(\.term) == ["a", "b", "c", "d", "e"])
        #expect(tokens([0xED, 0xA0, 0x80, 102, 0xF4, 0x90, 0x80, 0x80]).map(\.term) == ["f"])
        #expect(tokens([103, 0xF0, 0x9F, 0x98]).map(\.term) == ["g"])
    }

    @Test func veryLongWordsAreCut() {
        let long = String(repeating: "a", count: 5000)
        let found = tokens(long + " b " + String(repeating: "é", count: 500) + " " + String(repeating: "ж", count: 500))
        #expect(found.map(\.term.utf8.count) == [192, 1, 192, 192])
        #expect(found[0].shown == long)
    }

    @Test func anyScalarIsTakenAndEndsSomewhere() {
        var random = Seeded(7)
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<24, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            for word in tokens(bytes) {
                #expect(!word.term.isEmpty)
                #expect(!word.term.utf8.contains(0))
            }
        }
    }

    /// Pairs of the vocabulary that snowballstem.org publishes with the algorithm.
    @Test(arguments: [
        ("consist", "consist"), ("consisted", "consist"), ("consistency", "consist"), ("consistently", "consist"),
        ("consolation", "consol"), ("consoled", "consol"), ("conspicuous", "conspicu"), ("conspiracies", "conspiraci"),
        ("knack", "knack"), ("knavish", "knavish"), ("kneel", "kneel"), ("knightly", "knight"), ("knots", "knot"),
        ("caresses", "caress"), ("ponies", "poni"), ("ties", "tie"), ("cries", "cri"), ("gas", "gas"), ("gaps", "gap"),
        ("kiwis", "kiwi"), ("this", "this"), ("agreed", "agre"), ("luxuriated", "luxuri"), ("hopped", "hop"),
        ("hoping", "hope"), ("falling", "fall"), ("engines", "engin"), ("engine", "engin"), ("engineering", "engin"),
        ("happy", "happi"), ("say", "say"), ("by", "by"), ("cry", "cri"), ("relational", "relat"),
        ("conditional", "condit"), ("rational", "ration"), ("vietnamization", "vietnam"), ("generalization", "general"),
        ("generously", "generous"), ("generate", "generat"), ("communism", "communism"), ("communities", "communiti"),
        ("arsenal", "arsenal"), ("skies", "sky"), ("dying", "die"), ("news", "news"), ("proceed", "proceed"),
        ("inning", "inning"), ("adoption", "adopt"), ("adjustable", "adjust"), ("probate", "probat"), ("rate", "rate"),
        ("controll", "control"), ("roll", "roll"), ("apologist", "apologist"), ("biology", "biolog"),
        ("early", "earli"), ("bed", "bed"), ("shed", "shed"), ("sing", "sing"), ("bled", "bled"), ("youth", "youth"),
    ])
    func englishWordsAreBroughtToTheirStems(_ word: String, _ stem: String) {
        #expect(words(word.uppercased(), .english) == [stem])
    }

    @Test func otherWordsHaveNoStem() {
        #expect(words("Größen 24ths maisons2", .english) == ["grossen", "24ths", "maisons2"])
    }

    @Test func lettersOfASCIIAreFoundEightAtATime() {
        var random = Seeded(7)
        let likely = Array("aAzZ@[`{/:09mM 5".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<8).map { _ in random.chance(70) ? random.pick(likely) : UInt8(random.next() & 255) }
            let (folded, count) = AsciiLetters.first(of: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
            let letters = bytes.prefix { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            }
            #expect(count == letters.count, "\(bytes)")
            for (place, letter) in letters.enumerated() {
                let lower = letter < 97 && letter > 57 ? letter + 32 : letter
                #expect(UInt8(truncatingIfNeeded: folded >> UInt64(8 * place)) == lower, "\(bytes)")
            }
        }
    }

    /// A soft hyphen behind a letter is left out of words, and keeps letters from being taken together.
    @Test func wordsAreTheSameLetterByLetter() {
        var random = Seeded(8)
        let parts = [
            "a", "Z", "steam", "ENGINES", "12", "internationalisation", " ", "  ", ", ", "-", "é", "É", "ß", "東京", "ж",
            "\u{301}",
            "\u{2014}", "\u{1F600}", "İ", "ไทย", String(repeating: "longword", count: 25),
        ]
        for _ in 0..<3000 {
            var whole: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                whole += random.chance(4) ? [UInt8(random.next() & 255)] : Array(random.pick(parts).utf8)
            }
            var parted: [UInt8] = []
            for byte in whole {
                parted.append(byte)
                let letter = byte | 0x20
                if byte >= 48 && byte < 58 || letter >= 97 && letter < 123 && byte < 128 { parted += [0xC2, 0xAD] }
            }
            #expect(tokens(whole).map(\.term) == tokens(parted).map(\.term), "\(whole)")
            #expect(
                tokens(whole, .english).map(\.term) == tokens(parted, .english).map(\.term), "\(whole)")
        }
    }

    @Test func theHeadOfAWordIsItsFirstBytes() {
        for text in ["a", "steam", "steamers", "steamengines", "é", "longer", "a"] {
            var tokenizer = Tokenizer()
            Array(text.utf8).withUnsafeBytes { raw in
                tokenizer.begin(raw)
                let isThere = tokenizer.next()
                #expect(isThere)
                var buffer = KeyBuffer()
                buffer.append(raw: tokenizer.term)
                let (head, expected) = (tokenizer.head, buffer.head(from: 0, to: buffer.count))
                #expect(head == expected)
            }
        }
    }
}
