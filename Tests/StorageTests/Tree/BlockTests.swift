import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// LZ4 blocks: what liblz4 wrote is read here, and what is written here is read by a decoder of the test's own, whichever library packs.
///
/// `Golden/Blocks/NAME-fast.lz4` and `NAME-high.lz4` are the blocks of liblz4 1.9.4 for the contents below, by its fast and by its
/// thorough encoder, which take different matches.
@Suite struct BlockTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Golden/Blocks")

    private static func noise(_ seed: UInt64, _ count: Int) -> [UInt8] {
        var random = SplitMix(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < count { withUnsafeBytes(of: random.next().littleEndian) { bytes += $0 } }
        return [UInt8](bytes.prefix(count))
    }

    private static let contents: [String: [UInt8]] = [
        "one": [42],
        "short": [UInt8](0..<13),
        "zeros": [UInt8](repeating: 0, count: 100_000),
        "incompressible": noise(1, 3000),
        "words": (0..<3000).flatMap { number in
            let digits = String(number)
            return [UInt8]("row \(String(repeating: "0", count: 6 - digits.count))\(digits) of a table, ".utf8)
        },
        // Matches 65,535 bytes back, the farthest that there are, and repetitions one byte out of reach.
        "far": noise(2, 304) + [UInt8](repeating: 0, count: 65_535 - 304) + noise(2, 304) + noise(3, 304)
            + [UInt8](repeating: 1, count: 65_536 - 304) + noise(3, 304),
        // Lengths about the steps of 15 and 255 at which they take another byte.
        "lengths": [4, 18, 19, 20, 273, 274, 275, 528, 529, 70_000].enumerated().flatMap { index, count in
            [UInt8](repeating: UInt8(index % 251), count: count) + noise(UInt64(count), count % 270)
        },
    ]

    @Test func contentsAndGoldenBlocksBelongTogether() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { !$0.hasPrefix(".") }
        #expect(Set(names) == Set(Self.contents.keys.flatMap { ["\($0)-fast.lz4", "\($0)-high.lz4"] }))
    }

    @Test(arguments: contents.keys.sorted(), ["fast", "high"]) func goldenBlocksAreUnpacked(
        name: String, encoder: String
    ) throws {
        let content = try #require(Self.contents[name])
        let block = try [UInt8](Data(contentsOf: Self.folder.appendingPathComponent("\(name)-\(encoder).lz4")))
        #expect(try PlainBytes.unpacked(block[...], count: content.count) == content)
        #expect(LZ4.decompress(block, length: content.count) == content)
        // Of another length than the caller knows it to have: neither cut off nor filled up.
        #expect(LZ4.decompress(block, length: content.count - 1) == nil)
        #expect(LZ4.decompress(block, length: content.count + 1) == nil)
        #expect(LZ4.decompress([UInt8](block.dropLast()), length: content.count) == nil)
    }

    @Test(arguments: contents.keys.sorted()) func ownBlocksAreReadByAnotherDecoder(name: String) throws {
        let content = try #require(Self.contents[name])
        // No block is larger than this, and this one is never too small.
        let block = try #require(
            content.withUnsafeBytes { LZ4.compress($0, limit: content.count + content.count / 255 + 16) })
        #expect(try PlainBytes.unpacked(block[...], count: content.count) == content)
        #expect(LZ4.decompress(block, length: content.count) == content)
        #expect(content.withUnsafeBytes { LZ4.compress($0, limit: block.count - 1) } == nil)
    }

    @Test func nothingIsPackedIntoNothing() {
        #expect([UInt8]().withUnsafeBytes { LZ4.compress($0, limit: 100) } == nil)
        #expect([UInt8](0..<100).withUnsafeBytes { LZ4.compress($0, limit: 0) } == nil)
        #expect(LZ4.decompress([], length: 1) == nil)
    }

    /// Neither reads before the block's start nor writes behind the value's end.
    @Test func malformedBlocksAreRefused() {
        // A match before the first byte, and one of a length that no value has.
        #expect(LZ4.decompress([0x10, 65, 2, 0, 0x50, 1, 2, 3, 4, 5], length: 10) == nil)
        #expect(LZ4.decompress([0x1f, 65, 1, 0] + [UInt8](repeating: 255, count: 40) + [0], length: 64) == nil)
        // Literals that the block does not have.
        #expect(LZ4.decompress([0xf0, 200, 1, 2, 3], length: 215) == nil)
        #expect(LZ4.decompress([0x00], length: -1) == nil)
    }
}
