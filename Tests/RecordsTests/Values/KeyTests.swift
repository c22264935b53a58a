import Testing

@testable import MakoRecords

@Suite struct KeyTests {
    private func key(_ value: Value, descending: Bool = false, noCase: Bool = false) -> [UInt8] {
        var buffer = KeyBuffer()
        buffer.append(value, noCase: noCase)
        if descending { buffer.complement(from: 0) }
        return buffer.bytes
    }

    @Test(arguments: ColumnType.allCases)
    func orderOfKeysIsOrderOfValues(type: ColumnType) {
        var random = Seeded(UInt64(type.rawValue))
        for _ in 0..<4000 {
            let a: Value = random.chance(5) ? .null : random.value(type)
            let b: Value = random.chance(5) ? .null : random.value(type)
            // Null sorts first.
            let order = a.compare(b) ?? (a.isNull ? (b.isNull ? 0 : -1) : 1)
            #expect(KeyOrder.compareKeys(key(a), key(b)) == order, "\(a) \(b)")
            #expect(KeyOrder.compareKeys(key(a, descending: true), key(b, descending: true)) == -order, "\(a) \(b)")
        }
    }

    /// Written out, since the order of values is made of the same bits.
    @Test func doublesSortAsWrittenHere() {
        let ascending: [[Double]] = [
            [.nan, -.nan, .signalingNaN], [-.infinity], [-1e300], [-1.5], [-.leastNonzeroMagnitude], [-0.0, 0],
            [.leastNonzeroMagnitude], [1], [1.5], [.infinity],
        ]
        for (rank, equals) in ascending.enumerated() {
            for number in equals {
                for (otherRank, others) in ascending.enumerated() {
                    for other in others {
                        let order = rank < otherRank ? -1 : (rank == otherRank ? 0 : 1)
                        #expect(KeyOrder.compareKeys(key(.double(number)), key(.double(other))) == order)
                        #expect(Value.double(number).compare(.double(other)) == order, "\(number) \(other)")
                    }
                }
            }
        }
    }

    @Test func compositesSortColumnByColumn() {
        var random = Seeded(7)
        for _ in 0..<4000 {
            let a = [random.value(.text), random.value(.integer), random.value(.blob)]
            let b = [
                random.chance(40) ? a[0] : random.value(.text), random.chance(40) ? a[1] : random.value(.integer),
                random.value(.blob),
            ]
            var left = KeyBuffer()
            var right = KeyBuffer()
            for (index, (x, y)) in zip(a, b).enumerated() {
                let (startLeft, startRight) = (left.count, right.count)
                left.append(x)
                right.append(y)
                if index == 1 {
                    left.complement(from: startLeft)
                    right.complement(from: startRight)
                }
            }
            var order = 0
            for (index, (x, y)) in zip(a, b).enumerated() where order == 0 {
                order = (x.compare(y) ?? 0) * (index == 1 ? -1 : 1)
            }
            #expect(KeyOrder.compareKeys(left.bytes, right.bytes) == order, "\(a) \(b)")
        }
    }

    @Test func noCaseFormFoldsLettersAndKeepsPrefixes() {
        #expect(key(.text("ÄPFEL"), noCase: true) == key(.text("äpfel"), noCase: true))
        #expect(key(.text("ABC"), noCase: true) == key(.text("abc")))
        #expect(key(.text("straße"), noCase: true) != key(.text("strasse"), noCase: true))
        var random = Seeded(11)
        for _ in 0..<500 {
            let (a, b) = (random.text(), random.text())
            #expect(Array(Folding.folded(a + b).utf8) == Array(Folding.folded(a).utf8) + Array(Folding.folded(b).utf8))
        }
    }

    /// The table is Unicode's own, for all letters that both the table and this system's library know; it is the same on all systems.
    @Test func lowerCaseIsThatOfUnicode17() {
        var changed = 0
        var sum: UInt64 = 0
        for value in UInt32(0x80)...0x10FFFF {
            guard let letter = Unicode.Scalar(value) else { continue }
            let folded = Folding.folded(String(letter))
            if folded != String(letter) { changed += 1 }
            for byte in folded.utf8 { sum = sum &* 31 &+ UInt64(byte) }
            guard let age = letter.properties.age, age.major <= 17 else { continue }
            #expect(Array(folded.utf8) == Array(letter.properties.lowercaseMapping.utf8), "\(letter)")
        }
        #expect(changed == 1462)
        #expect(sum == 1_579_571_896_706_655_111)
    }

    @Test(arguments: ColumnType.allCases)
    func keysGiveTheirValuesBack(type: ColumnType) {
        var random = Seeded(100 + UInt64(type.rawValue))
        for _ in 0..<500 {
            let value = random.value(type)
            var decoder = KeyDecoder(key(value) + key(.integer(3)))
            #expect(decoder.next(type) == value)
            #expect(decoder.next(.integer) == .integer(3))
            #expect(decoder.isAtEnd)
        }
    }

    @Test func damagedKeysAreRefusedNotTrapped() {
        var random = Seeded(5)
        var refused = 0
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                random.pick([0, 1, 2, 3, 200] as [UInt8])
            }
            var decoder = KeyDecoder(bytes)
            while !decoder.isAtEnd, decoder.next(random.pick(ColumnType.allCases)) != nil {}
            if !decoder.isAtEnd { refused += 1 }
        }
        #expect(refused > 0 && refused < 5000, "some keys are whole, others are refused")
    }

    @Test func aKeyThatEndsEarlyIsRefused() throws {
        let schema = EntitySchema(
            name: "K", columns: ColumnType.allCases.map { ColumnSchema("\($0)", $0) },
            key: .columns(ColumnType.allCases.map { "\($0)" }))
        let values = ColumnType.allCases.map { Seeded.sample($0) }
        guard case .bytes(let bytes) = RowKey(values: values) else { return }
        #expect(try RowKey.bytes(bytes).values(in: schema) == values)
        for count in 0..<bytes.count {
            let error = Fixture.error { _ = try RowKey.bytes(Array(bytes.prefix(count))).values(in: schema) }
            guard case .invalidKey("K", _) = error else {
                Issue.record("\(count) bytes: \(String(describing: error))")
                continue
            }
        }
    }

    /// Merged key ranges have no key twice, and omit none.
    @Test func joinedRangesHoldEachKeyOnce() {
        var random = Seeded(21)
        for _ in 0..<2000 {
            func bytes() -> [UInt8] {
                (0..<Int.random(in: 0...2, using: &random)).map { _ in random.pick([0, 1, 254, 255] as [UInt8]) }
            }
            let ranges = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                random.chance(50)
                    ? KeyRange(prefix: bytes()) : KeyRange(lower: bytes(), upper: random.chance(20) ? nil : bytes())
            }
            let joined = KeyRange.merged(ranges)
            let letters: [[UInt8]] = [[], [0], [1], [254], [255]]
            for key in letters.flatMap({ first in letters.map { first + $0 } }) {
                func holds(_ range: KeyRange) -> Bool {
                    !KeyOrder.precedes(key, range.lower) && range.upper.map { KeyOrder.precedes(key, $0) } ?? true
                }
                #expect(joined.count(where: holds) == (ranges.contains(where: holds) ? 1 : 0), "\(ranges) \(key)")
            }
        }
    }

    @Test func unsignedAndSignedNumbersShareOneCoding() {
        #expect(KeyOrder.compareKeys(key(.integer(-1)), key(.unsigned(.max))) == -1)
        #expect(KeyOrder.compareKeys(key(.integer(.max)), key(.unsigned(1 << 63))) == -1)
    }

    @Test func theHashOfLongKeysNeverChanges() {
        let (high, low) = KeyHash.hash(Array("the quick brown fox".utf8)[...])
        let (other, _) = KeyHash.hash(Array("the quick brown fix".utf8)[...])
        #expect(high != other)
        #expect([high, low] == [664_506_116_042_116_212, 11_903_968_411_158_041_806])
    }
}
