/// A page of a damaged file, with access to its contents after it has passed the checks.
final class SalvagedPage {
    private let base: UnsafeMutableRawPointer
    private(set) var number: UInt64 = 0

    init() { base = .allocate(byteCount: pageBytes, alignment: 16) }

    deinit { base.deallocate() }

    var header: Page { Page(base) }
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: pageBytes) }
    var type: PageType? { PageType(rawValue: header.type) }

    /// The key kind of a leaf or an inner page.
    var keyKind: KeyKind? {
        switch type {
        case .integerLeaf, .integerInner: .integer
        case .byteLeaf, .byteInner: .bytes
        default: nil
        }
    }

    /// Reads a page from the file. Throws if it is not intact and in its place.
    func read(_ number: UInt64, from source: DamagedFile) throws(StorageError) {
        self.number = number
        try source.read(number, into: base)
    }

    /// Copies a page from a larger buffer. Returns false if it is not intact and in its place.
    func take(_ number: UInt64, from buffer: UnsafeRawBufferPointer, _ codec: PageCodec) -> Bool {
        self.number = number
        guard buffer.count == pageBytes else { return false }
        bytes.copyMemory(from: buffer)
        return codec.open(base, number: number) && header.number == number
    }

    /// Checks that keys, values and children can be read.
    func validate() throws(StorageError) { try PageCheck.validate(base) }

    var body: ArraySlice<UInt8> { [UInt8](bytes)[Page.bodyOffset...] }
    var isBlank: Bool { bytes.allSatisfy { $0 == 0 } }

    /// The meta in an intact page; nil if it is none.
    var meta: Meta? { Meta(base) }

    /// Returns the header block in the page; nil if it is not an intact copy.
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
        keyKind == .integer ? IntegerLayout.child(header, at: slot) : ByteNode.child(base, slot)
    }

    enum Value {
        case bytes([UInt8])
        case overflow(Overflow)
        /// A descriptor whose fields contradict each other.
        case malformed
    }

    func value(_ slot: Int) -> Value {
        let record = keyKind == .integer ? IntegerNode.record(base, slot) : ByteNode.record(base, slot)
        if record.isOverflow { return Overflow(record).map { .overflow($0) } ?? .malformed }
        return .bytes([UInt8](UnsafeRawBufferPointer(start: record.bytes, count: record.count)))
    }

    /// The key range of a leaf that is not empty: its fences or, without fences, its keys.
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

/// A set of pages of one file, as a bitmap.
struct PageSet {
    private var words: [UInt64]
    private(set) var count = 0

    init(limit: UInt64) { words = [UInt64](repeating: 0, count: Int((limit + 63) / 64)) }

    func contains(_ page: UInt64) -> Bool {
        page / 64 < UInt64(words.count) && words[Int(page / 64)] & 1 << (page % 64) != 0
    }

    /// Adds a page. Returns false if it is in the set already, or beyond the file.
    mutating func insert(_ page: UInt64) -> Bool {
        guard page / 64 < UInt64(words.count), !contains(page) else { return false }
        words[Int(page / 64)] |= 1 << (page % 64)
        count += 1
        return true
    }
}
