/// The pages that commits allocated and freed.
struct ChangedPages {
    var allocated = PackedList<UInt64>()
    var freed = PackedList<SpaceMap.DeadPage>()

    /// The memory of the lists in bytes.
    var bytes: Int { allocated.bytes + freed.bytes }

    /// Empties the lists. Keeps the memory of short lists.
    mutating func removeAll() {
        allocated.removeAll()
        freed.removeAll()
    }

    /// Appends the pages of `other`, which is empty afterwards.
    mutating func append(_ other: inout ChangedPages) {
        if allocated.isEmpty && freed.isEmpty { return swap(&self, &other) }
        allocated.append(contentsOf: other.allocated)
        freed.append(contentsOf: other.freed)
        other.removeAll()
    }

    /// Removes the first pages, and returns them.
    mutating func removeFirst(allocated first: Int, freed second: Int) -> ChangedPages {
        ChangedPages(allocated: allocated.removeFirst(first), freed: freed.removeFirst(second))
    }
}
