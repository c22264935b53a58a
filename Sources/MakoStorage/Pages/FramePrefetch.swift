import CPlatform

/// Prefetches the cache lines of pages in memory.
extension FrameStore {
    /// Prefetches the lines of a page that a search reads first.
    @inline(__always)
    func prefetchLeaf(_ reference: PageReference) { prefetch(reference, lines: 6) }

    /// Prefetches the header of a page.
    @inline(__always)
    func prefetchHeader(_ reference: PageReference) { prefetch(reference, lines: 1) }

    /// Prefetches the first quarter of a page, before it is copied.
    @inline(__always)
    func prefetchPage(_ reference: PageReference) { prefetch(reference, lines: 16) }

    /// Prefetches a whole page in ascending order.
    @inline(__always)
    func prefetchAll(_ reference: PageReference) { prefetch(reference, lines: 64) }

    /// Prefetches a whole page in descending order.
    @inline(__always)
    func prefetchDownwards(_ reference: PageReference) {
        guard let frame = frame(inMemory: reference) else { return }
        var place = pageBytes &- 64
        while place >= 0 {
            mako_prefetch(frame + place)
            place &-= 64
        }
    }

    /// Prefetches what a scan of a leaf reads first: the header, keys and slots, and the end of the page, where the
    /// first records are if they were inserted in order.
    @inline(__always)
    func prefetchScan(_ reference: PageReference) {
        guard let frame = frame(inMemory: reference) else { return }
        for line in 0..<8 { mako_prefetch(frame + line &* 64) }
        for line in 1...20 { mako_prefetch(frame + (pageBytes &- line &* 64)) }
    }

    /// Prefetches the place in a node's heap where the next record will be written. Reads the header.
    @inline(__always)
    func prefetchHeap(_ reference: PageReference) {
        guard let frame = frame(inMemory: reference) else { return }
        let heap = Page(frame).heap & (pageBytes &- 1)
        mako_prefetch(frame + heap)
        mako_prefetch(frame + max(0, heap &- 64))
        mako_prefetch(frame + max(0, heap &- 128))
    }

    @inline(__always)
    private func prefetch(_ reference: PageReference, lines: Int) {
        guard let frame = frame(inMemory: reference) else { return }
        for line in 0..<lines { mako_prefetch(frame + line &* 64) }
    }
}
