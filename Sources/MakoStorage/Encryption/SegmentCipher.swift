/// Encrypts the payloads of the frames in one use of a log segment. What a frame's header says is authenticated with them.
///
/// The key is the segment's own, so the place of the frame is nonce enough: within one use of a segment no place is written twice.
struct SegmentCipher: Sendable {
    /// What a payload takes more in the file.
    static let overhead = CipherKey.tagBytes

    let key: CipherKey

    /// Encrypts a payload that stands behind its header, which says what it will be, and sets the tag behind it.
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

    /// The payload of a frame; nil when it was not sealed so.
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

    /// The payload of a frame that is handed over whole.
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
