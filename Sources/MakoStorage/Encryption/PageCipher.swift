// An encrypted page in the file is one box of the cipher:
//
//        0  12  nonce
//       12  12  header     encrypted: the rest of the page header, see below
//       24 4056 body       encrypted
//     4080  16  tag        of both, of the database's id and of the page's number
//
// The nonce of pages of trees and values, which are written once with each write id:
//
//        0  6  salt        random, chosen at each opening
//        6  6  write id    of the page, below 2^47
//
// Bitmaps, directories and metas may share write ids, and a meta is written more than once. Their nonce is random, except
// for its last bit, which is 1.
//
// The header of pages of trees and values, from the lowest bit up: 13 bits heap, 13 garbage, 13 count, 10 prefix, 4
// type, 6 level, 5 flags; then 32 bits tree. Of the others: 64 bits write id, 8 type, 8 level, 16 zero. The page id is
// not stored, because the place in the file implies it.

/// Encrypts the pages of one open database.
final class PageCipher: Sendable {
    /// The limit of write ids. It is not reached in 2^27 openings, each of which takes a new stock of write ids.
    static let writeIDLimit: UInt64 = 1 << 47
    private static let messageOffset = 28
    private static let boxMessage = CipherKey.nonceBytes..<pageBytes - CipherKey.tagBytes

    private let key: CipherKey
    private let database: DatabaseID
    /// 48 random bits.
    private let salt: UInt64
    private let entropy: any Entropy

    init(_ keys: DatabaseKeys, entropy: any Entropy) {
        key = keys.pages
        database = keys.database
        salt = entropy.next() & 0xffff_ffff_ffff
        self.entropy = entropy
    }

    // MARK: Writing

    func seal(_ base: UnsafeMutableRawPointer, number: UInt64) {
        let page = Page(base)
        let (head, tail) = PageCipher.pack(page)
        let (low, high) = nonce(page)
        base.storeBytes(of: head.littleEndian, toByteOffset: PageCipher.messageOffset, as: UInt64.self)
        base.storeBytes(of: tail.littleEndian, toByteOffset: PageCipher.messageOffset + 8, as: UInt32.self)
        base.storeBytes(of: low.littleEndian, as: UInt64.self)
        base.storeBytes(of: high.littleEndian, toByteOffset: 8, as: UInt32.self)
        let box = UnsafeMutableRawBufferPointer(start: base, count: pageBytes)
        authenticated(number) { context in
            key.seal(
                UnsafeRawBufferPointer(rebasing: box[PageCipher.messageOffset...]),
                nonce: UnsafeRawBufferPointer(rebasing: box[..<CipherKey.nonceBytes]), authenticating: context,
                ciphertext: UnsafeMutableRawBufferPointer(rebasing: box[PageCipher.boxMessage]),
                tag: UnsafeMutableRawBufferPointer(rebasing: box[PageCipher.boxMessage.upperBound...]))
        }
    }

    /// Returns the nonce, twelve bytes, as a word of eight bytes and one of four.
    private func nonce(_ page: Page) -> (UInt64, UInt32) {
        if PageCipher.isTable(page.type) {
            return (entropy.next(), UInt32(truncatingIfNeeded: entropy.next()) | 1 << 31)
        }
        assert(page.writeID < PageCipher.writeIDLimit, "invariant 18: a nonce has the whole write id")
        let writeID = page.writeID & (PageCipher.writeIDLimit - 1)
        return (salt | writeID &<< 48, UInt32(truncatingIfNeeded: writeID &>> 16))
    }

    /// Whether it is a page that describes a checkpoint.
    private static func isTable(_ type: UInt8) -> Bool {
        type >= PageType.bitmap.rawValue
    }

    private func authenticated<R>(_ number: UInt64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let context = (database.high.littleEndian, database.low.littleEndian, number.littleEndian)
        return withUnsafeBytes(of: context, body)
    }

    // MARK: Reading

    func open(_ base: UnsafeMutableRawPointer, number: UInt64) -> Bool {
        let low = UInt64(littleEndian: base.loadUnaligned(as: UInt64.self))
        let high = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let box = UnsafeMutableRawBufferPointer(start: base, count: pageBytes)
        let isWhole = authenticated(number) { context in
            key.open(
                box, authenticating: context,
                into: UnsafeMutableRawBufferPointer(rebasing: box[PageCipher.messageOffset...]))
        }
        guard isWhole else { return false }
        let head = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: PageCipher.messageOffset, as: UInt64.self))
        let tail = UInt32(
            littleEndian: base.loadUnaligned(fromByteOffset: PageCipher.messageOffset + 8, as: UInt32.self))
        base.storeBytes(of: 0, toByteOffset: Page.checksumOffset, as: UInt64.self)
        return high &>> 31 == 1
            ? PageCipher.unpackTable(head, tail, number, to: Page(base))
            : PageCipher.unpack(head, tail, number, writeID: low &>> 48 | UInt64(high) &<< 16, to: Page(base))
    }

    // MARK: The header in twelve bytes

    private static let wide: UInt64 = 1 << 13 - 1

    private static func pack(_ page: Page) -> (UInt64, UInt32) {
        if isTable(page.type) { return (page.writeID, UInt32(page.type) | UInt32(page.level) &<< 8) }
        let sizes = UInt64(page.heap) & wide | (UInt64(page.garbage) & wide) &<< 13
        let counts = (UInt64(page.count) & wide) &<< 26 | (UInt64(page.prefix) & 0x3ff) &<< 39
        let kind = UInt64(page.type & 0xf) &<< 49 | UInt64(page.level & 0x3f) &<< 53 | (page.identity &>> 56) &<< 59
        return (sizes | counts | kind, page.tree)
    }

    private static func unpack(_ head: UInt64, _ tree: UInt32, _ number: UInt64, writeID: UInt64, to page: Page) -> Bool
    {
        let type = head &>> 49 & 0xf
        page.identity = number | type &<< 40 | (head &>> 53 & 0x3f) &<< 48 | (head &>> 59) &<< 56
        page.writeID = writeID
        page.tree = tree
        page.heap = Int(head & wide)
        page.garbage = Int(head &>> 13 & wide)
        page.count = Int(head &>> 26 & wide)
        page.prefix = Int(head &>> 39 & 0x3ff)
        return !isTable(UInt8(type))
    }

    private static func unpackTable(_ writeID: UInt64, _ kind: UInt32, _ number: UInt64, to page: Page) -> Bool {
        page.identity = number | UInt64(kind & 0xff) &<< 40 | UInt64(kind &>> 8 & 0xff) &<< 48
        page.writeID = writeID
        page.tree = 0
        page.heap = pageBytes
        page.garbage = 0
        page.count = 0
        page.prefix = 0
        return isTable(UInt8(truncatingIfNeeded: kind))
    }
}
