import Testing

@testable import MakoCommand
@testable import MakoReplication

/// What `mako replicas` prints of a branch.
@Suite struct ReplicaTextTests {
    private static let day: UInt64 = 86_400_000
    private let now = 20_000 * Self.day

    @Test(
        arguments: [
            (0, "0 seconds"), (1999, "1 second"), (119_999, "119 seconds"), (120_000, "2 minutes"),
            (90 * 60_000, "90 minutes"), (2 * 3_600_000, "2 hours"), (47 * 3_600_000, "47 hours"), (2 * day, "2 days"),
            (1234 * day, "1,234 days"),
        ] as [(UInt64, String)]) func anAgeHasOneUnit(milliseconds: UInt64, text: String)
    {
        #expect(DisplayText.age(milliseconds: milliseconds) == text)
    }

    @Test func aBranchIsListedWithItsAgesAndWhatIsKept() {
        var points = RestorePoints(branch: 3, parentBranch: 1, start: 17)
        (points.objects, points.bytes) = (2, 1_500_000)
        points.keptFrom = 100
        points.runs = [
            .init(commits: 100...120, dates: now - 30 * Self.day...now - 20 * Self.day),
            .init(commits: 130...130, dates: now - 5 * 60_000...now - 5 * 60_000),
        ]
        points.gaps = [121...129]
        points.findings = ["the object a/3/seq/7 is missing"]
        let lines = ReplicasCommand.lines(points, now: now)
        #expect(
            lines.map { $0.trimmingPrefix { $0 == " " } }.map(String.init) == [
                "branch 3, restored from commit 17 of branch 1: 2 objects, 1.5 MB, newest commit shipped 5 minutes ago",
                "kept from commit 100, shipped 30 days ago; retention has deleted what was before",
                "commits 100 to 120, 2024-09-04 to 2024-09-14",
                "commits 130, 2024-10-03 23:55:00Z", "commits 121 to 129 cannot be restored by themselves",
                "damage: the object a/3/seq/7 is missing",
            ])
    }

    @Test func withoutRetentionNothingIsSaidOfIt() {
        var points = RestorePoints(branch: 1, start: 0)
        // The clock of this machine is behind.
        points.runs = [.init(commits: 1...2, dates: now...now + 5000)]
        let lines = ReplicasCommand.lines(points, now: now)
        #expect(lines.count == 2)
        #expect(lines[0].hasSuffix("newest commit shipped 0 seconds ago"))
    }
}
