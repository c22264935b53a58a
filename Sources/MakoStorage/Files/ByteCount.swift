/// Counts of bytes in files have 64 bits, and a process counts those in its memory in as many as an address has. The type of the count is a
/// parameter, so that tests can use 32 bits.
enum ByteCount {
    /// How many bytes of `left` to move at once when a buffer has room for `most`.
    static func step<Count: FixedWidthInteger>(_ left: UInt64, most: Count) -> Count {
        Count(clamping: min(left, UInt64(clamping: most)))
    }
}
