/// Counts of bytes in files have 64 bits; counts of bytes in memory have the size of an address. The type of the count
/// is a parameter, so that tests can use 32 bits.
enum ByteCount {
    /// Returns the number of the `left` bytes to move at once with a buffer of `most` bytes.
    static func step<Count: FixedWidthInteger>(_ left: UInt64, most: Count) -> Count {
        Count(clamping: min(left, UInt64(clamping: most)))
    }
}
