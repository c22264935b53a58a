import MakoRecords
import Testing

@testable import MakoCore

/// The commits that a live query has not processed: which of them a snapshot takes.
@Suite struct LiveMailboxTests {
    /// The first results are read without waiting for the hub, which delivers a commit that they show afterwards.
    @Test func commitsThatTheFirstSnapshotShowsAreDroppedWhenTheyArrive() {
        let mailbox = LiveMailbox()
        #expect(mailbox.take(upTo: 5, dropsLate: true).isComplete)
        // The commit with the number 5, whose changes were not recorded for this follower: a query would run again.
        mailbox.put(CommitChanges(base: 4, ChangeSet(), covering: ["Country"]))
        let mail = mailbox.take(upTo: 6, dropsLate: false)
        #expect(mail.isComplete && mail.commits.isEmpty && !mail.isBehind)
    }

    @Test func laterCommitsAreNotDropped() {
        let mailbox = LiveMailbox()
        #expect(mailbox.take(upTo: 5, dropsLate: true).isComplete)
        mailbox.put(CommitChanges(base: 5, ChangeSet(), covering: ["Country"]))
        #expect(!mailbox.take(upTo: 6, dropsLate: false).isComplete)
        // The hub has delivered all earlier commits before the second snapshot is processed.
        mailbox.put(CommitChanges(base: 4, ChangeSet(), covering: ["Country"]))
        #expect(!mailbox.take(upTo: 6, dropsLate: false).isComplete)
    }
}
