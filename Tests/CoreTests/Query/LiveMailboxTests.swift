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

    private func change() throws -> ChangeSet {
        let db = try ReaderPlace().writer()
        return try db.transaction { transaction in
            try db.set("FR", 68)
            return transaction.changes
        }
    }

    /// A commit with `async` durability arrives before a snapshot shows it.
    @Test func aCommitThatNoSnapshotShowsIsNotForgotten() throws {
        let mailbox = LiveMailbox()
        #expect(mailbox.take(upTo: 5, dropsLate: false).isComplete)
        mailbox.put(CommitChanges(base: 7, try change()))
        mailbox.forget()
        let mail = mailbox.take(upTo: 7, dropsLate: false)
        #expect(mail.commits.isEmpty && mail.isBehind)
        #expect(!mailbox.take(upTo: 8, dropsLate: false).isComplete)
        #expect(mailbox.take(upTo: 8, dropsLate: false).isComplete)
    }

    /// A commit whose confirmation is late arrives after later ones.
    @Test(arguments: [true, false])
    func anEarlierCommitThatArrivesLateDropsNoLaterOne(isComplete: Bool) throws {
        let mailbox = LiveMailbox()
        #expect(mailbox.take(upTo: 4, dropsLate: false).isComplete)
        let (changes, tables): (ChangeSet, Set<String>?) = isComplete ? (try change(), nil) : (ChangeSet(), [])
        mailbox.put(CommitChanges(base: 9, changes, covering: tables))
        mailbox.put(CommitChanges(base: 4, ChangeSet(), covering: ["Country"]))
        #expect(mailbox.take(upTo: 6, dropsLate: false).isBehind)
        #expect(!mailbox.take(upTo: 10, dropsLate: false).isComplete)
        #expect(mailbox.take(upTo: 10, dropsLate: false).isComplete)
    }
}
