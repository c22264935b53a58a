/// The integer keys of a run: dense identifiers from 1, as an object database assigns them.
enum IntegerKeys {
    static func ordered(_ count: Int) -> [UInt64] {
        (0..<count).map { UInt64($0) + 1 }
    }

    static func shuffled(_ count: Int) -> [UInt64] {
        var random = Mixer(seed: 11)
        return ordered(count).shuffled(using: &random)
    }

    /// Independent random choices among the keys of `records` records.
    static func choices(_ count: Int, of records: Int) -> [UInt64] {
        var random = Mixer(seed: 23)
        return (0..<count).map { _ in random.next(upperBound: UInt64(records)) + 1 }
    }
}

/// Keys of 20 bytes, laid end to end: the decimal digits of scattered 64-bit numbers, zero-padded.
///
/// Neighbours in order share about as many leading digits as the number of records has, as serial numbers and hashes written
/// as text do.
struct StringKeys: Sendable {
    static let width = 20

    let bytes: [UInt8]
    /// The number whose digits form the key; values are derived from it.
    let numbers: [UInt64]
    var count: Int { numbers.count }

    private init(numbers: [UInt64]) {
        self.numbers = numbers
        bytes = [UInt8](unsafeUninitializedCapacity: numbers.count * StringKeys.width) { buffer, initialized in
            for (index, number) in numbers.enumerated() {
                var rest = number
                for place in stride(from: StringKeys.width - 1, through: 0, by: -1) {
                    buffer[index * StringKeys.width + place] = UInt8(48 + rest % 10)
                    rest /= 10
                }
            }
            initialized = numbers.count * StringKeys.width
        }
    }

    subscript(index: Int) -> [UInt8] {
        Array(bytes[index * StringKeys.width..<(index + 1) * StringKeys.width])
    }

    /// The first `count` keys, without that of `number`.
    func prefix(_ count: Int, without number: UInt64) -> StringKeys {
        StringKeys(numbers: numbers.prefix(count).filter { $0 != number })
    }

    static func ordered(_ count: Int) -> StringKeys {
        StringKeys(numbers: (0..<count).map { Mixer.mix(UInt64($0) + 1) }.sorted())
    }

    static func shuffled(_ count: Int) -> StringKeys {
        StringKeys(numbers: (0..<count).map { Mixer.mix(UInt64($0) + 1) })
    }

    static func choices(_ count: Int, of records: Int) -> StringKeys {
        StringKeys(numbers: IntegerKeys.choices(count, of: records).map { Mixer.mix($0) })
    }
}

extension StringKeys {
    /// Copies a key into a reused array, for engines that take keys as arrays.
    @inline(__always)
    func copyKey(_ index: Int, to key: inout [UInt8]) {
        let width = StringKeys.width
        bytes.withUnsafeBytes { source in
            key.withUnsafeMutableBytes { target in
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[index * width..<(index + 1) * width]))
            }
        }
    }
}
