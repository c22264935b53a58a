/// The rows of the queries: eight columns, of which `code` and `lot` are indexed.
struct ItemData {
    static let cities = 10_000
    static let countries = 200
    static let zones = 10
    static let kinds = 1000
    static let lots = 1000

    let name: String
    let note: String
    /// Spread over 0..<count.
    let number: Int
    /// Ten rows have each.
    let code: Int
    let kind: Int
    let lot: Int
    /// Different in every row.
    let score: Double
    let city: Int

    init(id: Int, count: Int) {
        let mixed = Mixer.mix(UInt64(id))
        var random = Mixer(seed: mixed)
        name = ItemData.letters(mixed, 12) + "son"
        note = ItemData.letters(random.next(), 16) + " " + ItemData.letters(random.next(), 16) + " x"
        number = Int(random.next().multipliedFullWidth(by: UInt64(count)).high)
        code = Int(random.next().multipliedFullWidth(by: UInt64(count / 10)).high)
        kind = Int(random.next() % UInt64(ItemData.kinds))
        lot = Int(random.next() % UInt64(ItemData.lots))
        score = Double(random.next() >> 11) / Double(1 << 53)
        city = 1 + Int(random.next() % UInt64(ItemData.cities))
    }

    private static func letters(_ bits: UInt64, _ count: Int) -> String {
        var text = ""
        for place in 0..<count { text += alphabet[Int(bits >> (4 * UInt64(place)) & 15)] }
        return text
    }

    private static let alphabet = "abcdefghijklmnop".map { String($0) }

    static func country(ofCity city: Int) -> Int { 1 + Int(Mixer.mix(UInt64(city)) % UInt64(countries)) }
    static func zone(ofCountry country: Int) -> Int { country % zones }
}
