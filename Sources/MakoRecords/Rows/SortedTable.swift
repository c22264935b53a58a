import MakoStorage

/// Keys and values in a file, in the order of the keys, that are looked up: memory has the first key of each block, and some of the blocks.
///
///     if try table.seek(key) {
///         repeat { use(table.value) } while try table.next()
///     }
///
/// Values of one key come in the order of the runs that it was made of. One thread uses it.
final class SortedTable {
    /// Of longer keys so much is kept.
    private static let keptKeyBytes = 256
    private static let fewestBlocks = 8

    private let file: SpillFile
    private let firstBlock: UInt64
    /// How many bytes the records have.
    private let bytes: UInt64
    /// The first keys of blocks in which a record begins, one behind the other.
    private var keys = KeyBuffer()
    private var entries: [(record: UInt64, keyEnd: Int)] = []

    /// Blocks in memory, each at the place that its number gives, and which ones they are.
    private let blocks: UnsafeMutableRawBufferPointer
    private var numbers: [UInt64]
    /// A record that lies in several blocks.
    private var key = KeyBuffer()
    private var scratch = KeyBuffer()
    private var wanted = KeyBuffer()

    /// Where the next record begins.
    private var place: UInt64 = 0
    /// The value of the record before, where ``seek(_:)`` or ``next()`` has answered true; valid until one of them is called again.
    private(set) var value = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Parameter memory: how many bytes blocks may take.
    init(_ runs: SortedRuns, memory: Int) throws(StorageError) {
        file = runs.file
        var merge = try runs.merge()
        var output = RunOutput(file)
        var indexed: UInt64?
        while try merge.next() {
            let record = output.written
            let block = record / UInt64(file.blockBytes)
            if block != indexed {
                indexed = block
                keys.append(raw: UnsafeRawBufferPointer(rebasing: merge.key.prefix(SortedTable.keptKeyBytes)))
                entries.append((record, keys.count))
            }
            try output.append(merge.key, merge.value)
        }
        bytes = output.written
        firstBlock = try output.end().lowerBound
        let count = max(SortedTable.fewestBlocks, memory / 2 / file.blockBytes)
        numbers = Array(repeating: .max, count: count)
        blocks = .allocate(byteCount: count * file.blockBytes, alignment: 16)
    }

    deinit { blocks.deallocate() }

    /// Memory that it holds.
    var memory: Int { blocks.count + keys.count + entries.count * MemoryLayout<(UInt64, Int)>.stride }

    /// Goes to the first record with a key. False: there is none.
    func seek(_ key: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        wanted.clear()
        wanted.append(raw: key)
        place = start()
        while let order = try read() { if order >= 0 { return order == 0 } }
        return false
    }

    /// Goes to the next record with the same key. False: there is none.
    func next() throws(StorageError) -> Bool { try read() == 0 }

    /// Reads the record at the place, and compares its key to the wanted one; nil: there is none.
    private func read() throws(StorageError) -> Int? {
        guard place < bytes else { return nil }
        var header: UInt64 = 0
        let stored = try raw(at: place, RunHeader.bytes, &scratch)
        for byte in (0..<RunHeader.bytes).reversed() { header = header << 8 | UInt64(stored[byte]) }
        guard let found = RunHeader(stored: header) else { throw file.isNotAsWritten }
        let keyPlace = place + UInt64(RunHeader.bytes)
        let valuePlace = keyPlace + UInt64(found.keyBytes)
        let end = valuePlace + UInt64(found.valueBytes)
        guard end <= bytes else { throw file.isNotAsWritten }
        let order = KeyOrder.compareRaw(try raw(at: keyPlace, found.keyBytes, &key), wanted.raw)
        // The place stays before a record that is behind those with the key.
        if order == 0 { value = try raw(at: valuePlace, found.valueBytes, &scratch) }
        place = end
        return order
    }

    /// Where to look from: at the last record of the index that surely comes before the wanted key.
    private func start() -> UInt64 {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            let kept = keys.raw(from: middle == 0 ? 0 : entries[middle - 1].keyEnd, to: entries[middle].keyEnd)
            let isCut = kept.count == SortedTable.keptKeyBytes
            let shared = isCut ? UnsafeRawBufferPointer(rebasing: wanted.raw.prefix(kept.count)) : wanted.raw
            if KeyOrder.compareRaw(kept, shared) < 0 { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? 0 : entries[low - 1].record
    }

    /// Bytes of the records, from a block in memory, or put together where they stand in several.
    private func raw(
        at place: UInt64, _ count: Int, _ pieces: inout KeyBuffer
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        if count == 0 { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let size = UInt64(file.blockBytes)
        let offset = Int(place % size)
        if offset + count <= file.blockBytes {
            return UnsafeRawBufferPointer(rebasing: try block(place / size)[offset..<offset + count])
        }
        pieces.clear()
        var place = place
        var left = count
        while left > 0 {
            let offset = Int(place % size)
            let part = min(left, file.blockBytes - offset)
            pieces.append(raw: UnsafeRawBufferPointer(rebasing: try block(place / size)[offset..<offset + part]))
            place += UInt64(part)
            left -= part
        }
        return pieces.raw
    }

    private func block(_ number: UInt64) throws(StorageError) -> UnsafeRawBufferPointer {
        let slot = Int(number % UInt64(numbers.count))
        let memory = UnsafeMutableRawBufferPointer(
            rebasing: blocks[slot * file.blockBytes..<(slot + 1) * file.blockBytes])
        if numbers[slot] != number, let base = memory.baseAddress {
            numbers[slot] = .max
            try file.read(firstBlock + number, into: base)
            numbers[slot] = number
        }
        return UnsafeRawBufferPointer(memory)
    }
}
