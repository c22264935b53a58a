import MakoStorage

/// A sorted file of keys and values for lookups: the first key of each block, and a cache of blocks, are in memory.
///
///     if try table.seek(key) {
///         repeat { use(table.value) } while try table.next()
///     }
///
/// Values of one key keep the order of their runs. Not thread-safe.
final class SortedTable {
    /// The number of bytes of a key that the block index holds.
    private static let keptKeyBytes = 256
    private static let fewestBlocks = 8

    private let file: SpillFile
    private let firstBlock: UInt64
    /// The number of bytes of the records.
    private let bytes: UInt64
    /// The first keys of the blocks in which a record starts, contiguous.
    private var keys = KeyBuffer()
    private var entries: [(record: UInt64, keyEnd: Int)] = []

    /// Cached blocks, each in the slot given by its number, and their numbers.
    private let blocks: UnsafeMutableRawBufferPointer
    private var numbers: [UInt64]
    /// Buffers for a record that spans blocks.
    private var key = KeyBuffer()
    private var scratch = KeyBuffer()
    private var wanted = KeyBuffer()

    /// The position of the next record.
    private var place: UInt64 = 0
    /// The value of the current record after ``seek(_:)`` or ``next()`` has returned `true`; valid until the next call.
    private(set) var value = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Parameter memory: the number of bytes of cached blocks.
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

    /// The number of bytes held.
    var memory: Int { blocks.count + keys.count + entries.count * MemoryLayout<(UInt64, Int)>.stride }

    /// Moves to the first record with a key. Returns `false` if there is none.
    func seek(_ key: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        wanted.clear()
        wanted.append(raw: key)
        place = start()
        while let order = try read() { if order >= 0 { return order == 0 } }
        return false
    }

    /// Moves to the next record with the same key. Returns `false` if there is none.
    func next() throws(StorageError) -> Bool { try read() == 0 }

    /// Reads the record at the position, and compares its key with the wanted one; `nil` at the end.
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
        // The position stays before a record that follows those with the key.
        if order == 0 { value = try raw(at: valuePlace, found.valueBytes, &scratch) }
        place = end
        return order
    }

    /// Returns the position from which to scan: the last indexed record that precedes the wanted key.
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

    /// Returns bytes of the records, borrowed from a block or copied from several.
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
