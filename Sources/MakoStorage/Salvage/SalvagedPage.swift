/// Memory for a page of a damaged file, and a look into it once it has passed the checks.
final class SalvagedPage {
    private let base: UnsafeMutableRawPointer
    private(set) var number: UInt64 = 0

    init() { base = .allocate(byteCount: pageBytes, alignment: 16) }

    deinit { base.deallocate() }

    var header: Page { Page(base) }
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: pageBytes) }
    var type: PageType? { PageType(rawValue: header.type) }

    /// What the key of a leaf or an inner page is.
    var keyKind: KeyKind? {
        switch type {
        case .integerLeaf, .integerInner: .integer
        case .byteLeaf, .byteInner: .bytes
        default: nil
        }
    }

    /// Reads a page from the file; a page that is not whole and in its place is an error.
    func read(_ number: UInt64, from source: DamagedFile) throws(StorageError) {
        self.number = number
        try source.read(number, into: base)
    }

    /// Takes a page that stands in a larger buffer. False when it is not whole and in its place.
    func take(_ number: UInt64, from buffer: UnsafeRawBufferPointer, _ codec: PageCodec) -> Bool {
        self.number = number
        guard buffer.count == pageBytes else { return false }
        bytes.copyMemory(from: buffer)
        return codec.open(base, number: number) && header.number == number
    }

    /// Proves that keys, values and children can be looked at.
    func validate() throws(StorageError) { try PageCheck.validate(base) }

    var body: ArraySlice<UInt8> { [UInt8](bytes)[Page.bodyOffset...] }
    var isBlank: Bool { bytes.allSatisfy { $0 == 0 } }

    /// The meta that the page, which is whole, holds, if it does.
    var meta: Meta? { Meta(base) }

    /// The header block that the page holds, if it is a sound copy of one.
    func fileHeader(copy: Int) -> FileHeader? {
        if case .good(let header) = FileHeader.read(base, copy: copy) { header } else { nil }
    }

    /// The body as a bitmap of pages.
    var bitmapWords: [UInt64] {
        (0..<SpaceMap.wordsPerRegion).map { base.load(fromByteOffset: Page.bodyOffset + $0 * 8, as: UInt64.self) }
    }

    // MARK: Nodes

    func key(_ slot: Int) -> SalvageReport.Key {
        switch type {
        case .byteLeaf, .byteInner:
            .bytes(
                [UInt8](unsafeUninitializedCapacity: pageBytes) { buffer, count in
                    count =
                        UnsafeMutableRawPointer(buffer.baseAddress).map { ByteNode.copyKey(base, slot, to: $0) } ?? 0
                })
        default: .integer(IntegerNode.keys(base)[slot])
        }
    }

    func child(_ slot: Int) -> PageReference {
        keyKind == .integer ? IntegerLayout.child(base, at: slot) : ByteNode.child(base, slot)
    }

    enum Value {
        case bytes([UInt8])
        case overflow(Overflow)
        /// A descriptor that contradicts itself.
        case malformed
    }

    func value(_ slot: Int) -> Value {
        let record = keyKind == .integer ? IntegerNode.record(base, slot) : ByteNode.record(base, slot)
        if record.isOverflow { return Overflow(record).map { .overflow($0) } ?? .malformed }
        return .bytes([UInt8](UnsafeRawBufferPointer(start: record.bytes, count: record.count)))
    }

    /// Between which keys a leaf that is not empty stands: its fences, or where it has none the keys in it.
    var span: SalvageReport.KeyRange {
        let count = header.count
        guard keyKind == .integer else {
            return SalvageReport.KeyRange(
                lower: .bytes([UInt8](ByteNode.lower(base))), upper: ByteNode.upper(base).map { .bytes([UInt8]($0)) })
        }
        let last = IntegerNode.keys(base)[count - 1]
        return SalvageReport.KeyRange(
            lower: .integer(IntegerNode.keys(base)[0]), upper: last == .max ? nil : .integer(last + 1))
    }
}

/// A set of page numbers of one file: a bit for each.
struct PageSet {
    private var words: [UInt64]
    private(set) var count = 0

    init(limit: UInt64) { words = [UInt64](repeating: 0, count: Int((limit + 63) / 64)) }

    func contains(_ page: UInt64) -> Bool {
        page / 64 < UInt64(words.count) && words[Int(page / 64)] & 1 << (page % 64) != 0
    }

    /// False when it was there already, or lies beyond the file.
    mutating func insert(_ page: UInt64) -> Bool {
        guard page / 64 < UInt64(words.count), !contains(page) else { return false }
        words[Int(page / 64)] |= 1 << (page % 64)
        count += 1
        return true
    }
}
