/// A first-in, first-out queue whose elements can leave from any position in constant time.
struct TicketQueue<Element> {
    private var elements: [UInt64: Element] = [:]
    private var nextTicket: UInt64 = 0
    /// No lower ticket is in the queue.
    private var oldest: UInt64 = 0

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }

    /// Appends an element, and returns its ticket.
    mutating func append(_ element: Element) -> UInt64 {
        defer { nextTicket += 1 }
        elements[nextTicket] = element
        return nextTicket
    }

    /// Returns the oldest element. Skips each ticket that has left once.
    mutating func first() -> (ticket: UInt64, element: Element)? {
        while oldest < nextTicket {
            if let element = elements[oldest] { return (oldest, element) }
            oldest += 1
        }
        return nil
    }

    /// Removes the oldest element, and returns it.
    mutating func popFirst() -> Element? { first().flatMap { elements.removeValue(forKey: $0.ticket) } }

    /// Returns the newest element.
    func last() -> (ticket: UInt64, element: Element)? {
        elements.max { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Removes an element by its ticket, and returns it; nil if it was served already.
    mutating func remove(_ ticket: UInt64) -> Element? { elements.removeValue(forKey: ticket) }
}
