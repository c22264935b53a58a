// The format of pages in memory and, unencrypted, in the file. All integers are little-endian.
//
//   offset  bytes  field
//        0      8  checksum    of bytes 8..<4096, seeded with the database seed and the page id
//        8      5  page        the page id; it detects a page written to the wrong place
//       13      1  type        PageType
//       14      1  level       0 for leaves and overflow pages
//       15      1  flags       0 in this version
//       16      8  write id    the number of this write of the page, never repeated in the life of the file
//       24      4  tree        the tree it belongs to
//       28      2  count       entries
//       30      2  prefix      byte nodes: length of the key prefix that all entries share
//       32      4  heap        offset of the lowest byte of the heap
//       36      4  garbage     bytes of the heap that no entry uses
//       40         body        by type; see IntegerNode, ByteNode, Overflow, SpaceMap
//
// A reference to a page is 8 bytes: the page id in the upper 40 bits, the low 24 bits of its write id below.

/// The size of a page in bytes.
package let pageBytes = 4096
/// The limit of page ids, which have 40 bits.
package let pageNumberLimit: UInt64 = 1 << 40

enum PageType: UInt8 {
    case integerLeaf = 1
    case integerInner = 2
    case byteLeaf = 3
    case byteInner = 4
    case overflow = 5
    case bitmap = 6
    case directory = 7
    case header = 8
    case meta = 9
}

/// A page id and the low bits of the write id that the page must have.
struct PageReference: Hashable {
    var raw: UInt64

    static let none = PageReference(raw: 0)

    @inline(__always)
    init(raw: UInt64) { self.raw = raw }

    @inline(__always)
    init(page: UInt64, writeID: UInt64) { raw = page &<< 24 | writeID & 0xff_ffff }

    @inline(__always)
    var page: UInt64 { raw &>> 24 }

    @inline(__always)
    var tag: UInt64 { raw & 0xff_ffff }
}

/// A view of a page in memory with access to its header. Does not own the memory.
struct Page {
    static let checksumOffset = 0
    static let identityOffset = 8
    static let writeIDOffset = 16
    static let treeOffset = 24
    static let countOffset = 28
    static let prefixOffset = 30
    static let heapOffset = 32
    static let garbageOffset = 36
    static let bodyOffset = 40

    let base: UnsafeMutableRawPointer

    @inline(__always)
    init(_ base: UnsafeMutableRawPointer) { self.base = base }

    @inline(__always)
    var identity: UInt64 {
        get { UInt64(littleEndian: base.load(fromByteOffset: Page.identityOffset, as: UInt64.self)) }
        nonmutating set {
            base.storeBytes(of: newValue.littleEndian, toByteOffset: Page.identityOffset, as: UInt64.self)
        }
    }
    @inline(__always)
    var writeID: UInt64 {
        get { UInt64(littleEndian: base.load(fromByteOffset: Page.writeIDOffset, as: UInt64.self)) }
        nonmutating set {
            base.storeBytes(of: newValue.littleEndian, toByteOffset: Page.writeIDOffset, as: UInt64.self)
        }
    }
    @inline(__always)
    var tree: UInt32 {
        get { UInt32(littleEndian: base.load(fromByteOffset: Page.treeOffset, as: UInt32.self)) }
        nonmutating set { base.storeBytes(of: newValue.littleEndian, toByteOffset: Page.treeOffset, as: UInt32.self) }
    }
    @inline(__always)
    var count: Int {
        get { Int(UInt16(littleEndian: base.load(fromByteOffset: Page.countOffset, as: UInt16.self))) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue).littleEndian, toByteOffset: Page.countOffset, as: UInt16.self)
        }
    }
    @inline(__always)
    var prefix: Int {
        get { Int(UInt16(littleEndian: base.load(fromByteOffset: Page.prefixOffset, as: UInt16.self))) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue).littleEndian, toByteOffset: Page.prefixOffset, as: UInt16.self)
        }
    }
    @inline(__always)
    var heap: Int {
        get { Int(UInt32(littleEndian: base.load(fromByteOffset: Page.heapOffset, as: UInt32.self))) }
        nonmutating set {
            base.storeBytes(
                of: UInt32(truncatingIfNeeded: newValue).littleEndian, toByteOffset: Page.heapOffset, as: UInt32.self)
        }
    }
    @inline(__always)
    var garbage: Int {
        get { Int(UInt32(littleEndian: base.load(fromByteOffset: Page.garbageOffset, as: UInt32.self))) }
        nonmutating set {
            base.storeBytes(
                of: UInt32(truncatingIfNeeded: newValue).littleEndian, toByteOffset: Page.garbageOffset, as: UInt32.self
            )
        }
    }

    @inline(__always)
    var number: UInt64 { identity & 0xff_ffff_ffff }
    @inline(__always)
    var type: UInt8 { UInt8(truncatingIfNeeded: identity &>> 40) }
    @inline(__always)
    var level: Int { Int(UInt8(truncatingIfNeeded: identity &>> 48)) }
    @inline(__always)
    var reference: PageReference { PageReference(page: number, writeID: writeID) }

    /// Returns the identity word of a page: what the referring page expects to find.
    @inline(__always)
    static func identity(page: UInt64, type: PageType, level: Int) -> UInt64 {
        page | UInt64(type.rawValue) &<< 40 | UInt64(truncatingIfNeeded: level) &<< 48
    }

    /// Writes a new header. Leaves the body unchanged.
    func format(page: UInt64, type: PageType, level: Int, writeID: UInt64, tree: UInt32) {
        base.storeBytes(of: 0, toByteOffset: Page.checksumOffset, as: UInt64.self)
        identity = Page.identity(page: page, type: type, level: level)
        self.writeID = writeID
        self.tree = tree
        count = 0
        prefix = 0
        heap = pageBytes
        garbage = 0
    }

    /// Returns the checksum that a page with these contents must have at this page id.
    static func checksum(_ base: UnsafeRawPointer, page: UInt64, seed: UInt64) -> UInt64 {
        Checksum.hash(base + 8, count: pageBytes - 8, seed: seed ^ page &* 0x9e37_79b9_7f4a_7c15)
    }

    static func seal(_ base: UnsafeMutableRawPointer, page: UInt64, seed: UInt64) {
        base.storeBytes(of: checksum(base, page: page, seed: seed).littleEndian, as: UInt64.self)
    }

    static func isSealed(_ base: UnsafeRawPointer, page: UInt64, seed: UInt64) -> Bool {
        UInt64(littleEndian: base.loadUnaligned(as: UInt64.self)) == checksum(base, page: page, seed: seed)
    }
}
