import Synchronization

/// How far ahead of a walk the device has been asked for pages.
///
/// A walk over pages that are not in memory reads one after the other, and a device that could bring many at a time brings one. So it is asked
/// for those that come next. Only where a page was waited for: what lies in the system's cache is there as fast as it could be asked
/// for. A read that took as long as a device takes fills a stock (`FrameStore.readAheadStock`), and whoever asks for a page ahead of time
/// takes from it; with the stock used up nobody asks until a read is slow again, and it soon is, where it matters.
struct ReadAhead {
    /// So many pages at most are under way for one walk.
    private static let widest = 64

    /// The node whose children were asked for.
    private var parent: UInt64 = 0
    private var isForward = true
    /// How many children behind the current one were asked for.
    private var asked = 0
    /// How many pages the walk has come over: one that ends after a few pages asks for few.
    private var walked = 0

    /// Asks for the leaves that come behind the one at `slot`.
    ///
    /// - Parameter parent: a node right above leaves; the caller is inside an operation epoch.
    @inline(__always)
    mutating func arrive<Layout: NodeLayout>(
        _ layout: Layout.Type, at slot: Int, of parent: UnsafeMutableRawPointer, forward: Bool, _ frames: FrameStore
    ) {
        walked &+= 1
        if frames.expectsSlowReads { ask(layout, slot, parent, forward, frames) }
    }

    @inline(never)
    private mutating func ask<Layout: NodeLayout>(
        _ layout: Layout.Type, _ slot: Int, _ parent: UnsafeMutableRawPointer, _ forward: Bool, _ frames: FrameStore
    ) {
        let page = Page(parent)
        asked = page.number == self.parent && forward == isForward ? max(0, asked - 1) : 0
        self.parent = page.number
        isForward = forward
        let left = forward ? page.count - 1 - slot : slot
        let window = min(ReadAhead.widest, 2 * walked, left)
        guard asked <= window / 2, window > asked else { return }
        let steps = asked + 1...window
        frames.startReading(steps.count) { index in
            let distance = steps.lowerBound + index
            return Layout.child(parent, at: forward ? slot + distance : slot - distance)
        }
        asked = window
    }
}

extension FrameStore {
    /// A copy out of the system's cache takes a tenth of it, interruptions aside; a device takes longer.
    private static let slowRead = Duration.microseconds(25)
    /// So many pages are asked for ahead of time for one that was waited for.
    private static let stockOfSlowRead = 512

    /// Whether a page that is not in memory will probably have to be waited for.
    @inline(__always)
    var expectsSlowReads: Bool { readAheadStock.load(ordering: .relaxed) > 0 }

    /// Whether to measure how long the page is waited for that comes into a frame: while reads are fast, of one in eight. The clock takes a
    /// twentieth of what a copy out of the system's cache does.
    @inline(__always)
    func isMeasured(frame: UInt32) -> Bool { frame & 7 == 0 || isReadingSlowly.load(ordering: .relaxed) }

    /// Notes how long a page was waited for.
    func noteRead(_ duration: Duration) {
        let isSlow = duration > FrameStore.slowRead
        if isSlow { readAheadStock.store(FrameStore.stockOfSlowRead, ordering: .relaxed) }
        if isSlow != isReadingSlowly.load(ordering: .relaxed) { isReadingSlowly.store(isSlow, ordering: .relaxed) }
    }

    /// Asks the device for those of some pages that are not in memory, neighbours in the file in one.
    func startReading(_ count: Int, _ reference: (Int) -> PageReference) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { pages in
            var missing = 0
            for index in 0..<count {
                let reference = reference(index)
                if isInMemory(reference) { continue }
                pages[missing] = reference.page
                missing += 1
            }
            readAheadStock.wrappingSubtract(missing, ordering: .relaxed)
            var sought = UnsafeMutableBufferPointer(rebasing: pages[..<missing])
            sought.sort()
            var start = 0
            while start < missing {
                var end = start + 1
                while end < missing, sought[end] - sought[end - 1] <= 1 { end += 1 }
                file.startReading(
                    at: sought[start] * UInt64(pageBytes), count: Int(sought[end - 1] - sought[start] + 1) * pageBytes)
                start = end
            }
        }
    }
}
