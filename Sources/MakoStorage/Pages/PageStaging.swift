/// Memory for copies of pages that are written to the file. It is kept between uses, because an allocator would
/// fragment it, and the next use would find no space for it.
final class PageStaging: @unchecked Sendable {
    private static let mostPages = 64
    private static let fewPages = 8
    /// The fraction of a small budget that it may take, as a divisor.
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
            // An allocator handles a few pages as well.
            guard memory.count > PageStaging.fewPages * pageBytes, idle == nil else { return Optional(memory) }
            idle = memory
            return nil
        }
        leaving?.deallocate()
    }
}
