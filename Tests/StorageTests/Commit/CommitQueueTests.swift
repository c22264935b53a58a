import Testing

@testable import MakoStorage

@Suite struct CommitQueueTests {
    private func version(_ commit: UInt64, end: UInt64) -> Version {
        Version(
            commit: commit, point: commit, trees: UnsafeBufferPointer(start: nil, count: 0), nextTreeID: 1,
            names: TreeNames(), log: LogPosition(lsn: end, chain: 0))
    }

    private func allocated(_ queue: CommitQueue) -> [UInt64] {
        var pages: [UInt64] = []
        queue.pages.allocated.forEach { pages.append($0) }
        return pages
    }

    private func freed(_ queue: CommitQueue) -> [UInt64] {
        var pages: [UInt64] = []
        queue.pages.freed.forEach { pages.append($0.page) }
        return pages
    }

    @Test func whatLeavesTheQueueTakesItsOwnPagesAlong() {
        var queue = CommitQueue()
        for commit: UInt64 in 1...3 {
            var changed = ChangedPages(
                allocated: PackedList([commit * 10, commit * 10 + 1]),
                freed: PackedList([.init(page: commit, bornAt: 1)]))
            queue.append(version(commit, end: commit * 100), commit == 3 ? .full : .async, &changed)
            #expect(changed.allocated.isEmpty && changed.freed.isEmpty)
        }
        #expect(queue.count(upTo: 99) == 0)
        #expect(queue.count(upTo: 200) == 2)
        #expect(queue.count(upTo: 300) == 3)
        #expect(queue.countBeforeWaiting == 2)

        var first = CommitQueue()
        queue.move(2, to: &first)
        #expect(first.commits.map(\.version.commit) == [1, 2])
        #expect(allocated(first) == [10, 11, 20, 21])
        #expect(freed(first) == [1, 2])
        #expect(first.flushLevel == .written)

        first.removeAll()
        queue.move(1, to: &first)
        #expect(first.commits.map(\.version.commit) == [3])
        #expect(allocated(first) == [30, 31])
        #expect(freed(first) == [3])
        #expect(first.flushLevel == .durable)
        #expect(queue.isEmpty && queue.pages.allocated.isEmpty && queue.pages.freed.isEmpty)
    }

    @Test func longListsAreNotKept() {
        var changed = ChangedPages(allocated: PackedList(0..<100_000))
        changed.removeAll()
        #expect(changed.allocated.isEmpty && changed.allocated.capacity < 1000)
        changed.allocated.append(1)
        changed.removeAll()
        #expect(changed.allocated.isEmpty && changed.allocated.capacity > 0)
    }
}
