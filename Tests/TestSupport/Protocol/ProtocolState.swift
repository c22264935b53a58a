// A model of the engine's protocol: publishing, pinning, reusing slots, checkpoints and the retirement of the log,
// without bytes. The database has two pages, one for each writer; a commit copies its writer's page to another slot. So
// each commit writes exactly one page, and "the page that commit 3 wrote" fully describes a slot's content.

/// Sixteen numbers below 16.
struct Nibbles: Hashable {
    private var bits: UInt64 = 0

    subscript(_ index: Int) -> Int {
        get { Int(bits >> UInt64(index * 4) & 15) }
        set { bits = bits & ~(15 << UInt64(index * 4)) | UInt64(newValue) << UInt64(index * 4) }
    }
}

/// Two of a kind, in place: the model makes millions of states.
struct Pair<Element: Hashable>: Hashable {
    private var first: Element
    private var second: Element

    init(_ both: Element) {
        first = both
        second = both
    }

    subscript(_ index: Int) -> Element {
        get { index == 0 ? first : second }
        set { if index == 0 { first = newValue } else { second = newValue } }
    }
}

/// A set of numbers below 16.
struct SmallSet: Hashable, Sequence {
    private var bits: UInt16 = 0

    init() {}
    init(_ elements: some Sequence<Int>) { for element in elements { insert(element) } }

    var isEmpty: Bool { bits == 0 }
    var first: Int? { bits == 0 ? nil : bits.trailingZeroBitCount }
    func contains(_ element: Int) -> Bool { bits >> UInt16(element) & 1 == 1 }
    mutating func insert(_ element: Int) { bits |= 1 << UInt16(element) }
    mutating func remove(_ element: Int) { bits &= ~(1 << UInt16(element)) }
    mutating func formUnion(_ other: SmallSet) { bits |= other.bits }

    func makeIterator() -> AnyIterator<Int> {
        var rest = bits
        return AnyIterator {
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }
}

/// Everything that decides what can happen next. Commits are counted from 0, the state at the beginning.
struct ProtocolState: Hashable {
    enum WriterPhase: UInt8 { case idle, holdsWriterLock, hasPage, waits }
    enum ReaderPhase: UInt8 { case idle, loaded, announced, pinned }
    enum FlushPhase: UInt8 { case idle, taken, synced, shown }
    enum CheckpointPhase: UInt8 { case idle, pagesTaken, captured, written, dataSynced, logSynced, metaWritten }

    struct Writer: Hashable {
        private var numbers = Nibbles()
        var phase = WriterPhase.idle
        /// The commit it builds on, later the commit it made.
        var commit: Int {
            get { numbers[0] }
            set { numbers[0] = newValue }
        }
        var slot: Int {
            get { numbers[1] }
            set { numbers[1] = newValue }
        }
    }

    struct Reader: Hashable {
        private var numbers = Nibbles()
        var phase = ReaderPhase.idle
        /// The version that it loaded.
        var version: Int {
            get { numbers[0] }
            set { numbers[0] = newValue }
        }
        /// Its point in the registry, plus one; 0: nothing.
        var point: Int {
            get { numbers[1] }
            set { numbers[1] = newValue }
        }
        var done: Int {
            get { numbers[2] }
            set { numbers[2] = newValue }
        }
    }

    struct Checkpoint: Hashable {
        private var numbers = Nibbles()
        var phase = CheckpointPhase.idle
        var pages = SmallSet()
        var version: Int {
            get { numbers[0] }
            set { numbers[0] = newValue }
        }
        var done: Int {
            get { numbers[1] }
            set { numbers[1] = newValue }
        }
        /// The two that are retained, and the meta slot of the later.
        var last: Int {
            get { numbers[2] }
            set { numbers[2] = newValue }
        }
        var previous: Int {
            get { numbers[3] }
            set { numbers[3] = newValue }
        }
        var lastSlot: Int {
            get { numbers[4] }
            set { numbers[4] = newValue }
        }
    }

    // Memory: which page is where.

    /// By commit: the slots of both writers' pages, as that commit left them.
    var roots = Pair(Nibbles())
    /// The writer of each commit.
    var authors = Nibbles()
    /// By slot: the commit whose page is there, plus one; 0: none ever was.
    var memory = Nibbles()
    /// By slot: the commit that removed its page; 0: it lives.
    var deaths = Nibbles()
    var free = SmallSet()
    /// Dead, and seen by a snapshot or checkpoint when last looked at.
    var waiting = SmallSet()
    /// Published, and not in the data file.
    var dirty = SmallSet()

    // The device: durable and pending content. Plus one; 0: nothing.

    var durablePages = Nibbles()
    var pendingPages = Nibbles()
    var durableMetas = Nibbles()
    var pendingMetas = Nibbles()

    private var numbers = Nibbles()
    /// Commits in the log that no crash takes away.
    var durableLog: Int {
        get { numbers[0] }
        set { numbers[0] = newValue }
    }
    /// Commits before this one are no longer in the log.
    var logStart: Int {
        get { numbers[1] }
        set { numbers[1] = newValue }
    }
    var newest: Int {
        get { numbers[2] }
        set { numbers[2] = newValue }
    }
    var published: Int {
        get { numbers[3] }
        set { numbers[3] = newValue }
    }
    var acknowledged: Int {
        get { numbers[4] }
        set { numbers[4] = newValue }
    }
    /// The last commit of the group that is being flushed.
    var flushTarget: Int {
        get { numbers[5] }
        set { numbers[5] = newValue }
    }
    var usedSlots: Int {
        get { numbers[6] }
        set { numbers[6] = newValue }
    }
    /// Commits and rollbacks so far.
    var turns: Int {
        get { numbers[7] }
        set { numbers[7] = newValue }
    }

    var flush = FlushPhase.idle
    var turnIsTaken = false
    var writers = Pair(Writer())
    var readers = Pair(Reader())
    var checkpoint = Checkpoint()

    /// Both pages in place and durable, both metas of commit 0.
    init() {
        usedSlots = 2
        for page in 0..<2 {
            roots[page][0] = page
            memory[page] = 1
            durablePages[page] = 1
            durableMetas[page] = 1
        }
    }

    /// The commit that wrote the page that `version` has of a writer.
    func birth(page: Int, in version: Int) -> Int {
        var commit = version
        while commit > 0 && authors[commit] != page { commit -= 1 }
        return commit
    }

    /// Makes a slot ready for use and clears its content, so that a reader of it is noticed at once.
    mutating func release(_ slot: Int) {
        free.insert(slot)
        waiting.remove(slot)
        dirty.remove(slot)
        memory[slot] = 0
        deaths[slot] = 0
    }

    /// Whether a slot of a version holds what the version expects, on the device or in memory.
    func holds(_ places: Nibbles, _ version: Int) -> Bool {
        (0..<2).allSatisfy { places[roots[$0][version]] == birth(page: $0, in: version) + 1 }
    }

    /// The interval rule: a page is seen from its birth up to before its death.
    func isSeen(_ slot: Int, by points: SmallSet) -> Bool {
        let birth = memory[slot] - 1
        return points.contains { $0 >= birth && $0 < deaths[slot] }
    }
}
