import Synchronization

/// The tables from page number to frame that a frame store has had, in address space that grows with the file.
///
/// A larger table gets the entries of the smaller one, which stays readable until the store goes: an operation that has the old address finds
/// there what was so when the table grew, and a frame is reused only after that operation has ended. What changes entries sees the new
/// table, because it has the turn, or a lock that was held while the table grew. Changed by the writer alone.
struct PageTables: ~Copyable {
    typealias Entry = Atomic<UInt32>

    /// Covers a file of 16 GiB and takes 16 MiB of address space.
    static let leastEntries = 1 << 22
    /// Covers a file of 1 TiB and takes 1 GiB of address space.
    static let mostEntries = 1 << 28
    private static let alignment = 2 << 20

    private let wantsHugePages: Bool
    private var tables: [(start: UnsafeMutablePointer<Entry>, count: Int)] = []

    init(wantsHugePages: Bool) { self.wantsHugePages = wantsHugePages }

    /// A table of zeros that covers at least `pages`, or nil: no table is as large, or the address space too small.
    mutating func add(covering pages: UInt64) -> (start: UnsafeMutablePointer<Entry>, count: Int)? {
        var count = PageTables.leastEntries
        while UInt64(count) < pages && count < PageTables.mostEntries { count *= 4 }
        guard pages <= UInt64(count), let memory = SystemMemory.reserve(count * 4, alignment: PageTables.alignment)
        else {
            return nil
        }
        if wantsHugePages { SystemMemory.wantHugePages(memory, count * 4) }
        let table = (memory.bindMemory(to: Entry.self, capacity: count), count)
        tables.append(table)
        return table
    }

    /// Address space of all tables, in bytes.
    var reservedBytes: Int { tables.reduce(0) { $0 + $1.count * 4 } }

    /// Gives the memory back. Nothing may be looked up any more.
    func discard() {
        for table in tables { SystemMemory.giveBack(UnsafeMutableRawPointer(table.start), table.count * 4) }
    }

    deinit {
        for table in tables { SystemMemory.release(UnsafeMutableRawPointer(table.start), table.count * 4) }
    }
}
