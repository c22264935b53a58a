/// Pages that commits brought and removed.
struct ChangedPages {
    private static let keptCount = 1024
    private static let fewPages = 16

    var allocated: [UInt64] = []
    var freed: [SpaceMap.DeadPage] = []

    /// Empties the lists. Long ones are given back to the system.
    mutating func removeAll() {
        ChangedPages.empty(&allocated)
        ChangedPages.empty(&freed)
    }

    @inline(__always)
    static func empty<Element>(_ list: inout [Element]) {
        if list.isEmpty { return }
        // Taking off a few costs less than the general way.
        if list.count <= fewPages {
            while list.popLast() != nil {}
            return
        }
        list.removeAll(keepingCapacity: list.capacity <= keptCount)
    }

    /// Puts other ones, which are empty afterwards, behind these.
    mutating func append(_ other: inout ChangedPages) {
        if allocated.isEmpty && freed.isEmpty { return swap(&self, &other) }
        allocated.append(contentsOf: other.allocated)
        freed.append(contentsOf: other.freed)
        other.removeAll()
    }

    /// Takes out those of the pages from a position on that `isGone` answers true for.
    mutating func removeAllocated(from first: Int, where isGone: (UInt64) -> Bool) {
        var kept = first
        for index in first..<max(first, allocated.count) where !isGone(allocated[index]) {
            allocated[kept] = allocated[index]
            kept += 1
        }
        allocated.removeLast(allocated.count - kept)
    }

    /// Takes the first ones off.
    mutating func removeFirst(allocated first: Int, freed second: Int) -> ChangedPages {
        let taken = ChangedPages(allocated: Array(allocated[..<first]), freed: Array(freed[..<second]))
        allocated.removeFirst(first)
        freed.removeFirst(second)
        return taken
    }
}
