/// Encrypts the payloads of the frames in one use of a log segment, and authenticates the frame headers with them.
///
/// The key is used for this use of the segment only, in which no offset is written twice, so the frame's position is a
/// sufficient nonce.
struct SegmentCipher: Sendable {
    /// The number of bytes that encryption adds to a payload.
    static let overhead = CipherKey.tagBytes

    let key: CipherKey

    /// Encrypts a payload behind its complete header, and writes the tag after it.
    func seal(_ frame: UnsafeMutableRawPointer, stored: Int) {
        let payload = UnsafeMutableRawBufferPointer(start: frame + LogFrame.headerBytes, count: stored)
        let text = UnsafeMutableRawBufferPointer(rebasing: payload[..<(stored - SegmentCipher.overhead)])
        withNonce(of: frame) { nonce in
            key.seal(
                UnsafeRawBufferPointer(text), nonce: nonce,
                authenticating: SegmentCipher.header(of: frame), ciphertext: text,
                tag: UnsafeMutableRawBufferPointer(rebasing: payload[text.count...]))
        }
    }

    /// Returns the payload of a frame; nil if it was not encrypted with this key.
    func open(_ frame: UnsafeRawPointer, stored: Int) -> [UInt8]? {
        guard stored >= SegmentCipher.overhead else { return nil }
        var box = withNonce(of: frame) { [UInt8]($0) }
        box += UnsafeRawBufferPointer(start: frame + LogFrame.headerBytes, count: stored)
        var isOpen = false
        let text = [UInt8](unsafeUninitializedCapacity: stored - SegmentCipher.overhead) { text, count in
            box.withUnsafeMutableBytes { box in
                isOpen = key.open(
                    box, authenticating: SegmentCipher.header(of: frame),
                    into: UnsafeMutableRawBufferPointer(text))
            }
            count = isOpen ? stored - SegmentCipher.overhead : 0
        }
        return isOpen ? text : nil
    }

    /// Returns the payload of a whole frame.
    func open(_ frame: [UInt8]) -> [UInt8]? {
        frame.withUnsafeBytes { bytes in
            guard bytes.count >= LogFrame.headerBytes, let base = bytes.baseAddress else { return nil }
            return open(base, stored: bytes.count - LogFrame.headerBytes)
        }
    }

    private static func header(of frame: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: frame, count: LogFrame.checkedBytes)
    }

    private func withNonce<R>(of frame: UnsafeRawPointer, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let lsn = UInt64(littleEndian: frame.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let nonce = (
            UInt32(truncatingIfNeeded: lsn).littleEndian, UInt32(truncatingIfNeeded: lsn &>> 32).littleEndian, UInt32(0)
        )
        return withUnsafeBytes(of: nonce, body)
    }
}
