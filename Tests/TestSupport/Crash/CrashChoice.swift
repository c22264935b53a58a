/// How thoroughly the outcomes of a crash are tried.
public struct CrashChoice: Sendable, Hashable {
    /// All outcomes are tried when there are at most two to this power of them.
    public var exhaustiveBits: Int
    /// Otherwise: none, all, and, up to so many pending things, each missing and each alone.
    public var structuredUnits: Int
    /// Random outcomes besides, without and with torn sectors.
    public var sampled: Int
    /// Random outcomes with torn sectors.
    public var torn: Int
    /// The seed of the random outcomes.
    public var seed: UInt64

    /// Creates a choice; the defaults try all outcomes of up to 4,096, and samples of more.
    public init(
        exhaustiveBits: Int = 12, structuredUnits: Int = .max, sampled: Int = 64, torn: Int = 16, seed: UInt64 = 1
    ) {
        self.exhaustiveBits = exhaustiveBits
        self.structuredUnits = structuredUnits
        self.sampled = sampled
        self.torn = torn
        self.seed = seed
    }

    /// None, all, each missing and each alone, without tears.
    public static let structured = CrashChoice(exhaustiveBits: 0, sampled: 0, torn: 0)
}

extension CrashState {
    /// Whether nothing is pending: every crash leaves the same.
    public var isSettled: Bool { units().isEmpty }

    /// The disks that a crash at this moment can leave behind, each different one once.
    public func images(_ choice: CrashChoice) -> [DiskImage] {
        tornImages(choice).map(\.image)
    }

    /// The same, and whether a sector was torn to make each.
    private func tornImages(_ choice: CrashChoice) -> [(image: DiskImage, isTorn: Bool)] {
        let units = units()
        var seen: Set<Int> = []
        var images: [(DiskImage, Bool)] = []
        for selection in selections(units, choice) {
            let image = image(units, selection)
            let isTorn = selection.contains { $0.tear != .whole }
            if seen.insert(image.fingerprint).inserted { images.append((image, isTorn)) }
        }
        return images
    }

    /// The same, and whether each is a structured one: nothing persisted, everything, one pending thing missing or alone.
    func markedImages(_ choice: CrashChoice) -> [(image: DiskImage, isStructured: Bool, isTorn: Bool)] {
        var structured: Set<Int> = []
        var marked: [(DiskImage, Bool, Bool)] = []
        var plain = CrashChoice.structured
        plain.structuredUnits = choice.structuredUnits
        for image in images(plain) where structured.insert(image.fingerprint).inserted {
            marked.append((image, true, false))
        }
        for (image, isTorn) in tornImages(choice) where !structured.contains(image.fingerprint) {
            marked.append((image, false, isTorn))
        }
        return marked
    }

    /// Whether a choice makes every outcome that there is but for tears.
    func isExhausted(by choice: CrashChoice) -> Bool {
        everySelection(units(), limit: 1 << choice.exhaustiveBits) != nil
    }

    /// One random outcome, torn sectors among them.
    public func randomImage(_ random: inout SplitMix) -> DiskImage {
        let units = units()
        return image(units, randomSelection(units, tears: random.chance(50), &random))
    }

    func selections(_ units: [Unit], _ choice: CrashChoice) -> [Selection] {
        var random = SplitMix(seed: choice.seed)
        var selections: [Selection]
        if let all = everySelection(units, limit: 1 << choice.exhaustiveBits) {
            selections = all
        } else {
            selections = structuredSelections(units, limit: choice.structuredUnits, &random)
            for _ in 0..<choice.sampled { selections.append(randomSelection(units, tears: false, &random)) }
        }
        guard units.contains(where: { $0.isSector }) else { return selections }
        for _ in 0..<choice.torn { selections.append(randomSelection(units, tears: true, &random)) }
        return selections
    }

    private func everySelection(_ units: [Unit], limit: Int) -> [Selection]? {
        var product = 1
        for unit in units {
            product *= unit.versions + 1
            if product > limit { return nil }
        }
        return (0..<product).map { number in
            var rest = number
            return units.map { unit in
                defer { rest /= unit.versions + 1 }
                return Outcome(version: rest % (unit.versions + 1))
            }
        }
    }

    private func structuredSelections(_ units: [Unit], limit: Int, _ random: inout SplitMix) -> [Selection] {
        let none = units.map { _ in Outcome(version: 0) }
        let all = units.map { Outcome(version: $0.versions) }
        var selections = [none, all]
        let chosen = limit >= units.count ? Array(units.indices) : (0..<limit).map { _ in random.below(units.count) }
        for index in chosen {
            var missing = all
            missing[index].version -= 1
            selections.append(missing)
            if units[index].versions > 1 {
                missing[index].version = 0
                selections.append(missing)
            }
            var alone = none
            alone[index].version = units[index].versions
            selections.append(alone)
        }
        return selections
    }

    private func randomSelection(_ units: [Unit], tears: Bool, _ random: inout SplitMix) -> Selection {
        let likely = [10, 50, 90][random.below(3)]
        return units.map { unit in
            guard random.chance(likely) else { return Outcome(version: 0) }
            let isNewest = random.chance(75)
            var outcome = Outcome(version: isNewest ? unit.versions : 1 + random.below(unit.versions))
            if tears, unit.isSector, random.chance(30) { outcome.tear = randomTear(of: unit, among: units, &random) }
            return outcome
        }
    }

    private func randomTear(of unit: Unit, among units: [Unit], _ random: inout SplitMix) -> Tear {
        switch random.below(5) {
        case 0, 1: return .garbage(random.next())
        case 2:
            let others = units.compactMap { $0.sector(besides: unit) }
            guard !others.isEmpty else { fallthrough }
            return .misdirected(from: others[random.below(others.count)])
        default: return .prefix(1 + random.below(sectorBytes - 1))
        }
    }
}

extension CrashState.Unit {
    var isSector: Bool {
        if case .sector = subject { true } else { false }
    }

    /// The index of this sector when it is another one of the same file.
    func sector(besides other: CrashState.Unit) -> Int? {
        guard case .sector(let file, let index) = subject, case .sector(file, let second) = other.subject,
            index != second
        else { return nil }
        return index
    }
}
