import Testing

@testable import MakoRecords

@Suite struct RowTests {
    private func layout(_ columns: [ColumnSchema], _ names: [String]? = nil) -> RowLayout {
        var numbered = columns
        for index in numbered.indices { numbered[index].ordinal = index }
        let positions = names.map { $0.compactMap { name in numbered.first { $0.name == name } } } ?? numbered
        return RowLayout(EntitySchema(name: "T", columns: numbered), id: 1, columns: numbered, positions: positions)
    }

    private let all: [ColumnSchema] = ColumnType.allCases.map {
        ColumnSchema("c\($0.rawValue)", $0, isOptional: true, target: "T")
    }

    @Test func everyTypeComesBack() throws {
        var random = Seeded(1)
        let layout = layout(all)
        var writer = RowWriter()
        for _ in 0..<500 {
            let values = ColumnType.allCases.map { random.chance(20) ? Value.null : random.value($0) }
            writer.begin(layout)
            for index in values.indices.shuffled(using: &random) { writer.set(index, values[index]) }
            let reader = try RowReader(writer.finish(), layout)
            for (index, value) in values.enumerated() {
                #expect(reader.value(index) == value)
                #expect(reader.isNull(index) == value.isNull)
            }
        }
    }

    /// Rows of as many columns as the writer's bits hold, and of more.
    @Test(arguments: [63, 64, 65, 72, 200]) func wideRowsComeBack(count: Int) throws {
        let layout = layout(
            (0..<count).map { number in
                number % 5 == 4
                    ? ColumnSchema("c\(number)", .text, default: .text("default"))
                    : ColumnSchema("c\(number)", number % 2 == 0 ? .integer : .text, isOptional: true)
            })
        var random = Seeded(UInt64(count))
        var writer = RowWriter()
        for _ in 0..<50 {
            var expected: [Value] = []
            writer.begin(layout)
            for place in 0..<count {
                let type = layout.type(place)
                if random.chance(20) {
                    expected.append(place % 5 == 4 ? .text("default") : .null)
                    continue
                }
                // Values that were set or made NULL before are replaced.
                if random.chance(10) { writer.setNull(place) }
                let value = place % 5 != 4 && random.chance(20) ? Value.null : random.value(type)
                if random.chance(10) { writer.set(place, random.value(type)) }
                writer.set(place, value)
                expected.append(value)
            }
            let draft = try writer.draft()
            for (place, value) in expected.enumerated() where value != .text("default") {
                #expect(draft?.value(place) == value)
            }
            let reader = try RowReader(writer.finish(), layout)
            #expect((0..<count).map { reader.value($0) } == expected)
        }
        writer.begin(layout)
        writer.setNull(count / 5 * 5 - 1)
        #expect(throws: RecordError.nullViolation(table: "T", column: "c\(count / 5 * 5 - 1)")) { try writer.finish() }
    }

    @Test func typedReadersGiveZeroForNullAndForAnotherType() throws {
        let layout = layout(all)
        var writer = RowWriter()
        writer.begin(layout)
        writer.set(4, "text")
        let reader = try RowReader(writer.finish(), layout)
        #expect(reader.integer(1) == 0 && reader.double(4) == 0 && reader.text(1) == "" && reader.blob(4) == [])
        #expect(reader.text(4) == "text" && reader.bool(0) == false && reader.uuid(7) == (0, 0) && reader.date(6) == 0)
        #expect(reader.isNull(99) && reader.isNull(-1) && reader.text(99) == "")
        #expect(layout.type(-1) == layout.type(99), "no column is of no type, and no fault")
        #expect(reader.layout === layout)
    }

    @Test func rowsFromBeforeAColumnAnswerItsFillValue() throws {
        let early = layout([ColumnSchema("a", .text)])
        let late = layout([
            ColumnSchema("a", .text), ColumnSchema("b", .text, default: .text("filled")),
            ColumnSchema("c", .integer, default: .integer(36)), ColumnSchema("d", .double, isOptional: true),
        ])
        var writer = RowWriter()
        writer.begin(early)
        writer.set(0, "old")
        let reader = try RowReader(writer.finish(), late)
        #expect(reader.text(0) == "old" && reader.text(1) == "filled" && reader.integer(2) == 36 && reader.isNull(3))
        #expect(reader.withText(1) { $0.count } == 6)
    }

    private final class Companion {}

    @Test func keptRowsStayWhereTheyAre() throws {
        let layout = layout(all)
        var random = Seeded(2)
        var writer = RowWriter()
        let companion = Companion()
        var keeper = RowArena(firstChunk: 64, companion: companion)
        #expect(!keeper.holds(layout))
        var kept: [(chunk: RowArenaChunk, offset: UInt16, values: [Value])] = []
        for round in 0..<400 {
            var values = ColumnType.allCases.map { random.chance(20) ? Value.null : random.value($0) }
            // Larger than any chunk.
            if round % 100 == 50 { values[5] = .blob([UInt8](repeating: 7, count: RowArena.largestChunk * 2)) }
            writer.begin(layout)
            for (index, value) in values.enumerated() { writer.set(index, value) }
            let reader = try RowReader(writer.finish(), layout)
            let offset = keeper.keep(reader)
            let chunk = try #require(keeper.chunk)
            // A reader that knows that the row has no NULL takes the fast path.
            chunk.withRow(at: offset, isPlain: reader.isPlain) { copy in
                #expect(copy.value(5) == values[5] && copy.value(4) == values[4])
            }
            // Object layers keep the place in eleven bits.
            #expect(offset % 8 == 0 && offset / 8 < 2048 && chunk.companion === companion)
            #expect(chunk.pending(at: offset) == 0)
            chunk.setPending(UInt64(round) << 32 | 5, at: offset)
            kept.append((chunk, offset, values))
        }
        #expect(keeper.holds(layout))
        #expect(Set(kept.map { ObjectIdentifier($0.chunk) }).count < 20)
        for (round, row) in kept.enumerated() {
            #expect(row.chunk.pending(at: row.offset) == UInt64(round) << 32 | 5)
            #expect(
                row.chunk.withRow(at: row.offset) { reader in row.values.indices.map { reader.value($0) } }
                    == row.values)
        }
    }

    /// The arena counts references in advance; rows that hold a chunk take them over, and the arena releases the rest.
    @Test(arguments: 0..<4) func aChunkStaysAsLongAsItIsHeld(takers: Int) throws {
        let layout = layout(all)
        var writer = RowWriter()
        writer.begin(layout)
        for position in 0..<layout.count { writer.setNull(position) }
        writer.set(4, "Ada")
        let reader = try RowReader(writer.finish(), layout)
        var companion: Companion? = Companion()
        let chunksStay = { [weak companion] in companion != nil }
        var taken: [RowArenaChunk] = []
        do {
            var keeper = RowArena(firstChunk: 64, companion: companion)
            companion = nil
            for round in 0..<1000 {
                _ = keeper.keep(reader)
                // No holder, fewer than were counted, as many, or more.
                for _ in 0..<(round % 2 * takers) { taken.append(try #require(keeper.borrowedChunk.chunk)) }
            }
            #expect(chunksStay())
        }
        #expect(chunksStay() == (takers > 0))
        if let first = taken.first, let last = taken.last {
            taken = [first, last]
            for chunk in taken { chunk.withRow(at: 0) { row in #expect(row.text(4) == "Ada") } }
        }
        #expect(chunksStay() == (takers > 0))
        taken = []
        #expect(!chunksStay())
    }

    /// Of rows with and without the last columns, in an order of its own.
    @Test func keptTextsAreThoseOfTheRow() throws {
        let columns =
            all.filter { $0.type != .keys } + [
                ColumnSchema("t", .text, default: .text("filled")), ColumnSchema("n", .integer, default: .integer(36)),
                ColumnSchema("b", .blob, isOptional: true),
            ]
        let late = layout(columns, columns.map(\.name).reversed())
        #expect(late.areTexts(0b101) && !late.areTexts(0b111) && !late.areTexts(1 << 40) && late.areTexts(0))
        var random = Seeded(3)
        var writer = RowWriter()
        var keeper = RowArena(firstChunk: 1024, textsOnly: true)
        var kept: [(chunk: RowArenaChunk, offset: UInt16, values: [Value])] = []
        for _ in 0..<400 {
            let usual = layout(Array(columns.prefix(columns.count - random.pick(Array(0..<10)))))
            writer.begin(usual)
            for place in 0..<usual.count {
                writer.set(place, random.chance(20) ? .null : random.value(usual.type(place)))
            }
            if usual.count > columns.count - 3 { writer.set(columns.count - 3, .text("set")) }
            if usual.count > columns.count - 2 { writer.set(columns.count - 2, .integer(1)) }
            let reader = try RowReader(writer.finish(), late)
            let offset = keeper.keep(reader)
            let chunk = try #require(keeper.chunk)
            chunk.setPending(.max, at: offset)
            kept.append((chunk, offset, columns.indices.map { reader.value($0) }))
        }
        for row in kept {
            row.chunk.withRow(at: row.offset) { reader in
                for (place, value) in row.values.enumerated() {
                    #expect(reader.value(place) == (late.type(place).isVariable ? value : .null))
                }
                #expect(reader.integer(1) == 0 && reader.integer(99) == 0 && reader.uuid(0) == (0, 0))
            }
        }
    }

    @Test func layoutsGiveTheCallersOrder() throws {
        let schema = [
            ColumnSchema("a", .text), ColumnSchema("b", .integer, default: .integer(9)), ColumnSchema("c", .bool),
        ]
        let turned = layout(schema, ["c", "a"])
        var writer = RowWriter()
        writer.begin(turned)
        writer.set(0, true)
        writer.set(1, "x")
        let usual = layout(schema)
        let reader = try RowReader(writer.finish(), usual)
        #expect(reader.text(0) == "x" && reader.integer(1) == 9 && reader.bool(2))
        withExtendedLifetime(usual) {}
    }

    @Test func wrongTypesAndMissingValuesAreErrors() {
        let layout = layout([ColumnSchema("a", .text), ColumnSchema("b", .unsigned, default: .integer(0))])
        var writer = RowWriter()
        writer.begin(layout)
        writer.set(0, Int64(3))
        #expect(throws: RecordError.typeMismatch(table: "T", column: "a", expected: .text, found: "integer 3")) {
            _ = try writer.finish()
        }
        writer.begin(layout)
        writer.set(1, Int64(-1))
        #expect(throws: RecordError.self) { _ = try writer.finish() }
        writer.begin(layout)
        #expect(throws: RecordError.nullViolation(table: "T", column: "a")) { _ = try writer.finish() }
        // The first mistake is reported, and none after the next row has begun.
        writer.begin(layout)
        writer.set(1, Value.text("x"))
        writer.set(0, Int64(3))
        #expect(throws: RecordError.typeMismatch(table: "T", column: "b", expected: .unsigned, found: "text 'x'")) {
            _ = try writer.finish()
        }
        writer.begin(layout)
        writer.set(0, "right")
        #expect(throws: Never.self) { _ = try writer.finish() }
    }

    /// Each setter on a column of each type: the value is there, or the error names the column.
    @Test(arguments: ColumnType.allCases) func settersTakeWhatFits(type: ColumnType) throws {
        let layout = layout([ColumnSchema("c", type, isOptional: true, target: "T")])
        let setters: [(fits: Set<ColumnType>, value: Value, set: (inout RowWriter) -> Void)] = [
            ([.integer, .reference, .unsigned], .integer(5), { $0.set(0, Int64?.some(5)) }),
            ([.integer, .reference], .integer(-5), { $0.set(0, Int64(-5)) }),
            ([.integer, .unsigned], .integer(6), { $0.set(0, UInt64?.some(6)) }),
            ([.unsigned], .unsigned(.max), { $0.set(0, UInt64.max) }),
            ([.double], .double(1.5), { $0.set(0, Double?.some(1.5)) }),
            ([.date], .date(2.5), { $0.setDate(0, Double?.some(2.5)) }),
            ([.bool], .bool(true), { $0.set(0, Bool?.some(true)) }),
            ([.text], .text("té"), { $0.set(0, String?.some("té")) }),
            ([.blob, .keys], .blob([1, 2]), { $0.set(0, [UInt8]?.some([1, 2])) }),
            ([.uuid], .uuid(3, 4), { $0.setUUID(0, high: 3, low: 4) }),
        ]
        var writer = RowWriter()
        for setter in setters {
            writer.begin(layout)
            setter.set(&writer)
            if setter.fits.contains(type) {
                #expect(try RowReader(writer.finish(), layout).value(0) == setter.value)
                continue
            }
            let error = #expect(throws: RecordError.self) { _ = try writer.finish() }
            guard case .typeMismatch("T", "c", type, _) = error else {
                Issue.record("\(setter.value): \(String(describing: error))")
                continue
            }
        }
    }

    @Test func nothingGivenIsNull() throws {
        let layout = layout(all)
        let setters: [(inout RowWriter, Int) -> Void] = [
            { $0.set($1, Int64?.none) }, { $0.set($1, UInt64?.none) }, { $0.set($1, Double?.none) },
            { $0.setDate($1, nil) }, { $0.set($1, Bool?.none) }, { $0.set($1, String?.none) },
            { $0.set($1, [UInt8]?.none) },
        ]
        var writer = RowWriter()
        for (number, set) in setters.enumerated() {
            writer.begin(layout)
            for place in 0..<layout.count {
                writer.set(place, Seeded.sample(layout.type(place)))
                set(&writer, place)
            }
            let row = try RowReader(writer.finish(), layout)
            #expect((0..<layout.count).allSatisfy { row.isNull($0) }, "setter \(number)")
        }
    }

    @Test func typedReadersReadEachType() throws {
        let layout = layout(all)
        var writer = RowWriter()
        writer.begin(layout)
        for place in 0..<layout.count { writer.set(place, Seeded.sample(layout.type(place))) }
        let row = try RowReader(writer.finish(), layout)
        #expect(row.bool(0) && row.integer(1) == -3 && row.integer(2) == 0 && row.unsigned(2) == .max)
        #expect(row.unsigned(1) == 0 && row.double(3) == 0.5 && row.text(4) == "té" && row.blob(5) == [1, 2])
        #expect(row.date(6) == 7.5 && row.uuid(7) == (1, 2) && row.integer(8) == 9 && row.unsigned(99) == 0)
    }

    /// Positions outside the layout have no column: values set there are dropped.
    @Test func whatIsSetNowhereIsNotKept() throws {
        let layout = layout(all)
        var writer = RowWriter()
        for place in [-1, layout.count, .max] {
            writer.begin(layout)
            writer.set(place, Int64(1))
            writer.set(place, UInt64(1))
            writer.set(place, 1.5)
            writer.setDate(place, 1.5)
            writer.set(place, true)
            writer.setUUID(place, high: 1, low: 2)
            writer.set(place, "text")
            writer.set(place, [UInt8(1)])
            writer.setNull(place)
            writer.set(place, Value.integer(1))
            let row = try RowReader(writer.finish(), layout)
            #expect((0..<layout.count).allSatisfy { row.isNull($0) })
        }
        // A narrow row after a wide one, in the same memory.
        let wide = self.layout((0..<100).map { ColumnSchema("w\($0)", .integer, isOptional: true) })
        writer.begin(wide)
        writer.set(99, Int64(7))
        #expect(try RowReader(writer.finish(), wide).integer(99) == 7)
        writer.begin(layout)
        writer.set(1, Int64(8))
        #expect(try RowReader(writer.finish(), layout).value(1) == .integer(8))
        writer.begin(layout)
        writer.set(1, Value.text("x"))
        #expect(
            throws: RecordError.typeMismatch(table: "T", column: "c2", expected: .integer, found: "text 'x'")
        ) { _ = try writer.finish() }
    }

    @Test func aRowThatWasNotBegunIsAnError() throws {
        var writer = RowWriter()
        #expect(throws: RecordError.invalidKey(table: "", reason: "the row was not begun")) { _ = try writer.finish() }
        let draft = try writer.draft()
        #expect(draft == nil)
    }

    @Test func damagedBytesThrowAndNeverTrap() throws {
        var random = Seeded(3)
        let layout = layout(all)
        var writer = RowWriter()
        var refused = 0
        for _ in 0..<3000 {
            writer.begin(layout)
            for (index, type) in ColumnType.allCases.enumerated() { writer.set(index, random.value(type)) }
            var bytes = Array(try writer.finish())
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.chance(50) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
            // A copy of exactly these bytes, so that a read outside would be a fault under the address sanitizer.
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer { copy.deallocate() }
            copy.copyBytes(from: bytes)
            do {
                let reader = try RowReader(UnsafeRawBufferPointer(copy), layout)
                for index in 0..<layout.count { _ = reader.value(index) }
            } catch {
                guard case .rowDamaged = error else { throw error }
                refused += 1
            }
        }
        #expect(refused > 0 && refused < 3000, "some rows can be read, others are refused")
    }
}
