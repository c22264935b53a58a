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

    /// Who has waited longest. Each ticket is passed by once, those of the ones that left included.
    mutating func first() -> (ticket: UInt64, element: Element)? {
        while oldest < nextTicket {
            if let element = elements[oldest] { return (oldest, element) }
            oldest += 1
        }
        return nil
    }

    /// Takes out who has waited longest.
    mutating func popFirst() -> Element? { first().flatMap { elements.removeValue(forKey: $0.ticket) } }

    /// Who came last.
    func last() -> (ticket: UInt64, element: Element)? {
        elements.max { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Leaves the queue. Nil when the ticket was served already.
    mutating func remove(_ ticket: UInt64) -> Element? { elements.removeValue(forKey: ticket) }
}
