/// The properties of an entity of ObjectBox's tests: seven scalars, and a text and bytes if the design has them.
struct BoxData {
    /// Which text an entity has.
    enum Kind {
        /// That of the Swift design: a number, a word, and the place in the series.
        case numbered
        /// That of the Android design: up to a hundred characters, and up to 99 bytes beside it.
        case random
    }

    let string: String
    let bytes: [UInt8]
    let boolean: Bool
    let byte: Int8
    let short: Int16
    let int: Int32
    let long: Int64
    let float: Float
    let double: Double

    /// - Parameter generation: entities that are changed get the values of the next.
    init(index: Int, kind: Kind, generation: UInt64 = 0) {
        var random = Mixer(seed: UInt64(index) &+ generation << 40)
        func number() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }
        switch kind {
        case .numbered:
            string = "\(number()) MyString \(index)"
            bytes = []
        case .random:
            string = String((0..<Int(number() % 101)).map { _ in BoxData.letters[Int(number() % 26)] })
            bytes = (0..<Int(number() % 100)).map { _ in UInt8(truncatingIfNeeded: number()) }
        }
        boolean = number() % 2 == 1
        float = Float(number()) / Float(max(number(), 1))
        double = Double(number()) / Double(max(number(), 1))
        byte = Int8(truncatingIfNeeded: number())
        short = Int16(truncatingIfNeeded: number())
        int = Int32(truncatingIfNeeded: number())
        long = Int64(bitPattern: random.next())
    }

    private static let letters: [Character] = Array("abcdefghijklmnopqrstuvwxyz")
}

/// The properties of every engine's entity.
protocol Boxed {
    var boolean: Bool { get }
    var byte: Int8 { get }
    var short: Int16 { get }
    var int: Int32 { get }
    var long: Int64 { get set }
    var float: Float { get }
    var double: Double { get }
    /// The contribution of the text and the bytes to the checksum.
    var contentChecksum: UInt64 { get }

    init(_ data: BoxData)
    mutating func take(_ data: BoxData)
}

extension Boxed {
    var contentChecksum: UInt64 { 0 }

    /// Reads all properties.
    @inline(__always)
    var checksum: UInt64 {
        let small = Int64(byte) &+ Int64(short) &+ Int64(int) &+ (boolean ? 1 : 0)
        let reals = UInt64(float.bitPattern) &+ double.bitPattern
        return UInt64(bitPattern: small &+ long) &+ reals &+ contentChecksum
    }
}

extension Sequence where Element: Boxed {
    @inline(__always)
    var checksum: UInt64 {
        var sum: UInt64 = 0
        for entity in self { sum &+= entity.checksum }
        return sum
    }
}
