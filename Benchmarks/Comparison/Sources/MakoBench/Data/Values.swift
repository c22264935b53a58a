/// Makes the 100-byte values: random-looking bytes, of which the first and last eight depend on the key.
///
/// The bytes come from a pool that stays in the processor's cache, so that making a value costs every engine the same few
/// nanoseconds.
final class ValueMaker {
    static let size = 100
    private static let poolSize = 4096

    private let pool: UnsafeMutableRawPointer
    /// The value made last. Engines store from here.
    let bytes: UnsafeMutableRawPointer
    var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: ValueMaker.size) }

    init() {
        var random = Mixer(seed: 7)
        pool = .allocate(byteCount: ValueMaker.poolSize + ValueMaker.size, alignment: 16)
        bytes = .allocate(byteCount: ValueMaker.size, alignment: 16)
        for index in 0..<(ValueMaker.poolSize + ValueMaker.size) {
            pool.storeBytes(of: UInt8(truncatingIfNeeded: random.next()), toByteOffset: index, as: UInt8.self)
        }
    }

    deinit {
        pool.deallocate()
        bytes.deallocate()
    }

    @inline(__always)
    func make(_ key: UInt64) {
        let mixed = Mixer.mix(key)
        bytes.copyMemory(
            from: pool + Int(truncatingIfNeeded: mixed & UInt64(ValueMaker.poolSize - 1)), byteCount: ValueMaker.size)
        bytes.storeBytes(of: mixed, as: UInt64.self)
        bytes.storeBytes(of: key, toByteOffset: ValueMaker.size - 8, as: UInt64.self)
    }

    /// The result of `touch` for the value of `key`.
    static func checksum(_ key: UInt64) -> UInt64 {
        Mixer.mix(key) &+ key
    }
}

/// The next key of a serial chain: it depends on the value just read, and on the step, so that the chain cannot fall into a
/// short cycle that stays in the cache.
@inline(__always)
func successor(of value: UInt64, step: Int, records: UInt64) -> UInt64 {
    // Multiply-high maps onto 0..<records without a division.
    Mixer.mix(value &+ UInt64(truncatingIfNeeded: step)).multipliedFullWidth(by: records).high + 1
}
