import MakoStorage

extension Script {
    /// A random workload over trees that may exist already: `trees` is kept up to date.
    package static func random(
        seed: UInt64, steps count: Int, trees: inout [String: KeyKind], name: String = "random",
        cipher: Encryption.Cipher? = nil
    ) -> Script {
        var generator = ScriptGenerator(random: SplitMix(seed: seed), trees: trees, part: seed)
        var script = Script(name: "\(name) \(seed)", steps: [])
        script.cipher = cipher
        generator.isEncrypted = cipher != nil
        var settings = SplitMix(seed: seed &+ 1)
        script.logSegmentBytes = [16 << 10, 32 << 10, 128 << 10][settings.below(3)]
        script.cacheBytes = [256 << 10, 1 << 20, 8 << 20][settings.below(3)]
        script.sectorBytes = settings.chance(50) ? 512 : 4096
        while script.steps.count < count { script.steps += generator.next() }
        trees = generator.trees
        return script
    }
}

/// Draws one step, or one transaction, after the other.
private struct ScriptGenerator {
    var random: SplitMix
    var trees: [String: KeyKind]
    private var snapshots = 0
    private var copies = 0
    var isEncrypted = false

    /// Copies of several scripts on one disk must differ in their names.
    private let part: UInt64

    init(random: SplitMix, trees: [String: KeyKind], part: UInt64) {
        self.random = random
        self.trees = trees
        self.part = part
    }

    mutating func next() -> [ScriptStep] {
        switch random.below(100) {
        case 0..<6: return [.checkpoint]
        case 6..<14: return [.step(1 + random.below(4))]
        case 14..<16: return [.tick([1, 30, 120][random.below(3)]), .step(1 + random.below(3))]
        case 16..<20: return [.reopen]
        case 20..<24:
            snapshots += 1
            return [.snapshot("s\(snapshots % 3)")]
        case 24..<26: return [.verify]
        case 26: return [[.shrink, .step(30)][random.below(2)]]
        case 27:
            copies += 1
            if random.chance(50) { return [.part("p\(part)-\(copies)")] }
            return [random.chance(60) ? .backup("b\(part)-\(copies)") : .copy("c\(part)-\(copies)")]
        case 28: return random.chance(30) ? [.compact] : isEncrypted ? [.changeKey] : []
        case 29..<33: return [.reader("r\(random.below(2))")]
        case 33..<60: return change().map { [$0] } ?? []
        default: return transaction()
        }
    }

    private mutating func transaction() -> [ScriptStep] {
        let before = trees
        var steps: [ScriptStep] = [.begin]
        var saved: [[String: KeyKind]] = []
        for _ in 0..<random.below(8) {
            if random.chance(15) {
                steps.append(.savepoint("p\(saved.count)"))
                saved.append(trees)
            } else if random.chance(15), let last = saved.indices.last {
                // An earlier savepoint ends those after it.
                let index = random.chance(70) ? last : 0
                if random.chance(30) {
                    steps.append(.forget("p\(index)"))
                    saved.removeLast(saved.count - index)
                } else {
                    steps.append(.rollbackTo("p\(index)"))
                    trees = saved[index]
                    saved.removeLast(saved.count - index - 1)
                }
            } else if random.chance(5) {
                steps.append(.verify)
            } else if let change = change() {
                steps.append(change)
            }
        }
        if random.chance(15) {
            trees = before
            return steps + [.rollback]
        }
        let durability: Durability? = [
            nil, nil, nil, nil, .ordered, .async, .async(maxDelay: .milliseconds(20)),
        ][random.below(7)]
        return steps + [.commit(durability)]
    }

    private mutating func change() -> ScriptStep? {
        if trees.count < 2 || trees.count < 5 && random.chance(4) {
            let name = "t\(random.below(1000))"
            guard trees[name] == nil else { return nil }
            let kind: KeyKind = random.chance(50) ? .integer : .bytes
            trees[name] = kind
            return .tree(name, kind, keyBytes: 0, options: random.chance(50) ? .subtreeCounts : [])
        }
        let names = trees.keys.sorted()
        let name = names[random.below(names.count)]
        if trees.count > 2, random.chance(3) {
            let other = "t\(random.below(1000))"
            if random.chance(40), trees[other] == nil {
                trees[other] = trees.removeValue(forKey: name)
                return .rename(name, other)
            }
            trees[name] = nil
            return .drop(name)
        }
        switch random.below(100) {
        case 0..<43: return .put(name, keys(), shape())
        case 43..<45:
            let length = random.chance(30) ? 30000 + random.below(60000) : 3000 + random.below(20000)
            return .stream(
                name, .steps(from: 100, through: 100 + UInt64(random.below(3)), by: 1), ValueShape(bytes: length))
        case 45..<60: return .insert(name, keys(), shape())
        case 60..<85: return .delete(name, keys())
        case 85..<95:
            let first = UInt64(random.below(400))
            return .deleteRange(name, first, random.chance(8) ? nil : first + UInt64(random.below(200)))
        case 95: return .deleteAll(name)
        case 96:
            let first = 300 + UInt64(random.below(300))
            return .load(name, .steps(from: first, through: first + UInt64(random.below(300)), by: 1), shape())
        default: return .put(name, .random(count: 1 + random.below(4), below: 400), shape())
        }
    }

    private mutating func keys() -> KeyRange {
        let first = UInt64(random.below(400))
        switch random.below(4) {
        case 0: return .steps(from: first, through: first + UInt64(random.below(60)), by: 1)
        case 1: return .steps(from: first + UInt64(random.below(60)), through: first, by: 1)
        case 2: return .steps(from: first, through: first + 300, by: UInt64(5 + random.below(40)))
        default: return .random(count: 1 + random.below(30), below: 500)
        }
    }

    private mutating func shape() -> ValueShape {
        switch random.below(20) {
        case 0: ValueShape(bytes: 2000 + random.below(12000), isCompressible: random.chance(40))
        case 1: ValueShape(bytes: 0)
        case 2..<6: ValueShape(bytes: 300 + random.below(700))
        default: ValueShape(bytes: 1 + random.below(100))
        }
    }
}
