import MakoStorage

/// Related-row cache of one to-one step, for the time of a query: many rows refer to few, and each of those is read
/// once.
final class RelatedRowCache {
    private static let capacity = 512

    private struct RelatedPlace {
        var state: UInt8 = 0
        var id: Int64 = 0
        var capacity = 0
        var memory: UnsafeMutableRawPointer?
        var row: RowReader?
    }

    private let join: JoinNode
    private let view: Snapshot
    private let places: UnsafeMutablePointer<RelatedPlace>
    private let count: Int
    /// For targets with key columns only.
    private var keys: [[UInt8]]
    private var buffer = KeyBuffer()

    init(_ join: JoinNode, _ view: Snapshot) {
        self.join = join
        self.view = view
        // A row that a join supplies needs no cache.
        count = join.isSupplied ? 0 : RelatedRowCache.capacity
        places = .allocate(capacity: count)
        places.initialize(repeating: RelatedPlace(), count: count)
        keys = join.target.isRowID ? [] : Array(repeating: [], count: RelatedRowCache.capacity)
    }

    deinit {
        for index in 0..<count { places[index].memory?.deallocate() }
        places.deallocate()
    }

    /// Returns the row that the reference in `row` leads to, valid until the next call; `nil` if the reference is NULL
    /// or the row is missing.
    func find(_ row: RowReader) throws(RecordError) -> RowReader? {
        guard let field = row.address(join.slot) else { return nil }
        if join.target.isRowID {
            let id = Int64(bitPattern: row.word(field))
            let place = Int(truncatingIfNeeded: (UInt64(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15) >> 55)
            if places[place].state == 0 || places[place].id != id {
                try fill(place, .rowID(id))
            }
            return places[place].row
        }
        buffer.clear()
        buffer.append(row, join.slot)
        let place = Int(truncatingIfNeeded: KeyHash.hash(buffer.raw).0 >> 55)
        if places[place].state == 0 || keys[place].withUnsafeBytes({ KeyOrder.compareRaw($0, buffer.raw) }) != 0 {
            let key = buffer.bytes
            keys[place] = key
            try fill(place, .bytes(key))
        }
        return places[place].row
    }

    private func fill(_ place: Int, _ key: RowKey) throws(RecordError) {
        let target = join.target
        places[place].state = 1
        places[place].id = key.rowID ?? 0
        places[place].row = nil
        try recorded {
            _ = try target.withBytes(key, in: view) { bytes in
                if bytes.count > places[place].capacity {
                    places[place].memory?.deallocate()
                    places[place].capacity = bytes.count * 2
                    places[place].memory = .allocate(byteCount: bytes.count * 2, alignment: 8)
                }
                guard let memory = places[place].memory, let source = bytes.baseAddress else { return }
                memory.copyMemory(from: source, byteCount: bytes.count)
                places[place].row = try RowReader(
                    UnsafeRawBufferPointer(start: memory, count: bytes.count), target.layout)
            }
        }
    }
}
