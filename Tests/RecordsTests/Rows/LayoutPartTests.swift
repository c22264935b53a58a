import Testing

@testable import MakoRecords

/// Positions of a layout that have several columns.
@Suite struct LayoutPartTests {
    private static let columns = ["a", "b_x", "b_y", "b_z", "c", "d_x", "d_y"]

    /// `a`, `b` of three columns, a position without a column, `c`, `d` of two.
    private static func layout() -> RowLayout {
        let all = columns.enumerated().map { number, name in
            var column = ColumnSchema(name, .integer, isOptional: true)
            column.ordinal = number
            return column
        }
        return RowLayout(
            EntitySchema(name: "T", columns: all), id: 1, columns: all,
            positions: [all[0], all[1], nil, all[4], all[5]], further: [[], [all[2], all[3]], [], [], [all[6]]])
    }

    @Test func positionsStayAndPartsFollowThem() {
        let layout = Self.layout()
        #expect(layout.names == ["a", "b_x", "", "c", "d_x", "b_y", "b_z", "d_y"])
        #expect((0..<5).map { layout.position(ofPart: 0, at: $0) } == [0, 1, 2, 3, 4])
        #expect((1...2).map { layout.position(ofPart: $0, at: 1) } == [5, 6])
        #expect(layout.position(ofPart: 1, at: 4) == 7)
        // A missing part of a position is not one of its neighbour.
        let nowhere = [
            layout.position(ofPart: 3, at: 1), layout.position(ofPart: 1, at: 0), layout.position(ofPart: 2, at: 4),
            layout.position(ofPart: -1, at: 1), layout.position(ofPart: 1, at: 5), layout.position(ofPart: 1, at: -1),
        ]
        #expect(nowhere.allSatisfy { $0 == layout.count })
    }

    @Test func partsAreWrittenAndRead() throws {
        let layout = Self.layout()
        var writer = RowWriter()
        writer.begin(layout)
        for (part, value) in [10, 11, 12].enumerated() {
            writer.set(writer.position(ofPart: part, at: 1), Int64(value))
        }
        writer.set(writer.position(ofPart: 3, at: 1), Int64(99))
        writer.setNullParts(4)
        writer.set(0, Int64(1))
        let row = try RowReader(writer.finish(), layout)
        #expect((0...3).map { row.integer(row.position(ofPart: $0, at: 1)) } == [10, 11, 12, 0])
        #expect(row.integer(0) == 1 && row.isNull(4) && row.isNull(7) && row.isNull(2))
    }

    @Test func tablesGiveLayoutsWithParts() throws {
        let fixture = try Fixture(
            EntitySchema(name: "T", columns: Self.columns.map { ColumnSchema($0, .integer, isOptional: true) }))
        let table = try fixture.table("T")
        let layout = try table.layout(for: ["b_x", "d_x"], further: [["b_y", "b_z"], ["d_y"]])
        let key = try fixture.store.write { tx in
            var writer = RowWriter()
            var changes = ChangeSet()
            writer.begin(layout)
            for place in 0..<5 { writer.set(place, Int64(place + 1)) }
            let key = try table.insert(&writer, in: tx, changes: &changes)
            // NULL that is to stay what it was concerns all columns of the position.
            writer.begin(layout)
            writer.setNullParts(0)
            writer.setNullParts(1)
            writer.unsetNulls(0b01)
            _ = try table.update(&writer, key: key, in: tx, changes: &changes)
            return key
        }
        let values = try table.withRow(key, layout: layout, in: fixture.store.snapshot()) { row in
            (0..<5).map { row.value($0) }
        }
        #expect(values == [.integer(1), .null, .integer(3), .integer(4), .null])
        #expect(throws: RecordError.self) { try table.layout(for: ["b_x"], further: [["b_w"]]) }
    }
}
