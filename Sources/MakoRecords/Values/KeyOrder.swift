/// The order of values, shared by keys, comparisons and sorts, so that they agree.
@usableFromInline
package enum KeyOrder {
    /// Returns bits whose unsigned order is the order of doubles. NaN gives 0, which no other double does, so that it
    /// sorts first; both zeros give the same bits.
    @inline(__always)
    static func bits(_ number: Double) -> UInt64 {
        if number.isNaN { return 0 }
        let raw = (number == 0 ? 0.0 : number).bitPattern
        return raw >> 63 == 0 ? raw | (1 << 63) : ~raw
    }

    /// Returns the double of these bits.
    static func double(bits: UInt64) -> Double {
        if bits == 0 { return .nan }
        return Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
    }

    /// Returns the key of a row id in an integer tree: the unsigned order of the keys is the signed order of the ids.
    @inlinable @inline(__always)
    package static func treeKey(_ id: Int64) -> UInt64 { UInt64(bitPattern: id) ^ (1 << 63) }

    @inlinable @inline(__always)
    static func rowID(_ key: UInt64) -> Int64 { Int64(bitPattern: key ^ (1 << 63)) }

    @inline(__always)
    static func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : (a == b ? 0 : 1) }

    /// Compares exactly, without rounding the integer to a double.
    static func compare(_ a: Int64, _ b: Double) -> Int {
        if b.isNaN { return 1 }
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = Int64(b)
        if a != whole { return a < whole ? -1 : 1 }
        return compare(Double(whole), b)
    }

    /// Compares exactly, without rounding the integer to a double.
    static func compare(_ a: UInt64, _ b: Double) -> Int {
        if b.isNaN || b < 0 { return 1 }
        if b >= 0x1p64 { return -1 }
        let whole = UInt64(b)
        if a != whole { return a < whole ? -1 : 1 }
        return compare(Double(whole), b)
    }

    static func compareBytes(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
        var right = b.makeIterator()
        for byte in a {
            guard let other = right.next() else { return 1 }
            if byte != other { return byte < other ? -1 : 1 }
        }
        return right.next() == nil ? 0 : -1
    }
}

extension KeyOrder {
    /// Returns whether one key sorts before another in the engine's order.
    static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { compareKeys(a, b) < 0 }

    /// Returns the first eight bytes of a key as a number with their order; shorter keys are padded with zeros.
    @inline(__always)
    static func head(_ key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
        var head: UInt64 = 0
        for byte in key { head = head << 8 | UInt64(byte) }
        return key.isEmpty ? 0 : head << (8 * UInt64(8 - key.count))
    }

    /// Compares two keys in the engine's order.
    static func compareKeys(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.withUnsafeBytes { left in b.withUnsafeBytes { right in compareRaw(left, right) } }
    }

    /// Compares as unsigned bytes, a prefix first; eight bytes at a time.
    static func compareRaw(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let shared = min(a.count, b.count)
        var index = 0
        while index &+ 8 <= shared {
            let left = UInt64(bigEndian: a.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let right = UInt64(bigEndian: b.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if left != right { return left < right ? -1 : 1 }
            index &+= 8
        }
        while index < shared {
            if a[index] != b[index] { return a[index] < b[index] ? -1 : 1 }
            index &+= 1
        }
        return a.count == b.count ? 0 : (a.count < b.count ? -1 : 1)
    }

    /// Returns whether a key starts with the encoding of a number, see `KeyBuffer.bytes(of:)`.
    @inline(__always)
    static func begins(_ key: UnsafeRawBufferPointer, with number: Int64) -> Bool {
        key.count >= 9 && key[0] == (number < 0 ? 1 : 2)
            && UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt64.self)) == UInt64(bitPattern: number)
    }

    /// Returns a hash for tables in memory; never stored, so that it may change.
    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: bytes.count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index &+ 8 <= bytes.count {
            hash = mixed(hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return mixed(hash ^ rest)
    }

    /// Returns the same hash, given the first eight bytes as ``KeyBuffer/head(from:to:)`` returns them, which is all of
    /// most words.
    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer, head: UInt64) -> UInt64 {
        bytes.count <= 8 ? mixed(head ^ UInt64(truncatingIfNeeded: bytes.count)) : hash(bytes)
    }

    @inline(__always)
    private static func mixed(_ word: UInt64) -> UInt64 {
        let product = (word ^ 0x2D35_8DCC_AA6C_78A5).multipliedFullWidth(by: 0x8BB8_4B93_962E_ACC9)
        return product.high ^ product.low
    }
}
