/// The result of trying all crashes of a workload.
public struct CrashReport: Sendable, CustomStringConvertible {
    /// Calls to the disk in the run.
    public var calls = 0
    /// Moments between two calls at which a crash can leave something different.
    public var moments = 0
    /// Moments of which every outcome was made; of the others only some.
    public var exhaustedMoments = 0
    /// Different disks that a crash of the run can leave.
    public var images = 0
    /// Those of them that were opened.
    public var opened = 0
    /// Different disks that a further crash can leave, first in the recovery of one of those, then in the recovery after
    /// that.
    public var recoveryImages: [Int] = []
    /// Those of them that were opened.
    public var reopened: [Int] = []
    /// Sentences that name the moment and what was found there.
    public var failures: [String] = []

    /// Creates an empty report.
    public init() {}

    /// The share of the disks found that were opened, from 0 to 1.
    public var coverage: Double {
        let found = images + recoveryImages.reduce(0, +)
        return found == 0 ? 0 : Double(opened + reopened.reduce(0, +)) / Double(found)
    }

    /// Adds another workload's figures.
    public mutating func add(_ other: CrashReport) {
        calls += other.calls
        moments += other.moments
        exhaustedMoments += other.exhaustedMoments
        images += other.images
        opened += other.opened
        CrashReport.add(other.recoveryImages, to: &recoveryImages)
        CrashReport.add(other.reopened, to: &reopened)
        failures += other.failures
    }

    private static func add(_ counts: [Int], to sums: inout [Int]) {
        for (depth, count) in counts.enumerated() {
            if depth == sums.count { sums.append(0) }
            sums[depth] += count
        }
    }

    public var description: String {
        var text = "\(calls) calls, \(moments) moments, \(exhaustedMoments) of them with every outcome; "
        text += "\(opened) of \(images) disks opened"
        for (depth, (found, opened)) in zip(recoveryImages, reopened).enumerated() {
            text += ", \(opened) of \(found) after crash \(depth + 2)"
        }
        let percent = (coverage * 1000).rounded(.down) / 10
        return text + ": \(percent) %; \(failures.count) failures" + failures.map { "\n  \($0)" }.joined()
    }
}
