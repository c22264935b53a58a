/// Runs a workload once, then starts it again on everything that a crash at any moment of the run could have left.
///
/// A crash before a call and one after the call before it leave the same, so one recorded run covers both. Each image must
/// give the acknowledged changes, or these and further whole ones in their order, and survive a crash at any moment of its
/// own recovery, and another at any moment of the recovery after that. Equal images are opened once.
public enum CrashRunner {
    /// How much is tried.
    public struct Effort: Sendable {
        /// For crashes of the run.
        public var crash: CrashChoice
        /// For crashes inside recovery; nil: none.
        public var recovery: CrashChoice?
        /// How many recoveries in a row are crashed: one, or that and the one after it.
        public var depth: Int
        /// Whether recovery is crashed on structured images only: nothing persisted, everything, each pending thing
        /// missing, each alone.
        public var recoversFromStructured: Bool
        /// At most so many images of the run, and inside the recovery of one image; spread evenly where there are more.
        public var imageLimit: Int
        /// At most so many images inside the recovery of one image.
        public var recoveryLimit: Int
        /// At most so many images inside a second recovery.
        public var secondLimit: Int

        /// Creates an effort: what to try at crashes of the run, at those of its recovery, and how many images to open.
        public init(
            crash: CrashChoice, recovery: CrashChoice?, imageLimit: Int = .max, recoveryLimit: Int = .max,
            secondLimit: Int = .max, depth: Int = 1, recoversFromStructured: Bool = false
        ) {
            self.crash = crash
            self.recovery = recovery
            self.imageLimit = imageLimit
            self.recoveryLimit = recoveryLimit
            self.secondLimit = secondLimit
            self.depth = depth
            self.recoversFromStructured = recoversFromStructured
        }

        /// All there is.
        public static let full = Effort(
            crash: CrashChoice(exhaustiveBits: 12, sampled: 2000, torn: 200), recovery: .structured, depth: 2,
            recoversFromStructured: true)

        /// A good part of it, in a moment.
        public static let standard = Effort(
            crash: CrashChoice(exhaustiveBits: 7, structuredUnits: 12, sampled: 8, torn: 8),
            recovery: CrashChoice(exhaustiveBits: 3, structuredUnits: 3, sampled: 2, torn: 2),
            imageLimit: 200, recoveryLimit: 8)

        /// A taste of it, for builds in which everything is slow.
        public static let small = Effort(
            crash: CrashChoice(exhaustiveBits: 3, structuredUnits: 6, sampled: 2, torn: 2),
            recovery: CrashChoice(exhaustiveBits: 1, structuredUnits: 1, sampled: 1, torn: 1),
            imageLimit: 40, recoveryLimit: 2)
    }

    /// Runs a workload once, and opens what crashes at each moment of it leave.
    ///
    /// - Parameters:
    ///   - workload: what runs and recovers.
    ///   - seed: for the disk. The same seed repeats a run exactly.
    ///   - effort: the number of images to open.
    public static func run<Workload: CrashWorkload>(
        _ workload: Workload, seed: UInt64 = 1, effort: Effort
    ) throws -> CrashReport {
        var exploration = CrashExploration(workload, seed: seed, effort: effort)
        return try exploration.run()
    }
}

/// The disks of one workload and how they follow from each other.
private struct CrashExploration<Workload: CrashWorkload> {
    /// How a workload that was started on an image answers.
    enum Outcome {
        /// The first of the run's states that equals the one found.
        case state(Int)
        case unknown(Workload.State)
        case failure(String)
    }

    /// A disk that a crash in the recovery on another one leaves.
    struct Child: Hashable {
        var image: Int
        var isServed: Bool
        var call: Int32
    }

    /// A disk that was opened.
    struct Node {
        var outcome: Outcome
        var children: [Child] = []
        /// How many further crashes its children stand for.
        var depth = -1
    }

    struct RecoveryCase: Hashable {
        var image: Int
        var allowed: Set<CrashSpan>
        var depth: Int
    }

    private let workload: Workload
    private let seed: UInt64
    private let effort: CrashRunner.Effort
    private var states: [Workload.State] = []
    /// For each state the first that equals it.
    private var firsts: [Int] = []
    private var report = CrashReport()
    // By the fingerprint of the image.
    private var nodes: [Int: Node] = [:]
    /// The number of crashed recoveries at the first occurrence of an image.
    private var levels: [Int: Int] = [:]
    private var settled: Set<RecoveryCase> = []

    init(_ workload: Workload, seed: UInt64, effort: CrashRunner.Effort) {
        self.workload = workload
        self.seed = seed
        self.effort = effort
    }

    mutating func run() throws -> CrashReport {
        let disk = SimulatedDisk(seed: seed, sectorBytes: workload.sectorBytes)
        disk.startRecording()
        let history = try workload.run(on: disk)
        states = history.states
        firsts = states.map { state in states.firstIndex { $0 == state } ?? 0 }
        let points = disk.crashPoints()
        report.calls = disk.callCount
        report.moments = points.count
        if effort.recovery != nil {
            report.recoveryImages = [Int](repeating: 0, count: effort.depth)
            report.reopened = report.recoveryImages
        }

        // An image that several moments can leave must suit each of them.
        var images: [(call: Int, image: DiskImage, isRoot: Bool, spans: Set<CrashSpan>)] = []
        var places: [Int: Int] = [:]
        for point in points {
            if point.state.isExhausted(by: effort.crash) { report.exhaustedMoments += 1 }
            let span = history.spans[point.tag]
            for (image, isStructured, isTorn) in point.state.markedImages(effort.crash) {
                let span = isTorn ? span : span.untorn
                let isRoot = isStructured || !effort.recoversFromStructured
                if let place = places[image.fingerprint] {
                    images[place].spans.insert(span)
                    if isRoot { images[place].isRoot = true }
                } else {
                    places[image.fingerprint] = images.count
                    images.append((point.call, image, isRoot, [span]))
                }
            }
        }
        report.images = images.count
        for fingerprint in places.keys { levels[fingerprint] = 0 }
        for (call, image, isRoot, spans) in spread(images, effort.imageLimit) {
            visit(image, level: 0, depth: isRoot && effort.recovery != nil ? effort.depth : 0)
            if let failure = judge(RecoveryCase(image: image.fingerprint, allowed: spans, depth: effort.depth)) {
                report.failures.append("a crash before call \(call)\(failure)")
                if report.failures.count >= 5 { break }
            }
        }
        return report
    }

    /// Opens an image, and what further crashes leave of it.
    ///
    /// - Parameter level: how many recoveries have been crashed.
    private mutating func visit(_ image: DiskImage, level: Int, depth: Int) {
        let fingerprint = image.fingerprint
        if let node = nodes[fingerprint], depth == 0 || node.depth >= depth { return }
        if nodes[fingerprint] == nil {
            let first = levels[fingerprint] ?? 0
            if first == 0 { report.opened += 1 } else { report.reopened[first - 1] += 1 }
        }
        let disk = SimulatedDisk(image, seed: seed, sectorBytes: workload.sectorBytes)
        if depth > 0 { disk.startRecording() }
        var node = Node(outcome: start(on: disk), depth: depth)
        var images: [DiskImage] = []
        if depth > 0, let choice = effort.recovery {
            var all: [(Child, DiskImage)] = []
            var seen: Set<Child> = []
            for point in disk.crashPoints() {
                for image in point.state.images(choice) {
                    let child = Child(image: image.fingerprint, isServed: point.tag == 1, call: 0)
                    guard child.image != fingerprint, seen.insert(child).inserted else { continue }
                    all.append((Child(image: child.image, isServed: child.isServed, call: Int32(point.call)), image))
                    if levels[child.image] == nil {
                        levels[child.image] = level + 1
                        report.recoveryImages[level] += 1
                    }
                }
            }
            let chosen = spread(all, level == 0 ? effort.recoveryLimit : effort.secondLimit)
            node.children = chosen.map(\.0)
            images = chosen.map(\.1)
        }
        nodes[fingerprint] = node
        for image in images { visit(image, level: level + 1, depth: depth - 1) }
    }

    /// Starts the workload and compares. The disk's tag is 1 once the data may have been seen.
    private func start(on disk: SimulatedDisk) -> Outcome {
        do {
            let found = try workload.recover(on: disk) { disk.tag = 1 }
            return states.firstIndex(of: found).map { .state($0) } ?? .unknown(found)
        } catch {
            return .failure("\(error)")
        }
    }

    /// The fault of an image that may hold what each of some spans allows, or of those that follow from it.
    private mutating func judge(_ recovery: RecoveryCase) -> String? {
        guard let node = nodes[recovery.image], settled.insert(recovery).inserted else { return nil }
        let state: Int
        switch node.outcome {
        case .failure(let text): return ": \(text)"
        case .unknown(let found):
            let expected = recovery.allowed.map(\.acknowledged).max() ?? 0
            return ": the state found is none of the run's; against the acknowledged one: "
                + workload.difference(found, states[expected])
        case .state(let index): state = index
        }
        for span in recovery.allowed where !firsts[span.acknowledged...span.begun].contains(state) {
            return ": state \(state) was found, none of \(span.acknowledged)...\(span.begun): "
                + workload.difference(states[state], states[span.acknowledged])
        }
        if recovery.depth == 0 { return nil }
        for child in node.children {
            // A crash must not take back what was shown after recovery.
            let allowed = child.isServed ? [CrashSpan(acknowledged: state, begun: state)] : recovery.allowed
            if let failure = judge(RecoveryCase(image: child.image, allowed: allowed, depth: recovery.depth - 1)) {
                let when = child.isServed ? "after recovery, before call" : "in recovery before call"
                return ", and again \(when) \(child.call)\(failure)"
            }
        }
        return nil
    }

    /// At most `limit` elements, evenly from front to back.
    private func spread<T>(_ all: [T], _ limit: Int) -> [T] {
        guard all.count > limit else { return all }
        return (0..<limit).map { all[$0 * all.count / limit] }
    }
}
