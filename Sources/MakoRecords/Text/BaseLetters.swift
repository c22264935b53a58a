/// The base letters of accented letters: the first letter of the canonical decomposition, and for some letters the
/// usual transcription. Part of the file format, as ``WordScalars`` is.
enum BaseLetters {
    /// Returns at most two letters; the second is 0 if there is one only.
    static func base(of letter: UInt32) -> (first: UInt32, second: UInt32) {
        var low = 0
        var high = table.count
        while low < high {
            let middle = (low + high) / 2
            if table[middle].letter < letter { low = middle + 1 } else { high = middle }
        }
        guard low < table.count, table[low].letter == letter else { return (letter, 0) }
        return (table[low].first, table[low].second)
    }

    private struct Entry {
        let letter: UInt32
        let first: UInt32
        let second: UInt32
    }

    private static let table: [Entry] = groups.flatMap { base, letters in
        let scalars = Array(base.unicodeScalars)
        return letters.unicodeScalars.map { letter in
            Entry(letter: letter.value, first: scalars[0].value, second: scalars.count > 1 ? scalars[1].value : 0)
        }
    }.sorted { $0.letter < $1.letter }

    // Lower case only, because upper case is folded before.
    private static let groups: [(base: String, letters: String)] = [
        ("0", "０"),
        ("1", "１"),
        ("2", "２"),
        ("3", "３"),
        ("4", "４"),
        ("5", "５"),
        ("6", "６"),
        ("7", "７"),
        ("8", "８"),
        ("9", "９"),
        ("a", "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặａ"),
        ("b", "ḃḅḇｂ"),
        ("c", "çćĉċčḉｃ"),
        ("d", "ðďđḋḍḏḑḓｄ"),
        ("e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệｅ"),
        ("f", "ƒḟｆ"),
        ("g", "ĝğġģǧǵḡｇ"),
        ("h", "ĥħȟḣḥḧḩḫẖｈ"),
        ("i", "ìíîïĩīĭįıǐȉȋḭḯỉịｉ"),
        ("j", "ĵǰｊ"),
        ("k", "ķĸǩḱḳḵｋ"),
        ("l", "ĺļľŀłḷḹḻḽｌ"),
        ("m", "ḿṁṃｍ"),
        ("n", "ñńņňŉŋǹṅṇṉṋｎ"),
        ("o", "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợｏ"),
        ("p", "ṕṗｐ"),
        ("q", "ｑ"),
        ("r", "ŕŗřȑȓṙṛṝṟｒ"),
        ("s", "śŝşšſșṡṣṥṧṩẛｓ"),
        ("t", "ţťŧțṫṭṯṱẗｔ"),
        ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữựｕ"),
        ("v", "ṽṿｖ"),
        ("w", "ŵẁẃẅẇẉẘｗ"),
        ("x", "ẋẍｘ"),
        ("y", "ýÿŷȳẏẙỳỵỷỹｙ"),
        ("z", "źżžẑẓẕｚ"),
        ("ʒ", "ǯ"),
        ("α", "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
        ("ε", "έἐἑἒἓἔἕὲέ"),
        ("η", "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
        ("ι", "ΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
        ("ο", "όὀὁὂὃὄὅὸό"),
        ("ρ", "ῤῥ"),
        ("σ", "ς"),
        ("υ", "ΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
        ("ω", "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
        ("ϒ", "ϓϔ"),
        ("а", "ӑӓ"),
        ("г", "ѓ"),
        ("е", "ѐёӗ"),
        ("ж", "ӂӝ"),
        ("з", "ӟ"),
        ("и", "йѝӣӥ"),
        ("к", "ќ"),
        ("о", "ӧ"),
        ("у", "ўӯӱӳ"),
        ("ч", "ӵ"),
        ("ы", "ӹ"),
        ("э", "ӭ"),
        ("і", "ї"),
        ("ѵ", "ѷ"),
        ("ә", "ӛ"),
        ("ө", "ӫ"),
        ("ae", "æǣǽ"),
        ("oe", "œ"),
        ("ss", "ßẞ"),
        ("th", "þ"),
    ]
}
