import Synchronization

/// A table from page id to frame, and a mark for each block of its entries.
///
/// A block is the entries of one system page, or of one huge page. Its mark says that the block may have entries that
/// are not 0. The memory of a block without a mark was never touched, or was given back. Entries are read without a
/// lock; marks, and entries that are set, under `FrameStore.tableLock`.
struct PageTable {
    typealias Entry = Atomic<UInt32>

    let start: UnsafeMutablePointer<Entry>
    let count: Int
    private let marks: UnsafeMutablePointer<UInt8>
    /// The base-2 logarithm of the entries of a block.
    private let blockShift: Int

    fileprivate init(_ memory: UnsafeMutableRawPointer, count: Int, blockShift: Int) {
        start = memory.bindMemory(to: Entry.self, capacity: count)
        self.count = count
        self.blockShift = blockShift
        let marks = memory + count * MemoryLayout<Entry>.stride
        self.marks = marks.bindMemory(to: UInt8.self, capacity: count >> blockShift)
    }

    private var blockCount: Int { count >> blockShift }
    private var blockBytes: Int { MemoryLayout<Entry>.stride << blockShift }

    /// Marks the block of an entry, before the entry is set.
    ///
    /// - Returns: the bytes of the block if it had no mark, else 0.
    func use(_ slot: Int) -> Int {
        let block = slot >> blockShift
        if marks[block] != 0 { return 0 }
        marks[block] = 1
        SystemMemory.reuse(UnsafeMutableRawPointer(start + block << blockShift), blockBytes)
        return blockBytes
    }

    /// Gives the memory of the marked blocks back to the system whose entries are all 0. Lookups find 0 before and after.
    ///
    /// - Returns: the bytes that were given back.
    func returnBlocks() -> Int {
        var returned = 0
        for block in 0..<blockCount where marks[block] != 0 {
            let first = block << blockShift
            let isUsed = (first..<first + 1 << blockShift).contains { start[$0].load(ordering: .relaxed) != 0 }
            if isUsed { continue }
            SystemMemory.giveBack(UnsafeMutableRawPointer(start + first), blockBytes)
            marks[block] = 0
            returned += blockBytes
        }
        return returned
    }
}

/// The tables from page id to frame of a frame store, in address space that grows with the file.
///
/// A larger table starts with a copy of the smaller one. The smaller one stays readable until the store is closed: an
/// operation that has the old address finds the state at the time of the copy, and a frame is reused only after that
/// operation has ended. Code that changes entries always uses the new table, because it holds the writer lock, or a
/// lock that was held while the table grew. Only the writer adds tables.
struct PageTables: ~Copyable {
    /// Entries for a file of 16 GiB; 16 MiB of address space.
    static let leastEntries = 1 << 22
    /// Entries for a file of 1 TiB; 1 GiB of address space.
    static let mostEntries = 1 << 28
    private static let alignment = 2 << 20

    private let wantsHugePages: Bool
    private var tables: [PageTable] = []

    init(wantsHugePages: Bool) { self.wantsHugePages = wantsHugePages }

    /// Returns a zeroed table for at least `pages` pages; nil above the largest size, or when the address space is too
    /// small.
    mutating func add(covering pages: UInt64) -> PageTable? {
        var count = PageTables.leastEntries
        while UInt64(count) < pages && count < PageTables.mostEntries { count *= 4 }
        guard pages <= UInt64(count),
            let memory = SystemMemory.reserve(reserved(count), alignment: PageTables.alignment)
        else { return nil }
        // Not for the entries of the first 2 GiB: a small file uses few of them, and the system would clear 2 MiB when
        // the first page is read.
        let first = PageTables.alignment
        if wantsHugePages { SystemMemory.wantHugePages(memory + first, count * PageTables.entryBytes - first) }
        let table = PageTable(memory, count: count, blockShift: blockShift)
        tables.append(table)
        return table
    }

    private static let entryBytes = MemoryLayout<PageTable.Entry>.stride

    private var blockShift: Int {
        ((wantsHugePages ? PageTables.alignment : SystemMemory.pageBytes) / PageTables.entryBytes)
            .trailingZeroBitCount
    }

    /// The address space of a table and its marks in bytes.
    private func reserved(_ count: Int) -> Int {
        let marks = count >> blockShift
        return count * PageTables.entryBytes + (marks + SystemMemory.pageBytes - 1) & ~(SystemMemory.pageBytes - 1)
    }

    /// The address space of all tables in bytes.
    var reservedBytes: Int { tables.reduce(0) { $0 + reserved($1.count) } }

    /// Gives the memory back to the system. Nothing may be looked up afterwards.
    func discard() {
        for table in tables { SystemMemory.giveBack(UnsafeMutableRawPointer(table.start), reserved(table.count)) }
    }

    deinit {
        for table in tables { SystemMemory.release(UnsafeMutableRawPointer(table.start), reserved(table.count)) }
    }
}
