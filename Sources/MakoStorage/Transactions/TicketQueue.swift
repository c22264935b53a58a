/// A queue that anyone in it can leave: who came first is served first, and leaving costs no search.
struct TicketQueue<Element> {
    private var elements: [UInt64: Element] = [:]
    private var nextTicket: UInt64 = 0
    /// No lower ticket is in the queue.
    private var oldest: UInt64 = 0

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }

    /// Joins at the end.
    mutating func append(_ element: Element) -> UInt64 {
        defer { nextTicket += 1 }
        elements[nextTicket] = element
        return nextTicket
    }

    /// Takes out who has waited longest. Each ticket is passed by once, those of the ones that left included.
    mutating func popFirst() -> Element? {
        while oldest < nextTicket {
            defer { oldest += 1 }
            if let element = elements.removeValue(forKey: oldest) { return element }
        }
        return nil
    }

    /// Takes out who came last.
    mutating func popLast() -> Element? { elements.keys.max().flatMap { elements.removeValue(forKey: $0) } }

    /// Leaves the queue. Nil when the ticket was served already.
    mutating func remove(_ ticket: UInt64) -> Element? { elements.removeValue(forKey: ticket) }
}
