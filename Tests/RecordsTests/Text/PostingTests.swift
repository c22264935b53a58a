import Testing

@testable import MakoRecords

/// Chunks of postings as they are written and read.
@Suite struct PostingTests {
    private struct Row: Equatable {
        var number: UInt64
        /// Column and position.
        var places: [[UInt64]]
    }

    private func random(_ random: inout Seeded, columns: Int) -> [Row] {
        var number: UInt64 = FullTextIndex.firstBase
        let far = random.chance(30) ? 400 : 3
        return (0..<Int.random(in: 1...60, using: &random)).map { place in
            number += UInt64(Int.random(in: place == 0 ? 0...far : 1...far, using: &random))
            let count = random.chance(80) ? 1 : Int.random(in: 2...80, using: &random)
            let longest = random.chance(10) ? 1 << 20 : 200
            let places = Set(
                (0..<count).map { _ in
                    [
                        UInt64(Int.random(in: 0..<columns, using: &random)),
                        UInt64(Int.random(in: 0...longest, using: &random)),
                    ]
                })
            return Row(number: number, places: places.sorted { $0.lexicographicallyPrecedes($1) })
        }
    }

    private func encoded(_ rows: [Row], columnBits: UInt64) -> [UInt8] {
        var writer = OccurrenceWriter(columnBits: columnBits)
        var buffer = KeyBuffer()
        let places = rows.enumerated().flatMap { number, row in
            row.places.map { WordPlace(row: UInt32(number), position: UInt32($0[1]), column: UInt16($0[0])) }
        }
        places.withUnsafeBufferPointer {
            writer.append($0, of: rows.map(\.number), from: FullTextIndex.firstBase, to: &buffer)
        }
        return buffer.bytes
    }

    /// The decoded postings; nil: the bytes are damaged.
    private func decoded(_ bytes: [UInt8], columnBits: UInt64) -> [Row]? {
        bytes.withUnsafeBytes { raw in
            var reader = PostingReader(raw, base: FullTextIndex.firstBase, columnBits: columnBits)
            var rows: [Row] = []
            while reader.next() {
                var places: [[UInt64]] = []
                guard reader.forEachOccurrence({ places.append([$0, $1]) }) else { return nil }
                rows.append(Row(number: reader.row, places: places))
            }
            return reader.isDamaged ? nil : rows
        }
    }

    /// The rows read byte by byte.
    private func plainNumbers(_ bytes: [UInt8]) -> [UInt64]? {
        var rest = bytes[...]
        func number() -> UInt64? {
            var number: UInt64 = 0
            var shift: UInt64 = 0
            while let byte = rest.popFirst(), shift < 64 {
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return number }
                shift += 7
            }
            return nil
        }
        var row = FullTextIndex.firstBase
        var rows: [UInt64] = []
        while !rest.isEmpty {
            guard let distance = number(), distance > 0 || rows.isEmpty, let header = number() else { return nil }
            row &+= distance
            if header & 1 == 0 {
                guard header > 0, header >> 1 <= UInt64(rest.count) else { return nil }
                rest = rest.dropFirst(Int(header >> 1))
            }
            rows.append(row)
        }
        return rows
    }

    @Test(arguments: [1, 2, 3, 16]) func whatIsWrittenIsRead(columns: Int) {
        var random = Seeded(UInt64(columns))
        let columnBits = UInt64(columns == 1 ? 0 : columns == 2 ? 1 : columns == 3 ? 2 : 4)
        for _ in 0..<600 {
            let rows = self.random(&random, columns: columns)
            let bytes = encoded(rows, columnBits: columnBits)
            #expect(decoded(bytes, columnBits: columnBits) == rows)
            #expect(plainNumbers(bytes) == rows.map(\.number))
            bytes.withUnsafeBytes {
                #expect(PostingReader.lastRow($0, base: FullTextIndex.firstBase) == rows.last?.number)
            }
        }
    }

    @Test func damageIsSeenAlike() {
        var random = Seeded(77)
        for _ in 0..<4000 {
            var bytes = encoded(self.random(&random, columns: 1), columnBits: 0)
            if random.chance(50) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(random.next() & 255)
            }
            let plain = plainNumbers(bytes)
            bytes.withUnsafeBytes { raw in
                var reader = PostingReader(raw, base: FullTextIndex.firstBase, columnBits: 0)
                var rows: [UInt64] = []
                while reader.next() { rows.append(reader.row) }
                #expect(reader.isDamaged == (plain == nil), "\(bytes)")
                if let plain { #expect(rows == plain, "\(bytes)") }
                #expect(PostingReader.lastRow(raw, base: FullTextIndex.firstBase) == plain?.last)
            }
        }
    }
}
