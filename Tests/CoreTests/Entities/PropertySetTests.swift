import MakoTestSupport
import Testing

@testable import MakoCore

/// Sets of properties beside a flag for each of the first 400 properties, and one for all behind.
@Suite struct PropertySetTests {
    private struct Plain: Equatable {
        var flags = [Bool](repeating: false, count: 400)
        var end = false

        func contains(_ property: Int) -> Bool { property < flags.count ? flags[property] : end }

        func combined(with other: Plain, _ operation: (Bool, Bool) -> Bool) -> Plain {
            Plain(flags: zip(flags, other.flags).map { operation($0, $1) }, end: operation(end, other.end))
        }
    }

    private func random(_ random: inout SplitMix) -> (PropertySet, Plain) {
        let isAll = Bool.random(using: &random)
        var set: PropertySet = isAll ? .all : .none
        var plain = Plain(flags: [Bool](repeating: isAll, count: 400), end: isAll)
        let limit = [10, 63, 64, 65, 128, 129, 300].randomElement(using: &random) ?? 64
        switch Int.random(in: 0..<4, using: &random) {
        case 0: break
        case 1:
            for property in 0..<limit {
                if isAll { set.remove(property) } else { set.insert(property) }
                plain.flags[property].toggle()
            }
        default:
            for _ in 0..<Int.random(in: 0..<200, using: &random) {
                let property = Int.random(in: 0..<limit, using: &random)
                let isIn = Bool.random(using: &random)
                if isIn { set.insert(property) } else { set.remove(property) }
                plain.flags[property] = isIn
            }
        }
        return (set, plain)
    }

    /// Also that equal sets are equal values, however they were made.
    private func expectSame(_ set: PropertySet, _ plain: Plain, _ comment: Comment) {
        #expect((0..<600).filter { set.contains($0) != plain.contains($0) }.isEmpty, comment)
        var other: PropertySet = plain.end ? .all : .none
        for property in (0..<400).reversed() {
            if plain.flags[property] { other.insert(property) } else { other.remove(property) }
        }
        #expect(set == other, comment)
        #expect(set.isEmpty == (!plain.end && !plain.flags.contains(true)), comment)
        #expect(set.isAll == (plain.end && !plain.flags.contains(false)), comment)
        let word = (0..<64).reduce(UInt64(0)) { $0 | (plain.flags[$1] ? 1 << UInt64($1) : 0) }
        #expect(set.firstWord == word && set.word(0) == word, comment)
        let hasFurther = plain.flags[64...].contains(true) || plain.end
        #expect(set.pendingBits & ~(1 << 63) == word & ~(1 << 63), comment)
        #expect(set.pendingBits >> 63 == 1 || !(plain.flags[63] || hasFurther), comment)
    }

    @Test func operationsAgreeWithPlainFlags() {
        var generator = SplitMix(seed: 7)
        for round in 0..<400 {
            let ((a, x), (b, y)) = (random(&generator), random(&generator))
            expectSame(a, x, "round \(round)")
            expectSame(a.union(b), x.combined(with: y) { $0 || $1 }, "union \(round)")
            expectSame(a.intersection(b), x.combined(with: y) { $0 && $1 }, "intersection \(round)")
            expectSame(a.subtracting(b), x.combined(with: y) { $0 && !$1 }, "difference \(round)")
            expectSame(a.symmetricDifference(b), x.combined(with: y) { $0 != $1 }, "symmetric difference \(round)")
            #expect(a.isDisjoint(with: b) == (x.combined(with: y) { $0 && $1 } == Plain()))
            if x.end { continue }
            var seen = Plain()
            a.forEachWord { word, start in
                for bit in 0..<64 where word >> UInt64(bit) & 1 == 1 { seen.flags[start + bit] = true }
            }
            #expect(seen == x)
        }
    }

    /// A word and no array, so that they allocate nothing.
    @Test func setsOfFewPropertiesAreOneWord() {
        var set = PropertySet.none
        for property in 0..<63 {
            set.insert(property)
            #expect(set.rest == nil && set.union(PropertySet(property)).rest == nil)
            #expect(PropertySet.all.subtracting(.none).rest == nil && set.subtracting(.all).isEmpty)
        }
        // The 64th makes the word that is the set of all, which this one is not.
        set.insert(63)
        #expect(!set.isAll && !set.contains(64) && set.firstWord == .max)
        set.remove(5)
        #expect(set.rest == nil)
    }

    @Test func setsBeforeAPositionHaveThosePositions() {
        for position in [0, 1, 63, 64, 65, 127, 128, 129, 1024] {
            let set = PropertySet(before: position)
            #expect((0..<1200).filter { set.contains($0) } == Array(0..<position))
        }
    }

    /// The metadata of an object: those of the first dozen, in a word, and in memory of their own.
    @Test func objectStatesTakeThreeWords() {
        #expect(MemoryLayout<ObjectState>.size <= 24)
        for count in [10, 64, 65, 1024] {
            var (state, plain) = (ObjectState(), Set<Int>())
            #expect(state.dirty.isAll && state.markDirty(count - 1))
            state.dirty = .none
            for property in (0..<count).shuffled() {
                #expect(!state.markDirty(property) && state.markDirty(property))
                plain.insert(property)
                if plain.count % 32 == 0 || plain.count > count - 3 {
                    #expect((0..<1100).filter { state.dirty.contains($0) } == plain.sorted())
                }
            }
            state.dirty.remove(count - 1)
            state.dirty.remove(0)
            #expect((0..<1100).filter { state.dirty.contains($0) } == Array(1..<count - 1))
            state.dirty = .none
            #expect(state.dirty.isEmpty)
        }
    }
}
