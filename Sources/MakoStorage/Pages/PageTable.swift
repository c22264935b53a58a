import Synchronization

/// The tables from page id to frame of a frame store, in address space that grows with the file.
///
/// A larger table starts with a copy of the smaller one. The smaller one stays readable until the store is closed: an
/// operation that has the old address finds the state at the time of the copy, and a frame is reused only after that
/// operation has ended. Code that changes entries always uses the new table, because it holds the writer lock, or a
/// lock that was held while the table grew. Only the writer adds tables.
struct PageTables: ~Copyable {
    typealias Entry = Atomic<UInt32>

    /// Entries for a file of 16 GiB; 16 MiB of address space.
    static let leastEntries = 1 << 22
    /// Entries for a file of 1 TiB; 1 GiB of address space.
    static let mostEntries = 1 << 28
    private static let alignment = 2 << 20

    private let wantsHugePages: Bool
    private var tables: [(start: UnsafeMutablePointer<Entry>, count: Int)] = []

    init(wantsHugePages: Bool) { self.wantsHugePages = wantsHugePages }

    /// Returns a zeroed table for at least `pages` pages; nil above the largest size, or when the address space is too
    /// small.
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

    /// The address space of all tables in bytes.
    var reservedBytes: Int { tables.reduce(0) { $0 + $1.count * 4 } }

    /// Gives the memory back to the system. Nothing may be looked up afterwards.
    func discard() {
        for table in tables { SystemMemory.giveBack(UnsafeMutableRawPointer(table.start), table.count * 4) }
    }

    deinit {
        for table in tables { SystemMemory.release(UnsafeMutableRawPointer(table.start), table.count * 4) }
    }
}
