import MakoStorage
import MakoTestSupport
import Testing

/// A store in memory with one tree, and the model that it is compared with.
private struct Pair {
    let store: Store
    let tree: Tree
    var model: ModelTree

    init(_ keys: KeyKind, cacheBytes: Int = 16 << 20) throws {
        var options = StoreOptions()
        options.cacheBytes = cacheBytes
        options.background = .manual
        options.logSegmentBytes = 1 << 20
        store = try Store.inMemory(options: options)
        tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        model = ModelTree(keys)
    }

    func expectEqualToModel() throws {
        try store.read { snapshot throws in
            let found = try ModelTree(reading: tree, of: snapshot)
            #expect(found == model)
            #expect(try snapshot.count(of: tree) == UInt64(model.count))
        }
        let report = try store.verify()
        #expect(report.isClean, "\(report.findings)")
    }
}

@Suite struct TreeTests {
    /// Keys that share long prefixes, begin one another, and hold every byte.
    private static func byteKey(_ random: inout SplitMix) -> [UInt8] {
        switch random.below(5) {
        case 0: Array("user/\(random.below(300))".utf8)
        case 1: Array("user/\(random.below(30))/address/street/\(random.below(9))".utf8)
        case 2: (0..<random.below(6)).map { _ in UInt8(random.below(4)) }
        case 3: [UInt8](repeating: 0xff, count: random.below(5)) + [UInt8(random.below(256))]
        default: [UInt8](repeating: 7, count: 300 + random.below(601))
        }
    }

    private static func integerKey(_ random: inout SplitMix) -> UInt64 {
        switch random.below(4) {
        case 0: UInt64(random.below(400))
        case 1: random.next() >> UInt64(random.below(60))
        case 2: .max - UInt64(random.below(100))
        default: 1 << UInt64(random.below(64))
        }
    }

    private static func value(_ random: inout SplitMix) -> [UInt8] {
        let bytes = [0, 1, 8, 40, 100, 100, 400, 1000][random.below(8)]
        if random.chance(1) { return ValueShape(bytes: 9000).value(seed: random.next()) }
        return ValueShape(bytes: bytes).value(seed: random.next())
    }

    @Test(arguments: 0..<8) func randomIntegerTreesAgreeWithTheModel(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var pair = try Pair(.integer)
        guard case .integers(var map) = pair.model else { return }
        for _ in 0..<12 {
            let deletes = random.below(100)
            let transaction = try pair.store.beginWrite()
            for _ in 0..<150 {
                let key = TreeTests.integerKey(&random)
                if random.chance(deletes) {
                    let victim = random.chance(70) && map.count > 0 ? map.keys[random.below(map.count)] : key
                    #expect(try transaction.delete(victim, in: pair.tree) == map.delete(victim))
                } else {
                    let value = TreeTests.value(&random)
                    if random.chance(30) {
                        let isNew = map[key] == nil
                        #expect(try transaction.insert(value, for: key, in: pair.tree) == isNew)
                        if isNew { map.put(value, for: key) }
                    } else {
                        try transaction.put(value, for: key, in: pair.tree)
                        map.put(value, for: key)
                    }
                }
            }
            let view = try ModelTree(reading: pair.tree, of: transaction.view)
            #expect(view == .integers(map))
            try transaction.commit()
            pair.model = .integers(map)
            try pair.expectEqualToModel()
        }
        try pair.store.close()
    }

    @Test(arguments: 0..<8) func randomByteTreesAgreeWithTheModel(seed: UInt64) throws {
        var random = SplitMix(seed: seed &+ 100)
        var pair = try Pair(.bytes)
        guard case .bytes(var map) = pair.model else { return }
        for _ in 0..<12 {
            let deletes = random.below(100)
            let transaction = try pair.store.beginWrite()
            for _ in 0..<120 {
                let key = ByteKey(TreeTests.byteKey(&random))
                if random.chance(deletes) {
                    let victim = random.chance(70) && map.count > 0 ? map.keys[random.below(map.count)] : key
                    #expect(try transaction.delete(victim.bytes, in: pair.tree) == map.delete(victim))
                } else {
                    let value = TreeTests.value(&random)
                    if random.chance(30) {
                        let isNew = map[key] == nil
                        #expect(try transaction.insert(value, for: key.bytes, in: pair.tree) == isNew)
                        if isNew { map.put(value, for: key) }
                    } else {
                        try transaction.put(value, for: key.bytes, in: pair.tree)
                        map.put(value, for: key)
                    }
                }
            }
            let view = try ModelTree(reading: pair.tree, of: transaction.view)
            #expect(view == .bytes(map))
            try transaction.commit()
            pair.model = .bytes(map)
            try pair.expectEqualToModel()
        }
        try pair.store.close()
    }

    /// With fences of several hundred bytes even an empty node may have no space for its neighbour's entries.
    @Test(arguments: 0..<8) func treesOfTheLongestKeysShrinkInAnyOrder(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var pair = try Pair(.bytes)
        let tree = pair.tree
        // Prefixes as long as a key, shared by all of them or by a few.
        let groups = 1 + Int(seed % 4)
        func key(_ number: Int) -> [UInt8] {
            let length = Limits.keyBytes - random.below(seed < 4 ? 1 : 400) - 4
            return [UInt8](repeating: UInt8(number % groups), count: length) + Array("\(1000 + number)".utf8)
        }
        let keys = (0..<60).map(key)
        try pair.store.write { transaction in
            for key in keys {
                try transaction.put([1, 2, 3], for: key, in: tree)
                pair.model.put([1, 2, 3], for: .bytes(key))
            }
        }
        try pair.expectEqualToModel()
        let order = seed % 3 == 0 ? keys : seed % 3 == 1 ? keys.reversed() : keys.shuffled(using: &random)
        for (count, key) in order.enumerated() {
            try pair.store.write { _ = try $0.delete(key, in: tree) }
            _ = pair.model.delete(.bytes(key))
            if count % 3 == 0 { try pair.expectEqualToModel() }
        }
        #expect(try pair.store.read { try $0.count(of: tree) } == 0)
    }

    /// A load in order fills inner nodes, so that one which loses its children finds no space beside it.
    @Test(arguments: [KeyKind.integer, .bytes]) func aWholeInnerNodeIsEmptiedBetweenFullOnes(kind: KeyKind) throws {
        var pair = try Pair(kind, cacheBytes: 64 << 20)
        let tree = pair.tree
        // Long entries, so that few keys make three levels.
        let value = [UInt8](repeating: 9, count: kind == .integer ? 900 : 780)
        func key(_ number: Int) -> ModelKey {
            kind == .integer ? .integer(UInt64(number)) : .bytes(ScriptRun.bytes(UInt64(number), length: 200))
        }
        func change(_ numbers: some Sequence<Int>, removing: Bool) throws {
            try pair.store.write { transaction in
                for number in numbers {
                    switch (key(number), removing) {
                    case (.integer(let key), false): try transaction.put(value, for: key, in: tree)
                    case (.bytes(let key), false): try transaction.put(value, for: key, in: tree)
                    case (.integer(let key), true): _ = try transaction.delete(key, in: tree)
                    case (.bytes(let key), true): _ = try transaction.delete(key, in: tree)
                    }
                    if removing {
                        _ = pair.model.delete(key(number))
                    } else {
                        pair.model.put(value, for: key(number))
                    }
                }
            }
            try pair.expectEqualToModel()
        }
        let count = 3500
        try change(0..<count, removing: false)
        for part in [1000..<2400, 2600..<3499, 100..<900] {
            try change(part, removing: true)
            try change(stride(from: part.lowerBound, to: part.upperBound, by: 7), removing: false)
        }
        try change(0..<count, removing: true)
        #expect(pair.model.count == 0)
        try change(stride(from: 5, to: 50, by: 5), removing: false)
    }

    @Test func ascendingDescendingAndScatteredLoadsAreWhole() throws {
        let orders: [[UInt64]] = [
            Array(1...3000), Array((1...3000).reversed()), (1...3000).map { $0 &* 2_654_435_761 % 100_000 },
        ]
        for order in orders {
            var pair = try Pair(.integer)
            var map = SortedMap<UInt64>()
            try pair.store.write { transaction throws in
                for key in order {
                    let value = ValueShape(bytes: 40).value(seed: key)
                    try transaction.put(value, for: key, in: pair.tree)
                    map.put(value, for: key)
                }
            }
            pair.model = .integers(map)
            try pair.expectEqualToModel()
            try pair.store.write { transaction throws in
                for key in order.dropFirst(5) { _ = try transaction.delete(key, in: pair.tree) }
            }
            for key in order.dropFirst(5) { _ = map.delete(key) }
            pair.model = .integers(map)
            try pair.expectEqualToModel()
            try pair.store.close()
        }
    }

    @Test(arguments: [KeyKind.integer, .bytes]) func cursorsMoveInBothDirections(kind: KeyKind) throws {
        var random = SplitMix(seed: 9)
        let pair = try Pair(kind)
        let numbers = Set((0..<1500).map { _ in UInt64(random.below(20_000)) }).sorted()
        func bytes(_ number: UInt64) -> [UInt8] { ScriptRun.bytes(number, length: 30) }
        try pair.store.write { transaction throws in
            for number in numbers {
                let value = Array("\(number)".utf8)
                if kind == .integer {
                    try transaction.put(value, for: number, in: pair.tree)
                } else {
                    try transaction.put(value, for: bytes(number), in: pair.tree)
                }
            }
        }
        let snapshot = try pair.store.snapshot()
        var cursor = try snapshot.cursor(in: pair.tree)
        var down: [UInt64] = []
        var isThere = try cursor.last()
        while isThere {
            down.append(try #require(UInt64(String(decoding: try cursor.value(), as: UTF8.self))))
            isThere = try cursor.previous()
        }
        #expect(down == numbers.reversed())

        for _ in 0..<300 {
            let target = UInt64(random.below(20_200))
            var place = numbers.firstIndex { $0 >= target } ?? numbers.count
            let found = kind == .integer ? try cursor.seek(target) : try cursor.seek(bytes(target))
            #expect(found == (place < numbers.count))
            guard found else { continue }
            for _ in 0..<random.below(40) {
                #expect(kind == .integer ? cursor.integerKey == numbers[place] : cursor.key == bytes(numbers[place]))
                #expect(try cursor.value() == Array("\(numbers[place])".utf8))
                if random.chance(50) {
                    place += 1
                    #expect(try cursor.next() == (place < numbers.count))
                } else {
                    place -= 1
                    #expect(try cursor.previous() == (place >= 0))
                }
                guard numbers.indices.contains(place) else { break }
            }
        }
        snapshot.close()
        try pair.store.close()
    }

    @Test func aCursorFindsTheLastKeyThatIsNotBehindAnother() throws {
        var random = SplitMix(seed: 31)
        let pair = try Pair(.bytes)
        let keys = (0..<400).map { _ in Self.byteKey(&random) }
        try pair.store.write { transaction throws in
            var model: [[UInt8]: [UInt8]] = [:]
            var cursor = try transaction.view.cursor(in: pair.tree)
            for number in 0..<1500 {
                // Some keys after each other lie in one leaf, and now and then it changes between them.
                let sought = random.chance(50) ? keys[number % keys.count] : Self.byteKey(&random)
                if random.chance(25) {
                    if random.chance(70) {
                        let value = Array("\(number)".utf8)
                        try transaction.put(value, for: sought, in: pair.tree)
                        model[sought] = value
                    } else {
                        let isGone = try transaction.delete(sought, in: pair.tree)
                        let wasThere = model.removeValue(forKey: sought) != nil
                        #expect(isGone == wasThere)
                    }
                }
                func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }
                let wanted = model.keys.filter { !precedes(sought, $0) }.max(by: precedes)
                let found = try sought.withUnsafeBytes { try cursor.seek(notBehind: $0) }
                #expect(found == (wanted != nil))
                #expect(cursor.key == wanted ?? [])
                #expect(try cursor.value() == wanted.flatMap { model[$0] } ?? [])
                if random.chance(30) {
                    let next = model.keys.filter { precedes(sought, $0) || $0 == sought }.min(by: precedes)
                    #expect(try cursor.seek(sought) == (next != nil))
                    #expect(cursor.key == next ?? [])
                }
            }
        }
        try pair.store.close()
    }

    @Test func cursorsOfEmptyTreesFindNothing() throws {
        for kind in [KeyKind.integer, .bytes] {
            let pair = try Pair(kind)
            try pair.store.read { snapshot throws in
                var cursor = try snapshot.cursor(in: pair.tree)
                #expect(try !cursor.first())
                #expect(try !cursor.last())
                #expect(try kind == .integer ? !cursor.seek(0) : !cursor.seek([]))
            }
            try pair.store.close()
        }
    }

    /// A transaction finds a key in the leaf that it changed last without going down to it, where the key belongs there.
    @Test func aTransactionReadsWhatItChangedLast() throws {
        let pair = try Pair(.integer)
        var random = SplitMix(seed: 9)
        var model: [UInt64: [UInt8]] = [:]
        try pair.store.write { transaction throws in
            for round in 0..<8000 {
                let key = UInt64(round % 3000 + random.below(4)) * 2 + 10
                if random.chance(20) {
                    _ = try transaction.delete(key, in: pair.tree)
                    model[key] = nil
                } else {
                    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 20 + random.below(200))
                    try transaction.put(value, for: key, in: pair.tree)
                    model[key] = value
                }
                for near in [key, key - 2, key + 2, key - 1, key &- 120, key + 120, UInt64(random.below(6100))] {
                    let read = try transaction.withValue(of: near, in: pair.tree) { [UInt8]($0) }
                    #expect(read == model[near])
                    #expect(try transaction.view.withValue(of: near, in: pair.tree) { [UInt8]($0) } == model[near])
                }
            }
        }
        try pair.store.close()
    }

    @Test func manyKeysAreReadInTheirOrder() throws {
        let pair = try Pair(.integer)
        try pair.store.write { transaction throws in
            for key in stride(from: UInt64(0), to: 6000, by: 2) {
                try transaction.put(Array("v\(key)".utf8), for: key, in: pair.tree)
            }
            try transaction.put(ValueShape(bytes: 20_000).value(seed: 1), for: 7001, in: pair.tree)
        }
        var random = SplitMix(seed: 5)
        let keys = (0..<700).map { _ in UInt64(random.below(6100)) } + [7001, 7001, .max, 0]
        try pair.store.read { snapshot throws in
            var seen: [Int] = []
            try snapshot.withValues(of: keys, in: pair.tree) { index, value in
                seen.append(index)
                let expected: [UInt8]? =
                    keys[index] == 7001
                    ? ValueShape(bytes: 20_000).value(seed: 1)
                    : keys[index] % 2 == 0 && keys[index] < 6000 ? Array("v\(keys[index])".utf8) : nil
                #expect(value.map { [UInt8]($0) } == expected)
            }
            #expect(seen == Array(keys.indices))
            try snapshot.withValues(of: [UInt64](), in: pair.tree) { _, _ in Issue.record("no key was given") }
        }
        try pair.store.close()
    }

    @Test func manyKeysOfBytesAreReadInTheirOrder() throws {
        func bytes(_ number: UInt64) -> [UInt8] { ScriptRun.bytes(number, length: 30) }
        let pair = try Pair(.bytes)
        let large = ValueShape(bytes: 20_000).value(seed: 1)
        try pair.store.write { transaction throws in
            for number in stride(from: UInt64(0), to: 6000, by: 2) {
                try transaction.put(Array("v\(number)".utf8), for: bytes(number), in: pair.tree)
            }
            try transaction.put(large, for: [], in: pair.tree)
        }
        var random = SplitMix(seed: 5)
        let numbers = (0..<700).map { _ in UInt64(random.below(6100)) }
        let keys = numbers.map { bytes($0) } + [[], [], [UInt8](repeating: 7, count: 2000)]
        try pair.store.read { snapshot throws in
            var seen: [Int] = []
            try snapshot.withValues(of: keys, in: pair.tree) { index, value in
                seen.append(index)
                var expected: [UInt8]?
                if index < numbers.count {
                    let number = numbers[index]
                    expected = number % 2 == 0 && number < 6000 ? Array("v\(number)".utf8) : nil
                } else {
                    expected = keys[index].isEmpty ? large : nil
                }
                #expect(value.map { [UInt8]($0) } == expected)
            }
            #expect(seen == Array(keys.indices))
            try snapshot.withValues(of: [[UInt8]](), in: pair.tree) { _, _ in Issue.record("no key was given") }
            #expect(throws: StorageError.wrongKeyKind(tree: "number \(pair.tree.id)", expected: .bytes)) {
                try snapshot.withValues(of: [UInt64(1)], in: pair.tree) { _, _ in }
            }
        }
        try pair.store.close()
    }

    /// Some of the keys come twice, some are not there, some have large values.
    @Test(arguments: [KeyKind.integer, .bytes], [false, true])
    func manyKeysAreDeletedTogether(kind: KeyKind, isBorrowed: Bool) throws {
        if kind == .integer && isBorrowed { return }
        func bytes(_ number: UInt64) -> [UInt8] { ScriptRun.bytes(number, length: 30) }
        let pair = try Pair(kind)
        let present = Array(stride(from: UInt64(0), to: 6000, by: 2))
        func put(_ value: [UInt8], _ number: UInt64, _ transaction: borrowing WriteTransaction) throws {
            if kind == .integer {
                try transaction.put(value, for: number, in: pair.tree)
            } else {
                try transaction.put(value, for: bytes(number), in: pair.tree)
            }
        }
        func delete(_ numbers: [UInt64], _ transaction: borrowing WriteTransaction) throws -> Int {
            if kind == .integer { return try transaction.delete(keys: numbers, in: pair.tree) }
            guard isBorrowed else { return try transaction.delete(keys: numbers.map { bytes($0) }, in: pair.tree) }
            let places = numbers.indices.map { $0 * 30..<$0 * 30 + 30 }
            return try numbers.flatMap { bytes($0) }.withUnsafeBytes { all in
                try transaction.delete(keys: places.map { UnsafeRawBufferPointer(rebasing: all[$0]) }, in: pair.tree)
            }
        }
        try pair.store.write { transaction throws in
            #expect(try delete([1, 2, 3], transaction) == 0, "an empty tree")
            for number in present {
                try put([UInt8](repeating: 1, count: number % 500 == 0 ? 10_000 : 30), number, transaction)
            }
        }
        var random = SplitMix(seed: 11)
        var rest = Set(present)
        for count in [0, 1, 31, 32, 33, 1500] {
            let numbers = (0..<count).map { _ in UInt64(random.below(6100)) }
            try pair.store.write { transaction throws in
                // One that waits, and goes with the others.
                try put([7], 1 + UInt64(count) * 2, transaction)
                rest.insert(1 + UInt64(count) * 2)
                let gone = rest.intersection(numbers + [1 + UInt64(count) * 2])
                #expect(try delete(numbers + [1 + UInt64(count) * 2], transaction) == gone.count)
                rest.subtract(gone)
            }
        }
        try pair.store.write { transaction throws in
            // One after the other: leaves that were found for a group are merged before its last keys come.
            let numbers = rest.sorted().dropLast(300)
            #expect(try delete(Array(numbers), transaction) == numbers.count)
            rest.subtract(numbers)
        }
        try pair.store.read { snapshot throws in
            var found: Set<UInt64> = []
            if kind == .integer {
                try snapshot.forEach(in: pair.tree) { key, _ in found.insert(key).inserted }
            } else {
                for number in 0..<UInt64(6100) where try snapshot.get(bytes(number), in: pair.tree) != nil {
                    found.insert(number)
                }
            }
            #expect(found == rest)
            #expect(try snapshot.count(of: pair.tree) == UInt64(rest.count))
        }
        #expect(try pair.store.verify().isClean)
        try pair.store.close()
    }

    /// Three to a page, and no page for each.
    @Test(arguments: [KeyKind.integer, .bytes]) func aKibibyteStaysInItsLeaf(kind: KeyKind) throws {
        let pair = try Pair(kind)
        try pair.store.write { transaction throws in
            for number in UInt64(0)..<900 {
                let value = ValueShape(bytes: 1024).value(seed: number)
                if kind == .integer {
                    try transaction.put(value, for: number, in: pair.tree)
                } else {
                    try transaction.put(value, for: ScriptRun.bytes(number, length: 20), in: pair.tree)
                }
            }
        }
        #expect(pair.store.stats.livePages < 900 / 3 + 50)
        try pair.store.close()
    }

    /// Records about as large as a leaf takes, among keys that make the longest fences: put, loaded, replaced and deleted in no order.
    @Test func recordsAtTheLimitFitBesideLongKeys() throws {
        let pair = try Pair(.bytes)
        var random = SplitMix(seed: 21)
        var model: [[UInt8]: [UInt8]] = [:]
        func key() -> [UInt8] {
            let length = random.chance(50) ? 900 - random.below(3) : 1 + random.below(30)
            // Alike up to the end, so that separators are as long as the keys.
            return [UInt8](repeating: 5, count: length - 1) + [UInt8(random.below(250))]
        }
        func value() -> [UInt8] {
            ValueShape(bytes: random.chance(60) ? 400 + random.below(1000) : random.below(60)).value(
                seed: random.next())
        }
        for _ in 0..<60 {
            try pair.store.write { transaction throws in
                for _ in 0..<20 {
                    if random.chance(25), let gone = model.keys.randomElement(using: &random) {
                        #expect(try transaction.delete(gone, in: pair.tree))
                        model[gone] = nil
                    } else {
                        let (key, value) = (key(), value())
                        try transaction.put(value, for: key, in: pair.tree)
                        model[key] = value
                    }
                }
            }
        }
        let ordered = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        let copy = try pair.store.write { transaction throws in
            let copy = try transaction.createTree(named: "copy", keys: .bytes)
            try transaction.bulkLoad(into: copy) { loader in
                for entry in ordered { try loader.append(entry.value, for: entry.key) }
            }
            return copy
        }
        for tree in [pair.tree, copy] {
            try pair.store.read { snapshot throws in
                var found: [[UInt8]: [UInt8]] = [:]
                try snapshot.forEach(in: tree, from: []) { key, value in
                    found[[UInt8](key)] = [UInt8](value)
                    return true
                }
                #expect(found == model)
            }
        }
        #expect(try pair.store.verify().isClean)
        try pair.store.close()
    }

    @Test(arguments: [0, 1, 40, 2000]) func gatheredValuesStayUntilTheyAreDealtWith(count: UInt64) throws {
        let pair = try Pair(.integer)
        // Every hundredth lies on pages of its own.
        func value(_ key: UInt64) -> [UInt8] {
            [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: key % 100 == 99 ? 9000 : 20)
        }
        try pair.store.write { transaction throws in
            for key in 0..<count { try transaction.put(value(key), for: key, in: pair.tree) }
        }
        try pair.store.read { snapshot throws in
            for (start, end) in [(0, count), (count / 2, count), (0, count / 2)] {
                var held: [UnsafeRawBufferPointer] = []
                var found: [[UInt8]] = []
                var next = start
                try snapshot.forEach(
                    in: pair.tree, from: start,
                    { key, value in
                        if key >= end { return false }
                        #expect(key == next)
                        next += 1
                        held.append(value)
                        return true
                    },
                    finish: {
                        found += held.map { [UInt8]($0) }
                        held = []
                    })
                #expect(held.isEmpty && found == (start..<max(start, end)).map(value))
            }
        }
        try pair.store.close()
    }

    @Test(arguments: [0, 1, 1000, 1900, 2100, 4000, 4096, 8192, 40_000, 1_000_000])
    func valuesOfEverySizeComeBack(bytes: Int) throws {
        let pair = try Pair(.bytes)
        for isCompressible in [false, true] {
            let value = ValueShape(bytes: bytes, isCompressible: isCompressible).value(seed: 3)
            try pair.store.write { try $0.put(value, for: [1], in: pair.tree) }
            try pair.store.read { snapshot throws in
                #expect(try snapshot.get([1], in: pair.tree) == value)
                let length = try snapshot.withValue(of: [1], in: pair.tree) { $0.count }
                #expect(length == bytes)
                var cursor = try snapshot.cursor(in: pair.tree)
                #expect(try cursor.first())
                #expect(try cursor.value() == value)
            }
        }
        let wasThere = try pair.store.write { try $0.delete([1], in: pair.tree) }
        #expect(wasThere)
        #expect(try pair.store.verify().isClean)
        try pair.store.close()
    }

    /// A large value that becomes a small one in a leaf without space for it.
    @Test(arguments: [KeyKind.integer, .bytes]) func aLargeValueThatShrinksFreesItsPagesOnce(kind: KeyKind) throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: kind) }
        func put(_ bytes: Int, _ number: UInt64, _ transaction: borrowing WriteTransaction) throws {
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
            if kind == .integer {
                try transaction.put(value, for: number, in: tree)
            } else {
                try transaction.put(value, for: Array("\(1000 + number)".utf8), in: tree)
            }
        }
        for _ in 0..<6 {
            try store.write { transaction throws in
                for number in 0..<UInt64(40) { try put(number % 5 == 4 ? 9000 : 880, number * 10, transaction) }
            }
            try store.write { transaction throws in
                for number in stride(from: UInt64(4), to: 40, by: 5) {
                    // A new entry beside it makes the leaf the one that is remembered.
                    try put(1, number * 10 - 1, transaction)
                    try put(900, number * 10, transaction)
                }
            }
            let report = try store.verify()
            #expect(report.isClean, "\(report.findings)")
            try store.write { try $0.deleteAll(in: tree) }
        }
        try store.close()
    }

    /// Trees of three levels and more lose nearly everything; inner nodes merge meanwhile.
    @Test(arguments: [KeyKind.integer, .bytes]) func deepTreesShrinkWhole(kind: KeyKind) throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: kind) }
        let count: UInt64 = kind == .integer ? 2400 : 1500
        let padding = String(repeating: "x", count: 90)
        func key(_ number: UInt64) -> [UInt8] { Array("\(100_000 + number) \(padding)".utf8) }
        try store.write { transaction throws in
            for number in 0..<count {
                let place = number &* 1_000_003 % count
                if kind == .integer {
                    try transaction.put([UInt8](repeating: 1, count: 850), for: place * 3, in: tree)
                } else {
                    try transaction.put([UInt8](repeating: 1, count: 300), for: key(place), in: tree)
                }
            }
        }
        #expect(try store.read { $0.trees[0].levels } >= 3)
        var kept = Set(0..<count)
        for step in [UInt64(7), 5, 3, 2] {
            try store.write { transaction throws in
                for number in 0..<count where kept.contains(number) && number / 40 % step != 0 {
                    kept.remove(number)
                    let wasThere =
                        kind == .integer
                        ? try transaction.delete(number * 3, in: tree) : try transaction.delete(key(number), in: tree)
                    #expect(wasThere, "\(number)")
                }
            }
            let report = try store.verify()
            #expect(report.isClean, "\(report.findings)")
            try store.read { snapshot throws in
                #expect(try snapshot.count(of: tree) == UInt64(kept.count))
                for number in 0..<count {
                    let value =
                        kind == .integer
                        ? try snapshot.get(number * 3, in: tree) : try snapshot.get(key(number), in: tree)
                    #expect((value != nil) == kept.contains(number), "\(number)")
                }
                // A scan from the front and from the middle.
                for start in [0, count / 2] {
                    var scanned: [UInt64] = []
                    if kind == .integer {
                        try snapshot.forEach(in: tree, from: start * 3) { key, _ in
                            scanned.append(key / 3)
                            return true
                        }
                    } else {
                        try snapshot.forEach(in: tree, from: key(start)) { bytes, _ in
                            scanned.append(
                                UInt64(String(decoding: bytes.prefix(6), as: UTF8.self)).map { $0 - 100_000 } ?? 0)
                            return true
                        }
                    }
                    #expect(scanned == kept.filter { $0 >= start }.sorted())
                }
            }
        }
        try store.close()
    }

    @Test func limitsAreErrorsAndChangeNothing() throws {
        let pair = try Pair(.bytes)
        let integers = try pair.store.write { try $0.createTree(named: "i", keys: .integer) }
        try pair.store.write { transaction throws in
            try transaction.put([1], for: [UInt8](repeating: 1, count: 900), in: pair.tree)
            #expect(throws: StorageError.keyTooLong(bytes: 901, limit: 900)) {
                try transaction.put([1], for: [UInt8](repeating: 1, count: 901), in: pair.tree)
            }
            #expect(throws: StorageError.treeExists("t")) {
                _ = try transaction.createTree(named: "t", keys: .integer)
            }
            #expect(throws: StorageError.self) { try transaction.put([1], for: 5, in: pair.tree) }
            #expect(throws: StorageError.self) { try transaction.put([1], for: [5], in: integers) }
            try transaction.put([2], for: [], in: pair.tree)
        }
        try pair.store.read { snapshot throws in
            #expect(try snapshot.count(of: pair.tree) == 2)
            #expect(try snapshot.get([], in: pair.tree) == [2])
            #expect(throws: StorageError.self) { _ = try snapshot.get(5, in: pair.tree) }
        }
        try pair.store.write { try $0.dropTree(integers) }
        try pair.store.read { snapshot throws in
            #expect(snapshot.tree(named: "i") == nil)
            #expect(throws: StorageError.self) { _ = try snapshot.get(1, in: integers) }
        }
        try pair.store.close()
        #expect(throws: StorageError.closed(path: pair.store.path)) { _ = try pair.store.snapshot() }
        #expect(throws: StorageError.closed(path: pair.store.path)) { _ = try pair.store.beginWrite() }
    }

    @Test func aCursorFollowsTheTransactionThatChangesItsTree() throws {
        let pair = try Pair(.integer)
        try pair.store.write { transaction throws in
            for key in UInt64(1)...500 { try transaction.put([1], for: key * 10, in: pair.tree) }
            var cursor = try transaction.view.cursor(in: pair.tree)
            #expect(try cursor.seek(100))
            try transaction.put([2], for: 101, in: pair.tree)
            #expect(try cursor.next())
            #expect(cursor.integerKey == 101)
            #expect(try transaction.delete(110, in: pair.tree))
            #expect(try cursor.next())
            #expect(cursor.integerKey == 120)
            for key in UInt64(130)...4000 where key % 10 == 0 { _ = try transaction.delete(key, in: pair.tree) }
            #expect(try cursor.next())
            #expect(cursor.integerKey == 4010)
            #expect(try cursor.previous())
            #expect(cursor.integerKey == 120)
            // The entry under the cursor is deleted: its neighbours are those of its former place.
            _ = try transaction.delete(120, in: pair.tree)
            #expect(try cursor.next())
            #expect(cursor.integerKey == 4010)
            _ = try transaction.delete(4010, in: pair.tree)
            #expect(try cursor.previous())
            #expect(cursor.integerKey == 101)
        }
        try pair.store.close()
    }
}

@Suite struct TransactionTests {
    @Test func savepointsRollBackWhatCameAfterThem() throws {
        var pair = try Pair(.integer)
        var random = SplitMix(seed: 1)
        var map = SortedMap<UInt64>()
        for _ in 0..<10 {
            let transaction = try pair.store.beginWrite()
            var saved: [(Savepoint, SortedMap<UInt64>)] = []
            for _ in 0..<30 {
                switch random.below(4) {
                case 0: saved.append((transaction.savepoint(), map))
                case 1 where !saved.isEmpty:
                    let index = random.below(saved.count)
                    try transaction.rollback(to: saved[index].0)
                    map = saved[index].1
                    saved.removeLast(saved.count - index - 1)
                case 2 where !saved.isEmpty:
                    let index = random.below(saved.count)
                    try transaction.release(saved[index].0)
                    #expect(throws: StorageError.self) { try transaction.rollback(to: saved[index].0) }
                    saved.removeLast(saved.count - index)
                default:
                    for _ in 0..<random.below(60) {
                        let key = UInt64(random.below(800))
                        if random.chance(40) {
                            #expect(try transaction.delete(key, in: pair.tree) == map.delete(key))
                        } else {
                            let value = ValueShape(bytes: random.below(300)).value(seed: random.next())
                            try transaction.put(value, for: key, in: pair.tree)
                            map.put(value, for: key)
                        }
                    }
                }
                #expect(try ModelTree(reading: pair.tree, of: transaction.view) == .integers(map))
            }
            try transaction.commit()
            pair.model = .integers(map)
            try pair.expectEqualToModel()
        }
        try pair.store.close()
    }

    @Test func treesComeAndGoWithTheirSavepoint() throws {
        let store = try Store.inMemory()
        let transaction = try store.beginWrite()
        let kept = try transaction.createTree(named: "kept", keys: .integer)
        try transaction.put([1], for: 1, in: kept)
        let savepoint = transaction.savepoint()
        _ = try transaction.createTree(named: "t", keys: .integer)
        try transaction.dropTree(kept)
        #expect(transaction.view.trees.map(\.name) == ["t"])
        try transaction.rollback(to: savepoint)
        #expect(transaction.view.trees.map(\.name) == ["kept"])
        #expect(transaction.view.tree(named: "t") == nil)
        // The name is free again, also for a tree of another kind.
        let tree = try transaction.createTree(named: "t", keys: .bytes)
        try transaction.put([2], for: [7], in: tree)
        try transaction.commit()
        try store.read { snapshot throws in
            #expect(snapshot.trees.map(\.name) == ["kept", "t"])
            #expect(try snapshot.get(1, in: kept) == [1])
            #expect(try snapshot.get([7], in: tree) == [2])
        }
        #expect(try store.verify().isClean)
        try store.close()
    }

    @Test func whatIsNotCommittedIsGone() throws {
        let pair = try Pair(.integer)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try pair.store.write { transaction throws in
                try transaction.put([1], for: 1, in: pair.tree)
                _ = try transaction.createTree(named: "u", keys: .bytes)
                throw Stop()
            }
        }
        func drop() throws {
            let transaction = try pair.store.beginWrite()
            try transaction.put([1], for: 2, in: pair.tree)
        }
        try drop()
        let transaction = try pair.store.beginWrite()
        try transaction.put([1], for: 3, in: pair.tree)
        transaction.rollback()
        try pair.expectEqualToModel()
        #expect(try pair.store.read { $0.trees.map(\.name) } == ["t"])
        try pair.store.close()
    }

    @Test func aViewThatIsKeptEndsWithItsTransaction() throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let closed = StorageError.closed(path: ":memory:")
        var kept: [Snapshot] = []
        for round: UInt8 in 1...4 {
            try store.write { transaction throws in
                // Made before the changes, or after them.
                if round % 2 == 0 { kept.append(transaction.view) }
                try transaction.put([round], for: 1, in: tree)
                #expect(try transaction.view.get(1, in: tree) == [round])
                if round % 2 == 1 { kept.append(transaction.view) }
                #expect(kept.last === transaction.view)
                for old in kept.dropLast() { #expect(throws: closed) { try old.get(1, in: tree) } }
            }
            // One without a view in between.
            try store.write { try $0.put([0], for: 1, in: tree) }
            for old in kept { #expect(throws: closed) { try old.get(1, in: tree) } }
        }
        #expect(try store.read { try $0.get(1, in: tree) } == [0])
    }

    @Test func aTransactionThatIsOverHasAViewThatAnswersNothing() throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let transaction = try store.beginWrite()
        try transaction.put([1], for: 1, in: tree)
        try transaction.commitKeepingLock(durability: nil, isShown: true)
        #expect(throws: StorageError.closed(path: store.path)) { try transaction.view.get(1, in: tree) }
        #expect(transaction.view.trees.isEmpty && transaction.view.tree(named: "t") == nil)
        transaction.rollback()
        #expect(try store.read { try $0.get(1, in: tree) } == [1])
    }

    @Test func snapshotsStayAsTheyWere() throws {
        var random = SplitMix(seed: 2)
        var options = StoreOptions()
        options.background = .manual
        options.cacheBytes = 256 << 10
        let store = try Store.inMemory(options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var map = SortedMap<UInt64>()
        var kept: [(Snapshot, SortedMap<UInt64>)] = []
        for round in 0..<40 {
            try store.write { transaction throws in
                for _ in 0..<40 {
                    let key = UInt64(random.below(600))
                    if random.chance(40) {
                        _ = try transaction.delete(key, in: tree)
                        _ = map.delete(key)
                    } else {
                        let value = ValueShape(bytes: random.below(200)).value(seed: random.next())
                        try transaction.put(value, for: key, in: tree)
                        map.put(value, for: key)
                    }
                }
            }
            if round % 3 == 0 { kept.append((try store.snapshot(), map)) }
            if round % 7 == 0 { try store.checkpoint() }
            if kept.count > 5 { kept.remove(at: random.below(kept.count)) }
            for (snapshot, expected) in kept {
                #expect(try ModelTree(reading: tree, of: snapshot) == .integers(expected))
            }
        }
        let numbers = kept.map { $0.0.commitNumber }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        kept[0].0.close()
        #expect(throws: StorageError.closed(path: store.path)) { _ = try kept[0].0.get(1, in: tree) }
        kept = []
        try store.checkpoint()
        #expect(try store.verify().isClean)
        try store.close()
    }

    @Test func aStoreLargerThanItsMemoryWorks() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.cacheBytes = 128 << 10
        options.logSegmentBytes = 256 << 10
        let store = try Store(at: "d/large.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        func key(_ number: Int) -> [UInt8] { ScriptRun.bytes(UInt64(number &* 7919 % 4001), length: 12) }
        for part in 0..<8 {
            try store.write { transaction throws in
                for number in part * 500..<part * 500 + 500 {
                    try transaction.put(
                        ValueShape(bytes: 300).value(seed: UInt64(number)), for: key(number), in: tree)
                }
            }
        }
        #expect((disk.contents(of: "d/large.mako")?.count ?? 0) > 4 * options.cacheBytes)
        try store.read { snapshot throws in
            for number in stride(from: 0, to: 4000, by: 3) {
                #expect(try snapshot.get(key(number), in: tree) == ValueShape(bytes: 300).value(seed: UInt64(number)))
            }
        }
        #expect(try store.verify().isClean)
        try store.close()
        let again = try Store(at: "d/large.mako", options: options)
        #expect(try again.read { try $0.count(of: tree) } == 4000)
        try again.close()
    }

    @Test func aSecondWriterTimesOut() throws {
        var options = StoreOptions()
        options.writerTimeout = .milliseconds(30)
        let store = try Store.inMemory(options: options)
        let first = try store.beginWrite()
        let thread = try startThread(name: "second writer") {
            do throws(StorageError) {
                _ = try store.beginWrite()
                Issue.record("two writers at once")
            } catch {
                #expect(error == .writerTimeout(seconds: 0.03))
            }
        }
        thread.join()
        first.rollback()
        try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
        try store.close()
    }
}
