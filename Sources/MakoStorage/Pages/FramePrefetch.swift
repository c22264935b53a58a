import CPlatform

/// What the processor is asked for ahead of time, of pages that are in memory.
extension FrameStore {
    /// The lines of a page that a search will touch first.
    @inline(__always)
    func prefetchLeaf(_ reference: PageReference) { prefetch(reference, lines: 6) }

    /// The header of a page.
    @inline(__always)
    func prefetchHeader(_ reference: PageReference) { prefetch(reference, lines: 1) }

    /// The first quarter of a page that will be copied soon.
    @inline(__always)
    func prefetchPage(_ reference: PageReference) { prefetch(reference, lines: 16) }

    /// All of a page, upwards.
    @inline(__always)
    func prefetchAll(_ reference: PageReference) { prefetch(reference, lines: 64) }

    /// All of a page, from its end on.
    @inline(__always)
    func prefetchDownwards(_ reference: PageReference) {
        guard let frame = frame(inMemory: reference) else { return }
        var place = pageBytes &- 64
        while place >= 0 {
            mako_prefetch(frame + place)
            place &-= 64
        }
    }

    /// What a walk over a leaf will touch first: its header, keys and slots, and the end of the page, where the records of its first keys stand
    /// when they came in order.
    @inline(__always)
    func prefetchWalk(_ reference: PageReference) {
        guard let frame = frame(inMemory: reference) else { return }
        for line in 0..<8 { mako_prefetch(frame + line &* 64) }
        for line in 1...20 { mako_prefetch(frame + (pageBytes &- line &* 64)) }
    }

    /// The place in a node's heap where the next record will be written. Reads the header.
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
