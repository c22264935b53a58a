// The payload of a frame is a sequence of operations with their final effects, in the order in which they were made:
//
//        0  1  kind         Operation
//        1  4  tree         number of the tree
//        5     key          integer trees: 8 bytes. Byte trees: 2 bytes length and the bytes. A created tree:
//                           1 byte key kind, 2 bytes length and the name. A range: 8 and 8 bytes; of byte keys,
//                           two keys, the second with length 65,535 and no bytes when there is no end. A new name: 2 bytes
//                           length and the name.
//              value        put: 4 bytes length and the bytes; of a value whose pages are named, those of its list of runs

/// The kind of an operation in the log.
enum Operation: UInt8 {
    case putInteger = 1
    case putBytes = 2
    case deleteInteger = 3
    case deleteBytes = 4
    case createTree = 5
    case dropTree = 6
    case deleteRange = 7
    case deleteAll = 8
    case putIntegerRuns = 9
    case putBytesRuns = 10
    case deleteByteRange = 11
    case renameTree = 12
}

/// Encodes the operations of a transaction for the log.
///
/// A transaction above the size limit is committed by checkpoint; its operations are then dropped.
struct OperationWriter {
    private(set) var isRecording: Bool
    private let limit: Int

    init(limit: Int, isRecording: Bool) {
        self.limit = limit
        self.isRecording = isRecording
    }

    /// Drops the recorded operations, and records none from now on.
    mutating func stop(_ bytes: inout GrowingBytes) {
        isRecording = false
        bytes.deallocate()
    }

    mutating func put(_ key: UInt64, _ value: ValueExtents, tree: UInt32, to bytes: inout GrowingBytes) {
        value.encoded().withUnsafeBytes { put(key, $0, tree: tree, to: &bytes, as: .putIntegerRuns) }
    }

    mutating func put(_ key: KeyBytes, _ value: ValueExtents, tree: UInt32, to bytes: inout GrowingBytes) {
        value.encoded().withUnsafeBytes { put(key, $0, tree: tree, to: &bytes, as: .putBytesRuns) }
    }

    @inline(__always)
    mutating func put(
        _ key: UInt64, _ value: UnsafeRawBufferPointer, tree: UInt32, to bytes: inout GrowingBytes,
        as operation: Operation = .putInteger
    ) {
        guard var place = begin(operation, tree, more: 12 + value.count, &bytes) else { return }
        place = write(key, to: place)
        place = write(UInt32(value.count), to: place)
        _ = write(value, to: place)
    }

    mutating func put(
        _ key: KeyBytes, _ value: UnsafeRawBufferPointer, tree: UInt32, to bytes: inout GrowingBytes,
        as operation: Operation = .putBytes
    ) {
        guard var place = begin(operation, tree, more: 6 + key.count + value.count, &bytes) else { return }
        place = write(UInt16(key.count), to: place)
        place = write(key, to: place)
        place = write(UInt32(value.count), to: place)
        _ = write(value, to: place)
    }

    mutating func delete(_ key: UInt64, tree: UInt32, to bytes: inout GrowingBytes) {
        guard let place = begin(.deleteInteger, tree, more: 8, &bytes) else { return }
        _ = write(key, to: place)
    }

    mutating func delete(_ key: KeyBytes, tree: UInt32, to bytes: inout GrowingBytes) {
        guard let place = begin(.deleteBytes, tree, more: 2 + key.count, &bytes) else { return }
        _ = write(key, to: write(UInt16(key.count), to: place))
    }

    mutating func createTree(
        _ tree: UInt32, _ kind: KeyKind, _ options: TreeOptions, name: String, to bytes: inout GrowingBytes
    ) {
        var name = name
        name.withUTF8 { name in
            guard var place = begin(.createTree, tree, more: 3 + name.count, &bytes) else { return }
            place = write(TreeState.kindByte(kind, options), to: place)
            place = write(UInt16(name.count), to: place)
            _ = write(UnsafeRawBufferPointer(name), to: place)
        }
    }

    mutating func renameTree(_ tree: UInt32, to name: String, _ bytes: inout GrowingBytes) {
        var name = name
        name.withUTF8 { name in
            guard let place = begin(.renameTree, tree, more: 2 + name.count, &bytes) else { return }
            _ = write(UnsafeRawBufferPointer(name), to: write(UInt16(name.count), to: place))
        }
    }

    mutating func dropTree(_ tree: UInt32, to bytes: inout GrowingBytes) {
        _ = begin(.dropTree, tree, more: 0, &bytes)
    }

    mutating func deleteAll(_ tree: UInt32, to bytes: inout GrowingBytes) {
        _ = begin(.deleteAll, tree, more: 0, &bytes)
    }

    mutating func deleteRange(_ range: ClosedRange<UInt64>, tree: UInt32, to bytes: inout GrowingBytes) {
        guard let place = begin(.deleteRange, tree, more: 16, &bytes) else { return }
        _ = write(range.upperBound, to: write(range.lowerBound, to: place))
    }

    mutating func deleteRange(
        from lower: KeyBytes, to upper: KeyBytes?, tree: UInt32, to bytes: inout GrowingBytes
    ) {
        guard var place = begin(.deleteByteRange, tree, more: 4 + lower.count + (upper?.count ?? 0), &bytes) else {
            return
        }
        place = write(lower, to: write(UInt16(lower.count), to: place))
        place = write(upper.map { UInt16($0.count) } ?? OperationReader.noUpperBound, to: place)
        if let upper { _ = write(upper, to: place) }
    }

    /// Starts an operation with `more` bytes after its head. If that exceeds the limit, stops recording and returns
    /// nil. Must be recording.
    @inline(__always)
    private mutating func begin(_ operation: Operation, _ tree: UInt32, more: Int, _ bytes: inout GrowingBytes)
        -> UnsafeMutableRawPointer?
    {
        guard bytes.count + 5 + more <= limit else {
            stop(&bytes)
            return nil
        }
        let place = bytes.extend(by: 5 + more)
        return write(tree, to: write(operation.rawValue, to: place))
    }

    @inline(__always)
    private func write<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word, to place: UnsafeMutableRawPointer)
        -> UnsafeMutableRawPointer
    {
        place.storeBytes(of: word.littleEndian, as: Word.self)
        return place + MemoryLayout<Word>.size
    }

    @inline(__always)
    private func write(_ source: UnsafeRawBufferPointer, to place: UnsafeMutableRawPointer)
        -> UnsafeMutableRawPointer
    {
        if let start = source.baseAddress { place.copyMemory(from: start, byteCount: source.count) }
        return place + source.count
    }
}

/// Decodes the operations of a payload. Malformed bytes cause an error, never a read out of bounds.
struct OperationReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    enum Step {
        case put(tree: UInt32, key: RecordKey, value: UnsafeRawBufferPointer)
        case putRuns(tree: UInt32, key: RecordKey, ValueExtents)
        case delete(tree: UInt32, key: RecordKey)
        case createTree(UInt32, KeyKind, TreeOptions, name: String)
        case renameTree(UInt32, name: String)
        case dropTree(UInt32)
        case deleteRange(tree: UInt32, ClosedRange<UInt64>)
        case deleteByteRange(tree: UInt32, lower: KeyBytes, upper: KeyBytes?)
        case deleteAll(UInt32)
    }

    enum RecordKey {
        case integer(UInt64)
        case bytes(KeyBytes)
    }

    struct Malformed: Error {}

    /// The length that means no upper bound.
    static let noUpperBound = UInt16.max

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next() throws(Malformed) -> Step? {
        guard position < bytes.count else { return nil }
        guard let operation = Operation(rawValue: try word(UInt8.self)) else { throw Malformed() }
        let tree = try word(UInt32.self)
        switch operation {
        case .putInteger:
            let key = try word(UInt64.self)
            return .put(tree: tree, key: .integer(key), value: try run(Int(word(UInt32.self))))
        case .putBytes:
            let key = try run(Int(word(UInt16.self)))
            return .put(tree: tree, key: .bytes(addressed(key)), value: try run(Int(word(UInt32.self))))
        case .putIntegerRuns: return .putRuns(tree: tree, key: .integer(try word(UInt64.self)), try runs())
        case .putBytesRuns:
            let key = try run(Int(word(UInt16.self)))
            return .putRuns(tree: tree, key: .bytes(addressed(key)), try runs())
        case .deleteInteger: return .delete(tree: tree, key: .integer(try word(UInt64.self)))
        case .deleteBytes: return .delete(tree: tree, key: .bytes(addressed(try run(Int(word(UInt16.self))))))
        case .createTree:
            guard let (kind, options) = TreeState.kind(try word(UInt8.self)) else { throw Malformed() }
            return .createTree(tree, kind, options, name: try name())
        case .renameTree: return .renameTree(tree, name: try name())
        case .dropTree: return .dropTree(tree)
        case .deleteAll: return .deleteAll(tree)
        case .deleteRange:
            let lower = try word(UInt64.self)
            let upper = try word(UInt64.self)
            guard lower <= upper else { throw Malformed() }
            return .deleteRange(tree: tree, lower...upper)
        case .deleteByteRange:
            let lower = addressed(try bound(word(UInt16.self)))
            let length = try word(UInt16.self)
            let upper = length == OperationReader.noUpperBound ? nil : addressed(try bound(length))
            // A writer records no range whose end is before its start.
            if let upper, ByteNode.compare(lower, upper) > 0 { throw Malformed() }
            return .deleteByteRange(tree: tree, lower: lower, upper: upper)
        }
    }

    private mutating func name() throws(Malformed) -> String {
        String(decoding: try run(Int(word(UInt16.self))), as: UTF8.self)
    }

    /// Reads a bound of a range of byte keys. It has at most one byte more than a key: enough to sort after all keys
    /// with that prefix.
    private mutating func bound(_ length: UInt16) throws(Malformed) -> UnsafeRawBufferPointer {
        guard Int(length) <= Limits.keyBytes + 1 else { throw Malformed() }
        return try run(Int(length))
    }

    private mutating func word<Word: FixedWidthInteger>(_: Word.Type) throws(Malformed) -> Word {
        let size = MemoryLayout<Word>.size
        guard bytes.count - position >= size else { throw Malformed() }
        defer { position += size }
        return Word(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Word.self))
    }

    private mutating func runs() throws(Malformed) -> ValueExtents {
        guard let value = ValueExtents(try run(Int(word(UInt32.self)))) else { throw Malformed() }
        return value
    }

    private mutating func run(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
        guard bytes.count - position >= count else { throw Malformed() }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }
}
