/// The properties of the objects: eight, among them strings of 19 and 31 bytes.
struct PersonData {
    let name: String
    let email: String
    let age: Int
    let points: Int
    let balance: Double
    let rating: Double
    let isActive: Bool
    let joined: Int

    /// The person with this id among `count`.
    init(id: Int, count: Int) {
        let mixed = Mixer.mix(UInt64(id))
        var digits = ""
        for place in 0..<16 { digits += PersonData.digits[Int(mixed >> (4 * UInt64(place)) & 15)] }
        name = digits + "son"
        email = digits + "@mail.example.x"
        age = 18 + Int(mixed % 70)
        // Spread over 0..<count, so that a range of 100 holds about 100 people.
        points = Int(Mixer.mix(mixed).multipliedFullWidth(by: UInt64(count)).high)
        balance = Double(mixed % 1_000_000) / 100
        rating = Double(mixed % 51) / 10
        isActive = mixed & 1 == 1
        joined = 1_600_000_000 + Int(mixed % 100_000_000)
    }

    private static let digits = "abcdefghijklmnop".map { String($0) }
}

/// The properties of every engine's person.
protocol PersonLike {
    var name: String { get }
    var email: String { get }
    var age: Int { get }
    var points: Int { get }
    var balance: Double { get }
    var rating: Double { get }
    var isActive: Bool { get }
    var joined: Int { get }
}

extension PersonLike {
    /// Depends on all eight properties.
    @inline(__always)
    var checksum: UInt64 {
        let numbers = UInt64(truncatingIfNeeded: age &+ points &+ joined &+ (isActive ? 1 : 0))
        let reals = balance.bitPattern &+ rating.bitPattern
        return numbers &+ reals &+ UInt64(name.utf8.count) &* 31 &+ UInt64(email.utf8.count)
    }
}
