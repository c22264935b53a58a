/// Pages that commits brought and removed.
struct ChangedPages {
    var allocated = PackedList<UInt64>()
    var freed = PackedList<SpaceMap.DeadPage>()

    /// The memory that they take.
    var bytes: Int { allocated.bytes + freed.bytes }

    /// Empties the lists. The memory of short ones is kept.
    mutating func removeAll() {
        allocated.removeAll()
        freed.removeAll()
    }

    /// Puts other ones, which are empty afterwards, behind these.
    mutating func append(_ other: inout ChangedPages) {
        if allocated.isEmpty && freed.isEmpty { return swap(&self, &other) }
        allocated.append(contentsOf: other.allocated)
        freed.append(contentsOf: other.freed)
        other.removeAll()
    }

    /// Takes the first ones off.
    mutating func removeFirst(allocated first: Int, freed second: Int) -> ChangedPages {
        ChangedPages(allocated: allocated.removeFirst(first), freed: freed.removeFirst(second))
    }
}
