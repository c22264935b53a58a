import MakoStorage

/// Runs a script once, then opens the store on everything that a crash at any moment of the run could have left.
///
/// A crash before a call and one after the call before it leave the same, so one recorded run covers both. Each
/// image must open to the acknowledged transactions, or to these and further whole ones, verify clean, and survive
/// a crash at any moment of its own recovery. Equal images are opened once.
public struct CrashRunner {
    /// How much is tried.
    public struct Effort: Sendable {
        public var crash: CrashChoice
        /// For crashes inside recovery; nil: none.
        public var recovery: CrashChoice?
        /// At most so many images of the run, and inside the recovery of one image; spread evenly where there are more.
        public var imageLimit: Int
        public var recoveryLimit: Int

        public init(crash: CrashChoice, recovery: CrashChoice?, imageLimit: Int, recoveryLimit: Int) {
            self.crash = crash
            self.recovery = recovery
            self.imageLimit = imageLimit
            self.recoveryLimit = recoveryLimit
        }

        /// All there is, as the design's test programme counts it.
        public static let full = Effort(
            crash: CrashChoice(exhaustiveBits: 12, sampled: 2000, torn: 200), recovery: .structured,
            imageLimit: .max, recoveryLimit: .max)
    }

    public struct Report: Sendable, CustomStringConvertible {
        public var calls = 0
        public var points = 0
        /// Different images found, and how many of them were opened.
        public var images = 0
        public var opened = 0
        /// Opened after a crash inside recovery.
        public var reopened = 0
        public var failures: [String] = []

        public var description: String {
            "\(calls) calls, \(points) moments, \(images) images, \(opened) opened, \(reopened) again in recovery, "
                + "\(failures.count) failures"
        }
    }

    /// How a store that was opened on an image answers.
    private enum Outcome {
        case state(ModelStore)
        case failure(String)
    }

    private let script: Script
    private let seed: UInt64
    private let effort: Effort
    private var states: [ModelStore] = []
    private var report = Report()
    private var outcomes: [Int: Outcome] = [:]

    public static func run(_ script: Script, seed: UInt64 = 1, effort: Effort) throws -> Report {
        var runner = CrashRunner(script: script, seed: seed, effort: effort)
        return try runner.run()
    }

    private init(script: Script, seed: UInt64, effort: Effort) {
        self.script = script
        self.seed = seed
        self.effort = effort
    }

    private mutating func run() throws -> Report {
        let disk = SimulatedDisk(seed: seed, sectorBytes: script.sectorBytes)
        let run = ScriptRun(script, on: disk, seed: seed)
        disk.startRecording()
        try run.run()
        states = run.states
        let points = disk.crashPoints()
        report.calls = disk.callCount
        report.points = points.count

        // An image that several moments can leave must suit each of them.
        var images: [(point: Int, image: DiskImage, spans: Set<ScriptRun.Span>)] = []
        var places: [Int: Int] = [:]
        for (index, point) in points.enumerated() {
            for image in point.state.images(effort.crash) {
                let fingerprint = image.fingerprint
                if let place = places[fingerprint] {
                    images[place].spans.insert(run.spans[point.tag])
                } else {
                    places[fingerprint] = images.count
                    images.append((index, image, [run.spans[point.tag]]))
                }
            }
        }
        report.images = images.count
        for (point, image, spans) in CrashRunner.spread(images, effort.imageLimit) {
            try tryImage(image, spans, "a crash before call \(points[point].call)")
            if report.failures.count >= 5 { break }
        }
        return report
    }

    private mutating func tryImage(_ image: DiskImage, _ spans: Set<ScriptRun.Span>, _ place: String) throws {
        report.opened += 1
        let disk = SimulatedDisk(image, seed: seed, sectorBytes: script.sectorBytes)
        if effort.recovery != nil { disk.startRecording() }
        let outcome = open(disk)
        outcomes[image.fingerprint] = outcome
        guard judge(outcome, spans, place), case .state(let found) = outcome else { return }
        guard let choice = effort.recovery else { return }
        var seen: Set<Int> = [image.fingerprint]
        var again: [(DiskImage, Bool, Int)] = []
        for point in disk.crashPoints() {
            for image in point.state.images(choice) where seen.insert(image.fingerprint).inserted {
                again.append((image, point.tag == 1, point.call))
            }
        }
        for (image, wasServed, call) in CrashRunner.spread(again, effort.recoveryLimit) {
            let outcome: Outcome
            if let known = outcomes[image.fingerprint] {
                outcome = known
            } else {
                report.reopened += 1
                outcome = open(SimulatedDisk(image, seed: seed, sectorBytes: script.sectorBytes))
                outcomes[image.fingerprint] = outcome
            }
            let second = "\(place), and again in recovery before call \(call)"
            if wasServed {
                // What a store showed after recovery, no crash may take back.
                guard case .state(let state) = outcome, state == found else {
                    report.failures.append("\(second): the state that was served is lost\(describe(outcome))")
                    return
                }
            } else if !judge(outcome, spans, second) {
                return
            }
        }
    }

    /// Opens the store, reads everything, verifies and closes. The disk's tag is 1 from the first read on.
    private func open(_ disk: SimulatedDisk) -> Outcome {
        do {
            let store = try Store(at: ScriptRun.path, options: ScriptRun.options(script, on: disk, seed: seed &+ 77))
            let found = try store.read { try ModelStore(reading: $0) }
            disk.tag = 1
            let report = try store.verify()
            guard report.isClean else { return .failure("verify: \(report.findings)") }
            try store.close()
            return .state(found)
        } catch {
            return .failure("\(error)")
        }
    }

    /// Whether a state was found that every one of the spans allows.
    private mutating func judge(_ outcome: Outcome, _ spans: Set<ScriptRun.Span>, _ place: String) -> Bool {
        guard case .state(let found) = outcome else {
            report.failures.append("\(place)\(describe(outcome))")
            return false
        }
        for span in spans where !states[span.acknowledged...span.begun].contains(found) {
            let others = states.indices.filter { states[$0] == found }
            let difference = found.difference(from: states[span.acknowledged]) ?? ""
            report.failures.append(
                "\(place): the state found is none of \(span.acknowledged)...\(span.begun), but \(others); "
                    + "found against acknowledged: \(difference)")
            return false
        }
        return true
    }

    private func describe(_ outcome: Outcome) -> String {
        if case .failure(let text) = outcome { ": \(text)" } else { "" }
    }

    /// At most `limit` elements, evenly from front to back.
    private static func spread<T>(_ all: [T], _ limit: Int) -> [T] {
        guard all.count > limit else { return all }
        return (0..<limit).map { all[$0 * all.count / limit] }
    }
}
