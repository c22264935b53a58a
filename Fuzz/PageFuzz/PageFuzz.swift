import MakoStorage

/// Takes any bytes as a page of a tree, a header block or a meta page: the check refuses it, or no operation on it
/// reads or writes outside it.
///
/// The input is one byte that chooses the initial page, eight for a key, one for the length `n` of a word, the word,
/// and edits: two bytes for the place, one for the length, and the bytes that replace those of the page.
public func fuzzPage(_ input: [UInt8]) {
    guard input.count > 10, let samples, !samples.isEmpty else { return }
    var rest = input[1...]
    let key = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(8)
    let length = Int(rest.removeFirst())
    let word = Array(rest.prefix(length))
    rest = rest.dropFirst(length)
    var page = samples[Int(input[0]) % samples.count]
    while rest.count >= 3 {
        let place = (Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8) % page.count
        let count = Int(rest[rest.startIndex + 2])
        rest = rest.dropFirst(3)
        for (offset, byte) in rest.prefix(count).enumerated() where place + offset < page.count {
            page[place + offset] = byte
        }
        rest = rest.dropFirst(count)
    }
    if let broken = PageProbe.page(page, key: key, word: word) { fatalError(broken) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzPage(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let samples = try? makeSamples()

/// The pages of a database with both kinds of tree, of more than one level.
private func makeSamples() throws -> [[UInt8]] {
    var options = StoreOptions()
    let disk = MemoryFileSystem()
    options.fileSystem = disk
    options.background = .manual
    let store = try Store(at: "fuzz.mako", options: options)
    try store.write { tx in
        let numbers = try tx.createTree(named: "numbers", keys: .integer)
        let words = try tx.createTree(named: "words", keys: .bytes)
        for number in 0..<600 {
            try tx.put(Array("value \(number)".utf8), for: UInt64(number * 7), in: numbers)
            try tx.put([UInt8](repeating: 1, count: number % 40), for: Array("some word \(number)".utf8), in: words)
        }
    }
    try store.checkpoint()
    let file = try disk.open("fuzz.mako", .readOnly)
    var pages: [[UInt8]] = []
    for number in 0..<(try file.size() / 4096) {
        var page = [UInt8](repeating: 0, count: 4096)
        _ = try page.withUnsafeMutableBytes { buffer in try file.read(into: buffer, at: number * 4096) }
        pages.append(page)
    }
    return pages
}
