import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// The tables of `docs/format.md` against the bytes the code writes.
struct FormatTests {
    private struct Field {
        var offset: Int
        var bytes: Int
        var name: String
    }

    private static func lines(of section: String) throws -> [[String]] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/format.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "\n## ")
        let part = try #require(parts.first { $0.hasPrefix(section + "\n") })
        return part.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| offset") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    private static func fields(_ section: String, rows: Range<Int>? = nil) throws -> [Field] {
        let lines = try lines(of: section).compactMap { cells -> Field? in
            guard cells.count == 4, let offset = Int(cells[0]), let bytes = Int(cells[1]) else { return nil }
            return Field(offset: offset, bytes: bytes, name: cells[2])
        }
        return rows.map { Array(lines[$0]) } ?? lines
    }

    private static func value(_ bytes: UnsafeRawBufferPointer, _ field: Field) -> UInt64 {
        (0..<field.bytes).reduce(0) { $0 | UInt64(bytes[field.offset + $1]) << UInt64(8 * $1) }
    }

    private static func check(_ fields: [Field], _ bytes: UnsafeRawBufferPointer, _ expected: [String: UInt64]) {
        #expect(Set(fields.map(\.name)) == Set(expected.keys))
        for field in fields { #expect(value(bytes, field) == expected[field.name], "\(field.name) at \(field.offset)") }
    }

    private static func withPage(_ body: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pageBytes, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        defer { memory.deallocate() }
        try body(memory)
    }

    /// The engine computes checksums of pages in another order than the document describes.
    @Test func sumsOfAllLengthsAreThoseOfTheDocument() throws {
        var random = SplitMix(seed: 41)
        for count in Array(0..<300) + [4087, 4088, 4096, 8191] {
            let bytes = (0..<count + 1).map { _ in UInt8(random.below(256)) }
            let (start, seed) = (random.below(2), random.next())
            let sum = try bytes.withUnsafeBytes {
                Checksum.hash(try #require($0.baseAddress) + start, count: count, seed: seed)
            }
            #expect(try sum == PlainBytes(bytes: bytes).checksum(start, count, seed: seed), "\(count)")
        }
    }

    @Test func pageHeader() throws {
        let fields = try FormatTests.fields("Page header")
        try FormatTests.withPage { memory in
            let base = try #require(memory.baseAddress)
            let page = Page(base)
            page.format(page: 0x12_3456_789a, type: .byteInner, level: 7, writeID: 0x1122_3344_5566_7788, tree: 99)
            page.count = 321
            page.prefix = 45
            page.heap = 3000
            page.garbage = 17
            Page.seal(base, page: 0x12_3456_789a, seed: 5)
            let sum = Page.checksum(base, page: 0x12_3456_789a, seed: 5)
            FormatTests.check(
                fields, UnsafeRawBufferPointer(memory),
                [
                    "checksum": sum, "page": 0x12_3456_789a, "type": 4, "level": 7, "flags": 0,
                    "write id": 0x1122_3344_5566_7788, "tree": 99, "count": 321, "prefix": 45, "heap": 3000,
                    "garbage": 17,
                ])
        }
        #expect(fields.last.map { $0.offset + $0.bytes } == Page.bodyOffset)
        let reference = PageReference(page: 0xab, writeID: 0x1234_5678)
        #expect(reference.raw == 0xab << 24 | 0x34_5678)
    }

    @Test func theChecksumCoversThePlace() throws {
        var bytes = [UInt8](repeating: 7, count: pageBytes)
        bytes.withUnsafeMutableBytes { buffer in
            guard let page = buffer.baseAddress else { return }
            Page(page).format(page: 12, type: .overflow, level: 0, writeID: 3, tree: 1)
            Page.seal(page, page: 12, seed: 99)
            #expect(Page.isSealed(page, page: 12, seed: 99))
            #expect(!Page.isSealed(page, page: 13, seed: 99))
            #expect(!Page.isSealed(page, page: 12, seed: 98))
        }
    }

    @Test func pageTypes() throws {
        let types = try FormatTests.lines(of: "Page types").filter { Int($0[0]) != nil }
        #expect(types.count == 9)
        for cells in types {
            let type = try #require(UInt8(cells[0]).flatMap(PageType.init))
            #expect("\(type)" == cells[1])
        }
    }

    @Test func fixedPages() throws {
        let rows = try FormatTests.lines(of: "Fixed pages").filter { Int($0[0]) != nil }
        #expect(rows.count == SpaceMap.fixedPages + SpaceMap.bitmapCopies)
        for copy in 0..<2 {
            #expect(rows[Int(Meta.page(number: 0, copy: copy))][1].hasPrefix("meta slot A"))
            #expect(rows[Int(Meta.page(number: 1, copy: copy))][1].hasPrefix("meta slot B"))
        }
        for copy in 0..<3 {
            #expect(rows[Int(SpaceMap.bitmapPage(region: 0, copy: copy))][1].hasPrefix("bitmap of region 0"))
        }
        #expect(SpaceMap.pagesPerRegion == 32_448)
        #expect(SpaceMap.bitmapPage(region: 2, copy: 1) == 2 * 32_448 + 1)
    }

    @Test func headerBlock() throws {
        let header = FileHeader(
            id: DatabaseID(high: 11, low: 22), mustRead: 33, mustWrite: 44, highWaterMark: 55, segmentBytes: 66,
            newestSegment: 77, generation: 88)
        try FormatTests.withPage { memory in
            header.write(to: try #require(memory.baseAddress), copy: 1)
            FormatTests.check(
                try FormatTests.fields("Header block"), UnsafeRawBufferPointer(memory),
                [
                    "magic": FormatTests.ascii("MakoDB00"), "version": 1, "page bytes": 4096, "id high": 11,
                    "id low": 22, "must read": 33, "must write": 44, "high-water mark": 55, "segment bytes": 66,
                    "newest segment": 77, "generation": 88,
                ])
        }
    }

    @Test func lockOfTheKey() throws {
        let record = KeyRecord(
            cipher: .chaChaPoly,
            derivation: KeyRecord.Derivation(
                kind: .passphrase, logRounds: 14, blockSize: 8, parallelism: 1, salt: [UInt8](repeating: 1, count: 32)),
            box: [UInt8](repeating: 2, count: 12) + [UInt8](repeating: 3, count: 32) + [UInt8](repeating: 4, count: 16))
        let header = FileHeader(
            id: DatabaseID(high: 11, low: 22), mustRead: FormatFeatures.encryption.rawValue, highWaterMark: 55,
            segmentBytes: 1 << 20, newestSegment: 77, generation: 88, key: record)
        try FormatTests.withPage { memory in
            let base = try #require(memory.baseAddress)
            header.write(to: base, copy: 0)
            let fields = try FormatTests.fields("Encryption").filter { $0.offset >= 120 && $0.offset < 4000 }
            FormatTests.check(
                fields.filter { $0.bytes == 1 }, UnsafeRawBufferPointer(memory),
                ["cipher": 2, "derivation": 2, "rounds": 14, "block size": 8, "parallelism": 1])
            let long = fields.filter { $0.bytes > 1 }
            #expect(long.map(\.name) == ["salt", "nonce", "data key", "tag"])
            for (field, byte) in zip(long, UInt8(1)...4) {
                #expect(memory[field.offset..<field.offset + field.bytes].allSatisfy { $0 == byte }, "\(field.name)")
            }
            #expect(long.last.map { $0.offset + $0.bytes } == KeyRecord.offset + KeyRecord.bytes)
            guard case .good(header) = FileHeader.read(base, copy: 0) else {
                Issue.record("the header does not read as what it was")
                return
            }
        }
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"), arguments: Encryption.Cipher.allCases)
    func encryptedPage(cipher: Encryption.Cipher) throws {
        let fields = try FormatTests.fields("Encryption").filter { $0.offset < 120 || $0.offset >= 4000 }
        #expect(fields.map(\.name) == ["nonce", "header", "body", "tag"])
        #expect(fields.map(\.offset) == [0, 12, 24, 4080] && fields.map(\.bytes) == [12, 12, 4056, 16])
        let id = DatabaseID(high: 1, low: 2)
        let (keys, _) = try DatabaseKeys.make(
            for: TestKeys.encryption(0, cipher), database: id, path: "", entropy: SeededEntropy(seed: 3))
        let codec = PageCodec(of: id, keys: keys, entropy: SeededEntropy(seed: 4))
        // The largest that any field can be, and what a table's page is.
        for (type, writeID, tree) in [
            (PageType.byteInner, UInt64(0x7abc_def0_1234), UInt32.max), (.directory, 1 << 60, 0),
        ] {
            try FormatTests.withPage { memory in
                let base = try #require(memory.baseAddress)
                let page = Page(base)
                page.format(page: 99, type: type, level: type == .byteInner ? 40 : 0, writeID: writeID, tree: tree)
                if type == .byteInner {
                    page.count = 2000
                    page.prefix = 900
                    page.heap = 4096
                    page.garbage = 4056
                    page.identity |= 0x15 << 56
                }
                for place in Page.bodyOffset..<pageBytes { memory[place] = UInt8(truncatingIfNeeded: place &* 3) }
                let before = [UInt8](memory)
                codec.seal(base, number: 99)
                if type == .byteInner {
                    let nonce = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
                    #expect(nonce &>> 16 == writeID)
                } else {
                    #expect(memory[11] & 0x80 != 0)
                }
                #expect(Set(zip(before, memory).map { $0 == $1 }).contains(false))
                let sealed = [UInt8](memory)
                #expect(!codec.open(base, number: 98))
                #expect([UInt8](memory) == sealed)
                #expect(codec.open(base, number: 99))
                #expect([UInt8](memory) == before)
            }
        }
    }

    @Test func meta() throws {
        var meta = Meta(
            number: 1, commit: 2, point: 3, log: LogPosition(lsn: 4, chain: 5), nextTreeID: 6,
            directory: Overflow(firstPage: 7, firstWriteID: 8, length: 9, stored: 9, isCompressed: false), regions: 10)
        meta.basis = 11
        try FormatTests.withPage { memory in
            let base = try #require(memory.baseAddress)
            meta.write(to: base, copy: 0, PageCodec(seed: 123))
            FormatTests.check(
                try FormatTests.fields("Meta"), UnsafeRawBufferPointer(memory),
                [
                    "number": 1, "commit": 2, "point": 3, "lsn": 4, "chain": 5, "next tree": 6, "directory page": 7,
                    "directory write id": 8, "directory length": 9, "regions": 10, "basis": 11,
                ])
            #expect(Meta(base, place: Meta.page(number: 1, copy: 0), PageCodec(seed: 123)) == meta)
            #expect(Meta(base, place: Meta.page(number: 1, copy: 0), PageCodec(seed: 124)) == nil)
            // Trees 3 and 66 have no large values.
            meta.plainTrees = [1 << 3, 1 << 2]
            meta.write(to: base, copy: 0, PageCodec(seed: 123))
            #expect(memory[120] == 8 && memory[128] == 4 && memory[129..<4088].allSatisfy { $0 == 0 })
            #expect(Meta(base, place: Meta.page(number: 1, copy: 0), PageCodec(seed: 123)) == meta)
        }
    }

    @Test func byteNodeFences() throws {
        let low = Array("apple".utf8)
        let high = Array("apricot".utf8)
        try FormatTests.withPage { memory in
            let base = try #require(memory.baseAddress)
            Page(base).format(page: 1, type: .byteLeaf, level: 0, writeID: 1, tree: 1)
            low.withUnsafeBytes { low in high.withUnsafeBytes { ByteNode.setFences(base, lower: low, upper: $0) } }
            FormatTests.check(
                try FormatTests.fields("Byte nodes"), UnsafeRawBufferPointer(memory),
                ["lower fence": 4091, "lower length": 5, "upper fence": 4084, "upper length": 7])
            #expect(Page(base).prefix == 2)
        }
    }

    @Test func integerNodes() {
        #expect(IntegerNode.keysOffset == 40)
        #expect(IntegerNode.innerCapacity == 253)
        #expect(IntegerNode.childrenOffset == 2064)
        #expect(IntegerNode.countedCapacity == 168)
        #expect(IntegerNode.firstCountsOffset == 1384)
        #expect(IntegerNode.lastCountsOffset == 3408)
    }

    @Test func overflowDescriptor() throws {
        let overflow = Overflow(firstPage: 50, firstWriteID: 6, length: 7000, stored: 4000, isCompressed: true)
        try FormatTests.withPage { memory in
            overflow.write(to: try #require(memory.baseAddress))
            FormatTests.check(
                try FormatTests.fields("Overflow values"), UnsafeRawBufferPointer(memory),
                ["page": 50, "write id": 6, "length": 7000, "stored": 4000 | 1 << 31])
        }
    }

    @Test func incrementalBackups() throws {
        let id = DatabaseID(high: 1, low: 2)
        var header = BackupPart.Header(
            base: BackupPoint(database: id, commit: 3, basis: 4, chain: 5),
            own: BackupPoint(database: id, commit: 6, basis: 7, chain: 8), pages: 9, filePages: 10)
        header.listCheck = 11
        try header.encoded.withUnsafeBytes { bytes in
            let base = try #require(bytes.baseAddress)
            FormatTests.check(
                try FormatTests.fields("Incremental backups"), bytes,
                [
                    "checksum": Checksum.hash(base + 8, count: 4088, seed: 0), "magic": FormatTests.ascii("MakoInc0"),
                    "database high": 1, "database low": 2, "base commit": 3, "base basis": 4, "base chain": 5,
                    "commit": 6, "basis": 7, "chain": 8, "pages": 9, "file pages": 10, "list": 11,
                ])
        }
    }

    @Test func logSegment() throws {
        let header = SegmentHeader(
            database: DatabaseID(high: 1, low: 2), number: 3, salt: 4, previousEnd: 5, chain: 6, segmentBytes: 65536)
        let fields = try FormatTests.fields("Log segment")
        try FormatTests.withPage { memory in
            let base = try #require(memory.baseAddress)
            header.write(to: base)
            FormatTests.check(
                Array(fields[..<9]), UnsafeRawBufferPointer(memory),
                [
                    "checksum": Checksum.hash(base + 8, count: 64, seed: 0), "magic": FormatTests.ascii("MakoLog0"),
                    "database high": 1, "database low": 2, "number": 3, "salt": 4, "previous end": 5, "chain": 6,
                    "segment bytes": 65536,
                ])
            let frame = LogFrame(
                stored: 16, raw: 100, isCompressed: true, lsn: 7, commit: 8, durable: 9, kind: .barrier)
            let chain = frame.write(to: base, salt: 10, chain: 11)
            FormatTests.check(
                Array(fields[9...]), UnsafeRawBufferPointer(memory),
                [
                    "stored": 16, "raw": 100 | 1 << 31, "lsn": 7, "commit": 8, "durable": 9, "kind": 2,
                    "check": Checksum.hash(base, count: 40, seed: 10), "chain": chain,
                ])
        }
        #expect(SegmentHeader.blockBytes == 4096)
        #expect(LogFrame.alignment == 8)
    }

    @Test func operations() throws {
        let rows = try FormatTests.lines(of: "Operations").filter { Int($0[0]) != nil }
        #expect(rows.count == 12)
        for cells in rows {
            let operation = try #require(UInt8(cells[0]).flatMap(Operation.init))
            #expect("\(operation)" == cells[1])
        }
    }

    private static func ascii(_ text: String) -> UInt64 {
        text.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
