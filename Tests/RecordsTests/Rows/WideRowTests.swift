import Testing

@testable import MakoRecords

/// Rows with more columns than a word has bits.
@Suite struct WideRowTests {
    private func layout(_ columns: [ColumnSchema]) -> RowLayout {
        var numbered = columns
        for index in numbered.indices { numbered[index].ordinal = index }
        return RowLayout(EntitySchema(name: "T", columns: numbered), id: 1, columns: numbered, positions: numbered)
    }

    /// Bit 63 is that position and all behind it.
    @Test func theLastBitIsNotOfTextsAlone() {
        for (count, isText) in [(64, true), (65, false), (66, false), (200, false)] {
            let layout = layout((0..<count).map { ColumnSchema("c\($0)", $0 == 64 ? .integer : .text) })
            #expect(layout.areTexts(1 << 62 | 1))
            #expect(layout.areTexts(1 << 63) == isText && layout.areTexts(.max) == isText)
        }
        #expect(!layout((0..<64).map { ColumnSchema("c\($0)", $0 == 63 ? .integer : .text) }).areTexts(1 << 63))
    }

    @Test func nullsBehindTheFirstWordAreUnset() throws {
        let layout = layout((0..<1024).map { ColumnSchema("c\($0)", .integer, isOptional: true) })
        var writer = RowWriter()
        writer.begin(layout)
        for position in 0..<1024 { writer.set(position, Int64(position)) }
        let old = Array(try writer.finish())
        // NULL at each third place; of these, the places 66 to 126 and 960 to 1023 keep the old value.
        writer.begin(layout)
        for position in 0..<1024 where position % 3 == 0 { writer.setNull(position) }
        for position in 0..<1024 where position % 3 == 1 { writer.set(position, Int64(-position)) }
        writer.unsetNulls(~3, from: 64)
        writer.unsetNulls(.max, from: 960)
        let bytes = try old.withUnsafeBytes { old in
            Array(try writer.finish(layout, over: try RowReader(old, layout)))
        }
        try bytes.withUnsafeBytes { bytes in
            let row = try RowReader(bytes, layout)
            for position in 0..<1024 {
                let isKept = (66..<128).contains(position) || position >= 960
                switch position % 3 {
                case 0: #expect(row.value(position) == (isKept ? .integer(Int64(position)) : .null))
                case 1: #expect(row.value(position) == .integer(Int64(-position)))
                default: #expect(row.value(position) == .integer(Int64(position)))
                }
            }
        }
    }
}
