import Synchronization

/// The read-ahead of a scan: prefetches the next leaves from the device.
///
/// A scan over pages that are not in memory would read one page after the other, although a device serves many requests
/// at a time. So the scan requests the next leaves early, but only after slow reads, because pages in the system's
/// cache are fast anyway. A read that takes as long as a device read fills a stock (`FrameStore.readAheadStock`); each
/// prefetched page takes one from it. When the stock is empty there is no prefetch until the next slow read.
struct ReadAhead {
    /// The largest number of pages that a scan requests ahead.
    private static let widest = 64

    /// The node whose children were requested.
    private var parent: UInt64 = 0
    private var isForward = true
    /// The number of children after the current one that were requested.
    private var asked = 0
    /// The number of leaves that the scan has passed. It bounds the window, so a short scan requests few pages.
    private var passed = 0

    /// Requests the leaves after the one at `slot`, if reads are slow.
    ///
    /// - Parameter parent: a node of level 1. The caller must be inside an operation epoch.
    @inline(__always)
    mutating func arrive<Layout: NodeLayout>(
        _ layout: Layout.Type, at slot: Int, of parent: Page, forward: Bool, _ frames: FrameStore
    ) {
        passed &+= 1
        if frames.expectsSlowReads { ask(layout, slot, parent, forward, frames) }
    }

    @inline(never)
    private mutating func ask<Layout: NodeLayout>(
        _ layout: Layout.Type, _ slot: Int, _ parent: Page, _ forward: Bool, _ frames: FrameStore
    ) {
        asked = parent.number == self.parent && forward == isForward ? max(0, asked - 1) : 0
        self.parent = parent.number
        isForward = forward
        let left = forward ? parent.count - 1 - slot : slot
        let window = min(ReadAhead.widest, 2 * passed, left)
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
    /// The time above which a read is slow. A copy out of the system's cache takes about a tenth of it, a device read
    /// more.
    private static let slowRead = Duration.microseconds(25)
    /// The number of pages that may be prefetched after a slow read.
    private static let stockOfSlowRead = 512

    /// Whether a read of a page that is not in memory will probably be slow.
    @inline(__always)
    var expectsSlowReads: Bool { readAheadStock.load(ordering: .relaxed) > 0 }

    /// Whether to measure the read into a frame. While reads are fast, one in eight is measured: reading the clock
    /// takes about a twentieth of a copy out of the system's cache.
    @inline(__always)
    func isMeasured(frame: UInt32) -> Bool { frame & 7 == 0 || isReadingSlowly.load(ordering: .relaxed) }

    /// Notes the duration of a read.
    func noteRead(_ duration: Duration) {
        let isSlow = duration > FrameStore.slowRead
        if isSlow { readAheadStock.store(FrameStore.stockOfSlowRead, ordering: .relaxed) }
        if isSlow != isReadingSlowly.load(ordering: .relaxed) { isReadingSlowly.store(isSlow, ordering: .relaxed) }
    }

    /// Requests those of some pages that are not in memory from the device, with one call for neighbours in the file.
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
