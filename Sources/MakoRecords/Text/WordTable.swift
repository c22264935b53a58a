/// A hash table of distinct words, numbered in the order of insertion.
struct WordTable: ~Copyable {
    /// The memory of a word beside its bytes.
    static let wordBytes = 72

    private struct Slot {
        var head: UInt64 = 0
        /// No word is empty: 0 marks a free slot.
        var length: Int32 = 0
        var number: Int32 = 0
    }

    private struct Word {
        /// The word's first bytes, mostly all of it.
        let head: UInt64
        let hash: UInt64
        let offset: Int
        let length: Int
    }

    private var words: [Word] = []
    /// The words' bytes, contiguous.
    private var content = KeyBuffer()
    /// Words by hash. The size is a power of two.
    private var slots: [Slot]

    init(room: Int) { slots = Array(repeating: Slot(), count: room) }

    var count: Int { words.count }

    func term(_ number: Int) -> UnsafeRawBufferPointer {
        content.raw(from: words[number].offset, to: words[number].offset + words[number].length)
    }

    /// Returns the number of a word, which is inserted if it is new.
    ///
    /// - Parameter head: its first eight bytes, as ``KeyBuffer/head(from:to:)`` returns them.
    @inline(__always)
    mutating func number(of term: UnsafeRawBufferPointer, head: UInt64) -> Int {
        let hash = KeyOrder.hash(term, head: head)
        let length = Int32(truncatingIfNeeded: term.count)
        let mask = slots.count &- 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while slots[place].length != 0 {
            let slot = slots[place]
            if slot.head == head, slot.length == length {
                let number = Int(slot.number)
                if length <= 8 || KeyOrder.compareRaw(self.term(number), term) == 0 { return number }
            }
            place = (place &+ 1) & mask
        }
        return add(term, head, hash, place)
    }

    @inline(never)
    private mutating func add(_ term: UnsafeRawBufferPointer, _ head: UInt64, _ hash: UInt64, _ place: Int) -> Int {
        let number = words.count
        let length = Int32(truncatingIfNeeded: term.count)
        slots[place] = Slot(head: head, length: length, number: Int32(truncatingIfNeeded: number))
        words.append(Word(head: head, hash: hash, offset: content.count, length: term.count))
        content.append(raw: term)
        if words.count * 2 > slots.count { grow() }
        return number
    }

    private mutating func grow() {
        slots = Array(repeating: Slot(), count: slots.count * 4)
        let mask = slots.count - 1
        for (number, word) in words.enumerated() {
            var place = Int(truncatingIfNeeded: word.hash) & mask
            while slots[place].length != 0 { place = (place + 1) & mask }
            slots[place] = Slot(head: word.head, length: Int32(word.length), number: Int32(number))
        }
    }

    /// Returns the numbers of the words in byte order.
    func sorted() -> [Int32] {
        var order: [(head: UInt64, number: Int32)] = []
        order.reserveCapacity(words.count)
        for (number, word) in words.enumerated() { order.append((word.head, Int32(number))) }
        order.sort { $0.head < $1.head }
        var start = 0
        while start < order.count {
            var end = start + 1
            while end < order.count, order[end].head == order[start].head { end += 1 }
            if end - start > 1 {
                order[start..<end].sort { KeyOrder.compareRaw(term(Int($0.number)), term(Int($1.number))) < 0 }
            }
            start = end
        }
        return order.map(\.number)
    }

    mutating func removeAll() {
        if words.isEmpty { return }
        words.removeAll(keepingCapacity: true)
        content.clear()
        for place in slots.indices { slots[place] = Slot() }
    }
}
