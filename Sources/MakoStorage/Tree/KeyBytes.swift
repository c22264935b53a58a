/// The bytes of a key, borrowed.
typealias KeyBytes = UnsafeRawBufferPointer

/// Returns a buffer with an address, also if it is empty, because the key algorithms do pointer arithmetic on it.
@inline(__always)
func addressed(_ key: UnsafeRawBufferPointer) -> KeyBytes {
    key.baseAddress == nil ? KeyBytes(start: emptyKeyAddress, count: 0) : key
}

/// Calls `body` with a group of keys, copied to contiguous memory that is valid until it returns.
func withKeyBytes<R>(_ keys: ArraySlice<[UInt8]>, _ body: (UnsafeBufferPointer<KeyBytes>) -> R) -> R {
    let bytes = keys.reduce(0) { $0 + $1.count }
    return withUnsafeTemporaryAllocation(byteCount: max(1, bytes), alignment: 8) { memory in
        withUnsafeTemporaryAllocation(of: KeyBytes.self, capacity: keys.count) { group in
            var rest = UnsafeMutableRawBufferPointer(rebasing: memory[..<bytes])
            for (index, key) in keys.enumerated() {
                rest.copyBytes(from: key)
                group.initializeElement(at: index, to: addressed(KeyBytes(rebasing: rest[..<key.count])))
                rest = UnsafeMutableRawBufferPointer(rebasing: rest[key.count...])
            }
            return body(UnsafeBufferPointer(group))
        }
    }
}

/// Calls `body` with copies of a key and a value that may lie in a page, which a change may rewrite.
///
/// Bytes that are more than a page has lie in memory of their own and are not copied.
@inline(never)
func withCopies<R>(
    of key: KeyBytes, _ value: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    _ body: (KeyBytes, UnsafeRawBufferPointer) throws(StorageError) -> R
) throws(StorageError) -> R {
    let keyBytes = key.count > pageBytes ? 0 : key.count
    let valueBytes = value.count > pageBytes ? 0 : value.count
    return try withUnsafeTemporaryAllocation(byteCount: max(1, keyBytes + valueBytes), alignment: 8) { memory in
        result { () throws(StorageError) in
            guard let start = memory.baseAddress else { return try body(key, value) }
            if let source = key.baseAddress { start.copyMemory(from: source, byteCount: keyBytes) }
            if let source = value.baseAddress { (start + keyBytes).copyMemory(from: source, byteCount: valueBytes) }
            return try body(
                keyBytes == key.count ? KeyBytes(start: start, count: keyBytes) : key,
                valueBytes == value.count
                    ? UnsafeRawBufferPointer(start: start + keyBytes, count: valueBytes) : value)
        }
    }.get()
}

/// Returns the length of the prefix of `right` that is the shortest key greater than `left`.
func separatorLength(_ left: KeyBytes, _ right: KeyBytes) -> Int {
    let limit = min(left.count, right.count)
    var common = 0
    while common < limit && left[common] == right[common] { common += 1 }
    return min(common + 1, right.count)
}

nonisolated(unsafe) let emptyKeyAddress = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))

/// The highest possible key: of the greatest length, with the highest bytes.
nonisolated(unsafe) let highestKeyAddress = {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: Limits.keyBytes, alignment: 8)
    bytes.initializeMemory(as: UInt8.self, repeating: .max, count: Limits.keyBytes)
    return UnsafeRawPointer(bytes)
}()
