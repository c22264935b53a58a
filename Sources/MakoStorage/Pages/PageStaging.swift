/// Memory for the copies of pages on their way to the file, kept from one writer of pages to the next: what an allocator has in between would find
/// its place there, and the next writer none.
final class PageStaging: @unchecked Sendable {
    private static let mostPages = 64
    private static let fewPages = 8
    /// One part in so many of a small budget.
    private static let budgetShare = 128

    private let lock = Lock()
    // Guarded by `lock`.
    private var idle: BufferMemory?

    deinit { idle?.deallocate() }

    static func pages(ofBudget frames: Int) -> Int { max(fewPages, min(mostPages, frames / budgetShare)) }

    func take(pages: Int) -> BufferMemory {
        let found = lock.withLock {
            let found = idle
            idle = nil
            return found
        }
        if let found, found.count >= pages * pageBytes { return found }
        found?.deallocate()
        return BufferMemory(pages * pageBytes, alignment: pageBytes)
    }

    func giveBack(_ memory: BufferMemory) {
        let leaving = lock.withLock {
            // A few pages are taken and given back by the allocator as well.
            guard memory.count > PageStaging.fewPages * pageBytes, idle == nil else { return Optional(memory) }
            idle = memory
            return nil
        }
        leaving?.deallocate()
    }
}
