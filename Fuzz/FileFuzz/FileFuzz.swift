import MakoStorage

/// Damages the files of a database as the input says and opens it: the right data, or an error, and nothing else.
///
/// The input is a list of edits: one byte for the file, three for the place, one for the length `n`, and `n` bytes that
/// are laid over what stands there. A length of 255 cuts the file off at the place; 254 gives the page there the checksum of
/// what it holds by now.
/// One input; the tests replay inputs of the corpus by it.
public func fuzzFile(_ input: [UInt8]) {
    guard let image else { return }
    try? image.edited(by: input).open()
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzFile(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

private let image = try? Image()

/// The bytes of a database's files.
private struct Image {
    private var files: [(path: String, bytes: [UInt8])] = []

    /// A database with both kinds of tree, a large value, a checkpoint and a log behind it.
    init() throws {
        var options = StoreOptions()
        let disk = MemoryFileSystem()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 64 << 10
        let store = try Store(at: "fuzz.mako", options: options)
        try store.write { tx in
            let numbers = try tx.createTree(named: "numbers", keys: .integer)
            let words = try tx.createTree(named: "words", keys: .bytes)
            for number in 0..<300 {
                try tx.put(Array("value \(number)".utf8), for: UInt64(number * 7), in: numbers)
                try tx.put(
                    [UInt8](repeating: UInt8(number % 250), count: 20), for: Array("word \(number)".utf8), in: words)
            }
            try tx.put([UInt8](repeating: 7, count: 20_000), for: Array("large".utf8), in: words)
        }
        try store.checkpoint()
        try store.write { tx in
            guard let numbers = tx.view.tree(named: "numbers") else { return }
            for number in 0..<20 { try tx.put([1, 2, 3], for: UInt64(number), in: numbers) }
        }
        // Copied while the store is open: what a crash would leave behind.
        for name in try disk.list(directory: ".") { files.append((name, try Self.bytes(of: name, on: disk))) }
    }

    func edited(by edits: [UInt8]) -> Image {
        var copy = self
        var rest = edits[...]
        while rest.count >= 5, !files.isEmpty {
            let head = Array(rest.prefix(5))
            rest = rest.dropFirst(5)
            let file = Int(head[0]) % files.count
            let place = Int(head[1]) | Int(head[2]) << 8 | Int(head[3]) << 16
            if head[4] == 255 {
                copy.files[file].bytes.removeLast(max(0, copy.files[file].bytes.count - place))
                continue
            }
            if head[4] == 254 {
                Probe.seal(page: place / 4096, of: &copy.files[file].bytes)
                continue
            }
            for byte in rest.prefix(Int(head[4])).enumerated() where place + byte.offset < copy.files[file].bytes.count
            {
                copy.files[file].bytes[place + byte.offset] = byte.element
            }
            rest = rest.dropFirst(Int(head[4]))
        }
        return copy
    }

    /// Opens the files and reads everything in them.
    func open() throws {
        var options = StoreOptions()
        let disk = MemoryFileSystem()
        for file in files {
            let handle = try disk.open(file.path, .create)
            try file.bytes.withUnsafeBytes { bytes in try handle.write(bytes, at: 0) }
            handle.close()
        }
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "fuzz.mako", options: options)
        _ = try store.verify()
        let view = try store.snapshot()
        for info in view.trees {
            var cursor = try view.cursor(in: info.tree)
            var isThere = try cursor.first()
            while isThere {
                _ = try cursor.value()
                isThere = try cursor.next()
            }
        }
        view.close()
        try store.close()
    }

    private static func bytes(of path: String, on disk: MemoryFileSystem) throws -> [UInt8] {
        let handle = try disk.open(path, .readOnly)
        defer { handle.close() }
        var bytes = [UInt8](repeating: 0, count: Int(try handle.size()))
        let size = bytes.count
        let got = try bytes.withUnsafeMutableBytes { buffer in try handle.read(into: buffer, at: 0) }
        guard got == size else { return Array(bytes.prefix(got)) }
        return bytes
    }
}
