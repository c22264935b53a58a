@testable import MakoStorage

/// Decrypts a database as `docs/format.md` describes it. The ciphers, HKDF and scrypt are those of the library; all
/// else is independent of the engine.
struct PlainCipher {
    enum Secret {
        case key([UInt8])
        case passphrase(String)
    }

    private static let pageBytes = 4096
    private let id: ArraySlice<UInt8>
    private let pages: CipherKey
    private let log: CipherKey

    /// Opens the lock in the header block.
    init(_ file: [UInt8], _ secret: Secret) throws {
        let header = PlainBytes(bytes: file)
        id = try header.slice(56, 16)
        guard try header.number(72, 8) & 4 != 0, let cipher = Encryption.Cipher(rawValue: file[120]) else {
            throw PlainBytes.Unreadable(description: "the file is not encrypted")
        }
        let salt = Array(try header.slice(128, 32))
        let lock: CipherKey?
        switch (secret, file[121]) {
        case (.key(let bytes), 1): lock = CipherKey(bytes, cipher)?.derived(salt: salt, info: "mako key")
        case (.passphrase(let text), 2):
            guard file[123] == 8, file[124] == 1 else { fallthrough }
            lock = CipherKey(passphrase: Array(text.utf8), salt: salt, rounds: 1 << Int(file[122]), cipher)
        default: throw PlainBytes.Unreadable(description: "it is locked in another way")
        }
        let context = Array("mako data key".utf8) + id + (try header.slice(120, 40))
        guard let key = try lock.flatMap({ PlainCipher.open(try header.slice(160, 60), $0, context) }),
            let dataKey = CipherKey(key, cipher)
        else { throw PlainBytes.Unreadable(description: "the lock does not open") }
        pages = dataKey.derived(salt: [], info: "mako pages")
        log = dataKey.derived(salt: [], info: "mako log")
    }

    /// A box: nonce, text and tag.
    private static func open(_ box: some Sequence<UInt8>, _ key: CipherKey, _ context: [UInt8]) -> [UInt8]? {
        var box = Array(box)
        guard box.count >= 28 else { return nil }
        var text = [UInt8](repeating: 0, count: box.count - 28)
        let isOpen = context.withUnsafeBytes { context in
            box.withUnsafeMutableBytes { box in
                text.withUnsafeMutableBytes { key.open(box, authenticating: context, into: $0) }
            }
        }
        return isOpen ? text : nil
    }

    /// The data file as it would be if it were not encrypted. A page that is none stays as it is.
    func opened(_ file: [UInt8]) throws -> [UInt8] {
        var plain = file
        let seed = try PlainBytes.mix(
            PlainBytes(bytes: file).number(56, 8) ^ 0x6d61_6b6f, PlainBytes(bytes: file).number(64, 8) ^ 0x2d64_625f)
        for page in 0..<file.count / PlainCipher.pageBytes {
            let place = page * PlainCipher.pageBytes
            if page < 2 {
                plain[place + 72] &= ~4
            } else {
                let box = file[place..<place + PlainCipher.pageBytes]
                guard let text = PlainCipher.open(box, pages, Array(id) + PlainCipher.bytes(UInt64(page))) else {
                    continue
                }
                let nonce = Array(box.prefix(12))
                let head = try nonce[11] >> 7 == 1 ? table(text) : node(text, writeID: nonce[6...])
                plain.replaceSubrange(
                    place..<place + PlainCipher.pageBytes,
                    with: [UInt8](repeating: 0, count: 8) + PlainCipher.bytes(UInt64(page)).prefix(5) + head
                        + text.dropFirst(12))
            }
            let sum = try PlainBytes(bytes: plain).checksum(
                place + 8, PlainCipher.pageBytes - 8,
                seed: (page < 2 ? 0 : seed) ^ UInt64(page) &* 0x9e37_79b9_7f4a_7c15)
            plain.replaceSubrange(place..<place + 8, with: PlainCipher.bytes(sum))
        }
        return plain
    }

    /// The page header from the type on.
    private func node(_ text: [UInt8], writeID: ArraySlice<UInt8>) throws -> [UInt8] {
        var word = try PlainBytes(bytes: text).number(0, 8)
        func take(_ bits: UInt64) -> UInt64 {
            defer { word >>= bits }
            return word & (1 << bits - 1)
        }
        let (heap, garbage, count, prefix) = (take(13), take(13), take(13), take(10))
        let kind = [take(4), take(6), take(5)].map { UInt8($0) }
        let sizes = [(count, 2), (prefix, 2), (heap, 4), (garbage, 4)].flatMap { PlainCipher.bytes($0).prefix($1) }
        return kind + writeID + [0, 0] + text[8..<12] + sizes
    }

    private func table(_ text: [UInt8]) throws -> [UInt8] {
        guard text[10] == 0, text[11] == 0 else { throw PlainBytes.Unreadable(description: "zeros are not zero") }
        return [text[8], text[9], 0] + text[..<8] + [UInt8](repeating: 0, count: 16)
    }

    /// The payload of a frame.
    ///
    /// - Parameters:
    ///   - head: the frame's first 40 bytes.
    ///   - segment: number and salt of its segment, 8 bytes each.
    func opened(_ payload: ArraySlice<UInt8>, head: ArraySlice<UInt8>, segment: [UInt8]) throws -> [UInt8] {
        let nonce = head.dropFirst(8).prefix(8) + [0, 0, 0, 0]
        let key = log.derived(salt: segment, info: "mako segment")
        guard let text = PlainCipher.open(nonce + payload, key, Array(head)) else {
            throw PlainBytes.Unreadable(description: "a frame does not open")
        }
        return text
    }

    private static func bytes(_ word: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
}
