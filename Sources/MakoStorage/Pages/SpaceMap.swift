// The file is divided into regions of 32,448 pages. Each has a map of its used pages in a bitmap page: the page header,
// then one bit for each page of the region, in 64-bit words, the lowest bit first. A region has three fixed pages for
// its bitmap, its first three (in region 0 after the header block and the metas): two for the two retained checkpoints,
// one for the checkpoint being written. The bitmap of a region that did not change stays where it is.

/// The allocation of pages: which are in use, and when freed pages may be reused.
///
/// Time is counted in write ids. A page is born with its write id, and freed at the transaction id ("point") of
/// the commit that removed it. A snapshot or checkpoint at point p sees the page if bornAt < p < freedAt. A dead page
/// waits for the oldest point that sees it, and is examined again when that point is released. So a version between two
/// old readers is freed, and each page is examined a bounded number of times.
///
/// All methods must be called with the store's space lock held.
final class SpaceMap {
    static let pagesPerRegion = (pageBytes - Page.bodyOffset) * 8
    static let wordsPerRegion = pagesPerRegion / 64
    static let bitmapCopies = 3
    /// The number of pages before the first bitmap: the header block twice, and two metas twice.
    static let fixedPages = 6

    /// A page that a commit removed, and its write id.
    struct DeadPage: Packable {
        var page: UInt64
        var bornAt: UInt64

        static var hasSecondWord: Bool { true }
        @inline(__always)
        var words: (UInt64, UInt64) { (page, bornAt) }

        init(page: UInt64, bornAt: UInt64) { (self.page, self.bornAt) = (page, bornAt) }
        init(words: (UInt64, UInt64)) { (page, bornAt) = words }
    }

    /// Dead pages that wait for one point, the oldest that sees them, each with the transaction id at which it was freed.
    private struct WaitingPages {
        struct WaitingPage: Packable {
            var page: UInt64
            var freedAt: UInt64

            static var hasSecondWord: Bool { true }
            @inline(__always)
            var words: (UInt64, UInt64) { (page, freedAt) }

            init(page: UInt64, freedAt: UInt64) { (self.page, self.freedAt) = (page, freedAt) }
            init(words: (UInt64, UInt64)) { (page, freedAt) = words }
        }

        var point: UInt64
        var pages = PackedList<WaitingPage>()
    }

    /// What a checkpoint records of a region: the copy of its bitmap, and the write id of that page.
    struct RegionState: Hashable {
        var copy: UInt8
        var writeID: UInt64
    }

    /// The pages that cannot be allocated: live, dead but still seen, or recycled.
    @exclusivity(unchecked) private var used: [[UInt64]] = []
    /// The pages of the latest published version, and the fixed pages.
    @exclusivity(unchecked) private(set) var live: [[UInt64]] = []
    @exclusivity(unchecked) private(set) var changed: [Bool] = []
    /// All words before this position are full.
    @exclusivity(unchecked) private var hint = (region: 0, word: 0)
    /// The length of the shortest run known to be missing before the last region.
    private var shortestMissing = Int.max
    /// Free pages for immediate reuse, the last freed first, because they are still in the processor's cache.
    @exclusivity(unchecked) private var recycled = PackedList<UInt64>()
    /// The number of recycled pages that `forEachRecycled` has reported.
    @exclusivity(unchecked) private var noted = 0
    /// Dead pages by the oldest point that sees them, in ascending order.
    @exclusivity(unchecked) private var waiting: [WaitingPages] = []
    @exclusivity(unchecked) private(set) var waitingCount = 0
    /// The number of dead pages that became free since the last `takeFreed`.
    @exclusivity(unchecked) private var freed = 0

    /// The end of the highest page that was ever allocated, as of the last `forgetTop`.
    @exclusivity(unchecked) private(set) var top: UInt64 = 0

    var regionCount: Int { live.count }

    // MARK: Allocation

    /// Allocates a free page.
    func allocate() -> UInt64 {
        if let page = recycled.popLast() {
            noted = min(noted, recycled.count)
            return page
        }
        while true {
            if hint.region == used.count { addRegion() }
            while hint.word < SpaceMap.wordsPerRegion {
                let word = used[hint.region][hint.word]
                if word != .max {
                    let bit = (~word).trailingZeroBitCount
                    used[hint.region][hint.word] = word | 1 << UInt64(bit)
                    let page = SpaceMap.page(region: hint.region, bit: hint.word * 64 + bit)
                    if page >= top { top = page + 1 }
                    return page
                }
                hint.word += 1
            }
            hint = (hint.region + 1, 0)
        }
    }

    /// Allocates the lowest free page, if it is below `limit`.
    func allocate(below limit: UInt64) -> UInt64? {
        settle()
        let page = allocate()
        if page < limit { return page }
        recycle([page])
        settle()
        return nil
    }

    /// Allocates the lowest run of `count` consecutive free pages, and returns the first.
    func allocateRun(_ count: Int) -> UInt64 {
        if count == 1 { return allocate() }
        settle()
        // A run at least as long as the shortest missing one can only be in the last region.
        var region = count >= shortestMissing ? max(hint.region, used.count - 1) : hint.region
        while true {
            if region == used.count {
                shortestMissing = count
                addRegion()
            }
            if let start = freeRun(count, region: region, from: region == hint.region ? hint.word : 0) {
                for bit in start..<start + count { used[region][bit / 64] |= 1 << UInt64(bit % 64) }
                let first = SpaceMap.page(region: region, bit: start)
                top = max(top, first + UInt64(count))
                return first
            }
            region += 1
        }
    }

    /// Allocates up to `count` consecutive pages: fewer, down to an eighth, if that keeps the file from growing.
    ///
    /// - Parameter isWhole: whether all must be consecutive, even if the file grows.
    func allocateRun(upTo count: Int, isWhole: Bool) -> (page: UInt64, count: Int) {
        var wanted = count
        while !isWhole, wanted > 0, wanted >= count / 8 {
            if lowestRun(wanted) != nil { return (allocateRun(wanted), wanted) }
            wanted /= 2
        }
        return (allocateRun(count), count)
    }

    /// Reserves the pages of a value that the log names, before anything else can be allocated there.
    ///
    /// - Returns: false if one of them is in use, or cannot belong to a value.
    func reserve(_ pages: Range<UInt64>) -> Bool {
        while used.count <= SpaceMap.region(of: pages.upperBound - 1) { addRegion() }
        for page in pages {
            let bit = SpaceMap.bit(of: page)
            let region = SpaceMap.region(of: page)
            guard used[region][bit / 64] & 1 << UInt64(bit % 64) == 0 else { return false }
            SpaceMap.set(page, in: &used[region])
        }
        return true
    }

    /// Returns the first page of the lowest run of free pages, without allocating it; nil if the file would have to
    /// grow.
    func lowestRun(_ count: Int) -> UInt64? {
        settle()
        for region in hint.region..<max(hint.region, used.count) {
            if let start = freeRun(count, region: region, from: region == hint.region ? hint.word : 0) {
                return SpaceMap.page(region: region, bit: start)
            }
        }
        return nil
    }

    private func freeRun(_ count: Int, region: Int, from start: Int) -> Int? {
        used[region].withUnsafeBufferPointer { words in
            // The number of free pages directly before the current bit.
            var length = 0
            for index in start..<words.count {
                let word = words[index]
                var bit = 0
                while bit < 64 {
                    let free = min((word >> UInt64(bit)).trailingZeroBitCount, 64 - bit)
                    length += free
                    bit += free
                    if length >= count { return index * 64 + bit - length }
                    if bit == 64 { break }
                    bit += (~(word >> UInt64(bit))).trailingZeroBitCount
                    length = 0
                }
            }
            return nil
        }
    }

    /// Moves the recycled pages to the free pages of their regions, so that searches for runs and low pages find them.
    /// Their frames must have been forgotten.
    func settle() {
        guard !recycled.isEmpty else { return }
        recycled.forEach { page in
            let region = SpaceMap.region(of: page)
            let bit = SpaceMap.bit(of: page)
            used[region][bit / 64] &= ~(1 << UInt64(bit % 64))
            if (region, bit / 64) < hint { hint = (region, bit / 64) }
        }
        recycled.removeAll()
        noted = 0
        shortestMissing = .max
    }

    /// Frees pages that were allocated and never published.
    func recycle(_ pages: [UInt64]) { for page in pages { recycled.append(page) } }

    /// Frees pages that were allocated and never published.
    func recycle(_ pages: PackedList<UInt64>) { recycled.append(contentsOf: pages) }

    private func addRegion() {
        let words = SpaceMap.emptyBitmap(region: used.count)
        used.append(words)
        live.append(words)
        changed.append(true)
    }

    // MARK: Born and freed pages

    /// Applies a commit to the map of live pages: the pages that it allocated and removed.
    func enter(allocated: PackedList<UInt64>, freed: PackedList<DeadPage>) {
        allocated.forEach { setLive($0, true) }
        freed.forEach { setLive($0.page, false) }
    }

    /// Frees the pages that a published commit removed, or queues them for the points that see them.
    ///
    /// - Parameters:
    ///   - freedAt: the commit's point. For a group it may be that of the last commit, because no snapshot sees the
    ///     versions before it.
    ///   - points: the points of all snapshots and retained checkpoints, in ascending order.
    func bury(_ freed: PackedList<DeadPage>, freedAt: UInt64, points: [UInt64]) {
        freed.forEach { place($0.page, bornAt: $0.bornAt, freedAt: freedAt, points) }
    }

    /// Undoes `enter` for a commit that failed.
    ///
    /// - Parameter point: pages born before it existed before the commit.
    func withdraw(allocated: PackedList<UInt64>, freed: PackedList<DeadPage>, bornSince point: UInt64) {
        freed.forEach { if $0.bornAt < point { setLive($0.page, true) } }
        allocated.forEach { setLive($0, false) }
    }

    /// Calls a closure with the pages that were recycled since the last call, whose frames are no longer needed.
    @inline(__always)
    func forEachRecycled(_ body: (UInt64) -> Void) {
        recycled.forEach(from: noted, body)
        noted = recycled.count
    }

    /// Returns the number of dead pages that became free since the last call.
    func takeFreed() -> Int {
        defer { freed = 0 }
        return freed
    }

    func setLive(_ page: UInt64, _ isLive: Bool) {
        let region = SpaceMap.region(of: page)
        // A damaged entry may name pages beyond the file.
        guard region < live.count else { return }
        let bit = SpaceMap.bit(of: page)
        let mask: UInt64 = 1 << UInt64(bit % 64)
        if isLive { live[region][bit / 64] |= mask } else { live[region][bit / 64] &= ~mask }
        if !changed[region] { changed[region] = true }
    }

    func isLive(_ page: UInt64) -> Bool {
        let region = SpaceMap.region(of: page)
        let bit = SpaceMap.bit(of: page)
        return region < live.count && live[region][bit / 64] & 1 << UInt64(bit % 64) != 0
    }

    /// Frees a dead page, or queues it for the oldest point that sees it. `points` must be in ascending order.
    private func place(_ page: UInt64, bornAt: UInt64, freedAt: UInt64, _ points: [UInt64]) {
        guard SpaceMap.region(of: page) < live.count else { return }
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle] > bornAt { high = middle } else { low = middle + 1 }
        }
        if low < points.count && points[low] < freedAt {
            wait(page, freedAt: freedAt, for: points[low])
        } else {
            assert(low == 0 || points[low - 1] <= bornAt, "invariant 4: no point sees a page that is reused")
            recycled.append(page)
            freed += 1
        }
    }

    private func wait(_ page: UInt64, freedAt: UInt64, for point: UInt64) {
        let index = place(of: point)
        if index == waiting.count || waiting[index].point != point {
            waiting.insert(WaitingPages(point: point), at: index)
        }
        waiting[index].pages.append(.init(page: page, freedAt: freedAt))
        waitingCount += 1
    }

    /// Returns the position of a point in `waiting`, or where to insert it.
    private func place(of point: UInt64) -> Int {
        var low = 0
        var high = waiting.count
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle].point < point { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The memory of the lists of dead and free pages in bytes.
    var listBytes: Int { waiting.reduce(recycled.bytes) { $0 + $1.pages.bytes } }

    /// The memory of the bitmaps in bytes.
    var bitmapBytes: Int {
        let words = live.reduce(0) { $0 + $1.count } + used.reduce(0) { $0 + $1.count }
        return words * MemoryLayout<UInt64>.stride
    }

    /// Returns the number of pages that wait for a point. When it is released they are freed, unless later points see
    /// them.
    func waiting(for point: UInt64) -> Int {
        let index = place(of: point)
        return index < waiting.count && waiting[index].point == point ? waiting[index].pages.count : 0
    }

    /// Examines the pages again that waited for released points.
    ///
    /// - Parameter points: the remaining points, in ascending order.
    func release(points: [UInt64]) {
        var gone: [WaitingPages] = []
        var index = 0
        var next = 0
        while index < waiting.count {
            let point = waiting[index].point
            while next < points.count, points[next] < point { next += 1 }
            if next < points.count, points[next] == point { index += 1 } else { gone.append(waiting.remove(at: index)) }
        }
        for gone in gone {
            waitingCount -= gone.pages.count
            // No older point sees them, so the released point is the lower bound.
            gone.pages.forEach { place($0.page, bornAt: gone.point, freedAt: $0.freedAt, points) }
        }
    }

    // MARK: Checkpoints

    /// Returns the bitmaps of the regions that changed since the last call.
    func takeChanges() -> [(region: Int, words: [UInt64])] {
        var changes: [(region: Int, words: [UInt64])] = []
        for region in 0..<live.count where changed[region] {
            changes.append((region, live[region]))
            changed[region] = false
        }
        return changes
    }

    /// Marks the region of a page as changed, so that the next checkpoint writes its bitmap.
    func touch(_ page: UInt64) { changed[SpaceMap.region(of: page)] = true }

    static func set(_ page: UInt64, in words: inout [UInt64]) {
        let bit = SpaceMap.bit(of: page)
        words[bit / 64] |= 1 << UInt64(bit % 64)
    }

    static func clear(_ page: UInt64, in regions: inout [[UInt64]]) {
        let bit = SpaceMap.bit(of: page)
        regions[region(of: page)][bit / 64] &= ~(1 << UInt64(bit % 64))
    }

    /// Marks regions as changed again after a failed checkpoint.
    func restoreChanges(_ regions: [Int]) { for region in regions { changed[region] = true } }

    /// Starts from the bitmaps of the retained checkpoints.
    ///
    /// Pages that only the older one uses wait until it is released.
    ///
    /// - Parameter directory: pages of the newer checkpoint that belong to no version. They are inside its regions.
    func load(current: [[UInt64]], directory: [UInt64], older: [[UInt64]]?, olderPoint: UInt64) {
        live = current
        used = current
        for page in directory { SpaceMap.set(page, in: &used[SpaceMap.region(of: page)]) }
        changed = [Bool](repeating: false, count: current.count)
        hint = (0, 0)
        defer { top = extent }
        guard let older else { return }
        for (region, words) in older.enumerated() {
            while used.count <= region { addRegion() }
            for (index, word) in words.enumerated() {
                var only = word & ~used[region][index]
                used[region][index] |= word
                while only != 0 {
                    let bit = only.trailingZeroBitCount
                    only &= only - 1
                    let page = SpaceMap.page(region: region, bit: index * 64 + bit)
                    wait(page, freedAt: olderPoint + 1, for: olderPoint)
                }
            }
        }
    }

    /// Keeps pages for versions whose pages are unknown: all that the latest version does not use, up to the end of the
    /// file.
    ///
    /// - Parameters:
    ///   - oldest: the oldest of the points of these versions.
    ///   - newest: the newest of them.
    func keepAllUnused(of filePages: UInt64, from oldest: UInt64, upTo newest: UInt64) {
        settle()
        // The pages that wait for a later point may be of these versions, too. They must wait for the oldest point that
        // may see them, because the release of their point does not look at older ones.
        for group in waiting where group.point > oldest {
            waiting.remove(at: place(of: group.point))
            waitingCount -= group.pages.count
            group.pages.forEach { wait($0.page, freedAt: max($0.freedAt, newest + 1), for: oldest) }
        }
        while SpaceMap.page(region: used.count, bit: 0) < filePages { addRegion() }
        for page in 0..<filePages {
            let region = SpaceMap.region(of: page)
            let bit = SpaceMap.bit(of: page)
            guard used[region][bit / 64] & 1 << UInt64(bit % 64) == 0 else { continue }
            used[region][bit / 64] |= 1 << UInt64(bit % 64)
            wait(page, freedAt: newest + 1, for: oldest)
        }
    }

    /// Computes the last used page again, after pages behind it were freed.
    func forgetTop() {
        settle()
        top = extent
    }

    /// Returns the number of pages below `end` that can be allocated.
    func freeCount(below end: UInt64) -> Int {
        var taken = 0
        for (region, words) in used.enumerated() {
            let start = SpaceMap.page(region: region, bit: 0)
            guard start < end else { break }
            let (whole, rest) = Int(min(end - start, UInt64(SpaceMap.pagesPerRegion))).quotientAndRemainder(
                dividingBy: 64)
            for word in words[..<whole] { taken += word.nonzeroBitCount }
            if rest > 0 { taken += (words[whole] & (1 << UInt64(rest) - 1)).nonzeroBitCount }
        }
        var ready = 0
        recycled.forEach { if $0 < end { ready += 1 } }
        return Int(clamping: end) - taken + ready
    }

    /// The number of pages of the latest version, the fixed pages included.
    var liveCount: Int { live.reduce(0) { $0 + $1.reduce(0) { $0 + $1.nonzeroBitCount } } }

    /// Removes empty regions at the end.
    ///
    /// No checkpoint may be running.
    func dropEmptyRegions() {
        settle()
        while live.count > 1, let last = used.last {
            let isEmpty = last.enumerated().allSatisfy { index, word in
                word == (index == 0 ? SpaceMap.reservedBits(region: used.count - 1) : 0)
            }
            guard isEmpty else { break }
            used.removeLast()
            live.removeLast()
            changed.removeLast()
        }
        // The hint stays valid: it is not after the removed regions, because those were empty.
    }

    /// The number of pages up to the last used one.
    var extent: UInt64 {
        for region in (0..<used.count).reversed() {
            for word in (0..<SpaceMap.wordsPerRegion).reversed() where used[region][word] != 0 {
                return SpaceMap.page(
                    region: region, bit: word * 64 + 64 - used[region][word].leadingZeroBitCount)
            }
        }
        return 0
    }
}
