import MakoStorage

/// Sorted runs of keys and values in a file, and their merge, for more than memory holds.
///
///     run      contiguous records, ascending by key, from the start of a block
///     record   key bytes + 1 (4, little endian) | value bytes (4) | key | value; zeros after the last one
///
///     let runs = SortedRuns(try tx.makeSpillFile(), memory: 2 << 20)
///     var run = runs.begin()
///     try run.append(key, value)                  // ascending
///     try runs.end(&run)
///     var merge = try runs.merge()
///     while try merge.next() { use(merge.key, merge.value) }
///
/// Records with equal keys keep the order of their runs. Not thread-safe.
final class SortedRuns {
    let file: SpillFile
    private let memory: Int
    private var runs: [Range<UInt64>] = []

    /// - Parameter memory: the number of bytes that a merge may take.
    init(_ file: SpillFile, memory: Int) {
        self.file = file
        self.memory = memory
    }

    func begin() -> RunOutput { RunOutput(file) }

    func end(_ run: inout RunOutput) throws(StorageError) { runs.append(try run.end()) }

    /// Returns a merge of all records, which can be read once.
    func merge() throws(StorageError) -> MergedRuns {
        let ways = max(8, memory / 2 / file.blockBytes)
        // Merges adjacent runs, and puts the result in their place, which preserves the order of equal keys.
        while runs.count > ways {
            var fewer: [Range<UInt64>] = []
            for start in stride(from: 0, to: runs.count, by: ways) {
                let part = Array(runs[start..<min(start + ways, runs.count)])
                var merge = MergedRuns(part, file)
                var output = RunOutput(file)
                while try merge.next() { try output.append(merge.key, merge.value) }
                fewer.append(try output.end())
            }
            runs = fewer
        }
        return MergedRuns(runs, file)
    }
}

/// Writes a run at the end of the file. One run is written at a time.
struct RunOutput: ~Copyable {
    private let file: SpillFile
    private let block: UnsafeMutableRawBufferPointer
    private var filled = 0
    private var blocks: Range<UInt64>?

    init(_ file: SpillFile) {
        self.file = file
        block = .allocate(byteCount: file.blockBytes, alignment: 16)
    }

    deinit { block.deallocate() }

    /// The number of bytes appended.
    var written: UInt64 { UInt64(filled) + UInt64(block.count) * UInt64(blocks?.count ?? 0) }

    /// Appends a record. Its key must not sort before the last one; key and value must be smaller than 4 GiB each.
    mutating func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StorageError) {
        let header = RunHeader(keyBytes: key.count, valueBytes: value.count).stored
        for byte in 0..<RunHeader.bytes { try append(byte: UInt8(truncatingIfNeeded: header &>> (8 * UInt64(byte)))) }
        try append(key)
        try append(value)
    }

    @inline(__always)
    private mutating func append(byte: UInt8) throws(StorageError) {
        if filled == block.count { try writeBlock() }
        block[filled] = byte
        filled += 1
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        var rest = bytes
        while !rest.isEmpty {
            if filled == block.count { try writeBlock() }
            let count = min(rest.count, block.count - filled)
            UnsafeMutableRawBufferPointer(rebasing: block[filled..<filled + count])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            filled += count
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    private mutating func writeBlock() throws(StorageError) {
        let number = try file.append(UnsafeRawBufferPointer(rebasing: block[..<filled]))
        blocks = (blocks?.lowerBound ?? number)..<number + 1
        filled = 0
    }

    /// Ends the run; returns its blocks.
    mutating func end() throws(StorageError) -> Range<UInt64> {
        if filled > 0 { try writeBlock() }
        return blocks ?? 0..<0
    }
}

/// The header of a record: the lengths of its parts.
struct RunHeader {
    static let bytes = 8

    let keyBytes: Int
    let valueBytes: Int

    init(keyBytes: Int, valueBytes: Int) {
        self.keyBytes = keyBytes
        self.valueBytes = valueBytes
    }

    /// Decodes a header; `nil` if there is no record.
    init?(stored: UInt64) {
        let key = UInt32(truncatingIfNeeded: stored)
        guard key > 0 else { return nil }
        self.init(keyBytes: Int(key - 1), valueBytes: Int(stored >> 32))
    }

    var stored: UInt64 { UInt64(keyBytes + 1) | UInt64(valueBytes) << 32 }
}

/// The records of several runs in the order of their keys; equal keys keep the order of the runs.
struct MergedRuns: ~Copyable {
    private let inputs: UnsafeMutablePointer<RunInput>
    private let count: Int
    /// A binary heap of the runs that have a record, with the smallest record on top.
    private var heap: [Int] = []
    private var hasBegun = false

    fileprivate init(_ runs: [Range<UInt64>], _ file: SpillFile) {
        inputs = .allocate(capacity: runs.count)
        count = runs.count
        for (place, run) in runs.enumerated() { (inputs + place).initialize(to: RunInput(run, file)) }
    }

    deinit {
        inputs.deinitialize(count: count)
        inputs.deallocate()
    }

    /// Moves to the next record. Returns `false` if there is none.
    mutating func next() throws(StorageError) -> Bool {
        if !hasBegun {
            hasBegun = true
            for place in 0..<count where try inputs[place].next() { heap.append(place) }
            for place in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(place) }
            return !heap.isEmpty
        }
        guard let top = heap.first else { return false }
        if try !inputs[top].next() {
            guard let last = heap.popLast(), !heap.isEmpty else { return false }
            heap[0] = last
        }
        siftDown(0)
        return true
    }

    /// The current record, after `next()` has returned `true`; valid until the next call.
    var key: UnsafeRawBufferPointer {
        heap.first.map { inputs[$0].key } ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
    var value: UnsafeRawBufferPointer {
        heap.first.map { inputs[$0].value } ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private func precedes(_ a: Int, _ b: Int) -> Bool {
        if inputs[a].head != inputs[b].head { return inputs[a].head < inputs[b].head }
        let order = KeyOrder.compareRaw(inputs[a].key, inputs[b].key)
        return order == 0 ? a < b : order < 0
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if precedes(heap[child], heap[least]) { least = child }
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// Reads one run, record by record.
private struct RunInput: ~Copyable {
    private let file: SpillFile
    private var blocks: Range<UInt64>
    private var buffer: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    private var header = RunHeader(keyBytes: 0, valueBytes: 0)
    /// The first eight bytes of the key.
    private(set) var head: UInt64 = 0

    init(_ blocks: Range<UInt64>, _ file: SpillFile) {
        self.blocks = blocks
        self.file = file
        buffer = .allocate(byteCount: file.blockBytes, alignment: 16)
    }

    deinit { buffer.deallocate() }

    var key: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer[start..<start + header.keyBytes])
    }
    var value: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer[start + header.keyBytes..<start + header.keyBytes + header.valueBytes])
    }

    mutating func next() throws(StorageError) -> Bool {
        start += header.keyBytes + header.valueBytes
        header = RunHeader(keyBytes: 0, valueBytes: 0)
        guard try fill(RunHeader.bytes),
            let found = RunHeader(
                stored: UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
        else { return false }
        start += RunHeader.bytes
        guard try fill(found.keyBytes + found.valueBytes) else { throw file.isNotAsWritten }
        header = found
        head = KeyOrder.head(key)
        return true
    }

    /// Loads this many bytes from `start` on. Returns `false` if the run has fewer.
    private mutating func fill(_ wanted: Int) throws(StorageError) -> Bool {
        if end - start >= wanted { return true }
        let blockBytes = file.blockBytes
        let missing = (wanted - (end - start) + blockBytes - 1) / blockBytes
        guard missing <= blocks.count else { return false }
        let room = end - start + missing * blockBytes
        let target = room <= buffer.count ? buffer : .allocate(byteCount: room, alignment: 16)
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
        if target.baseAddress != buffer.baseAddress {
            buffer.deallocate()
            buffer = target
        }
        end -= start
        start = 0
        guard let base = buffer.baseAddress else { return false }
        for _ in 0..<missing {
            try file.read(blocks.lowerBound, into: base + end)
            blocks = blocks.lowerBound + 1..<blocks.upperBound
            end += blockBytes
        }
        return true
    }
}
