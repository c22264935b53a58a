// The SDKs of Apple platforms have no liblz4, and other platforms have no Compression framework. Both write the LZ4
// block format, so each reads the files of the other.
#if canImport(Darwin)
    import Compression
#else
    import CLZ4
#endif

/// LZ4 blocks without a frame: the caller stores the compressed and the uncompressed length.
enum LZ4 {
    /// Returns the LZ4 block of `bytes`; nil if it would be larger than `limit` bytes.
    static func compress(_ bytes: UnsafeRawBufferPointer, limit: Int) -> [UInt8]? {
        guard limit > 0, bytes.count > 0, bytes.count <= Limits.valueBytes else { return nil }
        let block = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = pack(bytes, into: UnsafeMutableRawBufferPointer(buffer))
        }
        return block.isEmpty ? nil : block
    }

    /// Decompresses a block. Returns nil if it is malformed or does not have exactly `length` bytes.
    static func decompress(_ block: [UInt8], length: Int) -> [UInt8]? {
        block.withUnsafeBytes { decompress($0, length: length) }
    }

    static func decompress(_ block: UnsafeRawBufferPointer, length: Int) -> [UInt8]? {
        guard length >= 0, length < Int(Int32.max), block.count <= Int(Int32.max) else { return nil }
        let room = length + excess
        var unpacked = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            unpacked = unpack(block, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: room))
            count = max(0, unpacked)
        }
        return unpacked == length ? bytes : nil
    }
}

#if canImport(Darwin)
    /// The extra byte of the buffer: this decoder stops when the buffer is full, so only an extra byte shows that a
    /// block is too long.
    private let excess = 1

    /// Returns the size of the block; 0 if it does not fit.
    private func pack(_ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let source = bytes.baseAddress, let target = buffer.baseAddress else { return 0 }
        return compression_encode_buffer(
            target.assumingMemoryBound(to: UInt8.self), buffer.count, source.assumingMemoryBound(to: UInt8.self),
            bytes.count, nil, COMPRESSION_LZ4_RAW)
    }

    /// Returns the number of decompressed bytes, at most the size of the buffer; 0 for a malformed block.
    private func unpack(_ block: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let source = block.baseAddress, let target = buffer.baseAddress else { return 0 }
        return compression_decode_buffer(
            target.assumingMemoryBound(to: UInt8.self), buffer.count, source.assumingMemoryBound(to: UInt8.self),
            block.count, nil, COMPRESSION_LZ4_RAW)
    }
#else
    private let excess = 0

    /// Returns the size of the block; 0 if it does not fit.
    private func pack(_ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let written = LZ4_compress_default(
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count),
            Int32(clamping: buffer.count))
        return max(0, Int(written))
    }

    /// Returns the number of decompressed bytes; negative for a block that is malformed or too large for the buffer.
    private func unpack(_ block: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let written = LZ4_decompress_safe(
            block.baseAddress?.assumingMemoryBound(to: CChar.self),
            buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(block.count),
            Int32(clamping: buffer.count))
        return Int(written)
    }
#endif
