import MakoTestSupport

@testable import MakoStorage

/// A database after a busy life, with all that it ever held, to be damaged and salvaged.
struct SalvageSample {
    static let path = ScriptRun.path
    static let target = "d/saved.mako"

    /// Rows come, change, move and go over several checkpoints, so that older versions of them lie about in the file.
    static let text = """
        options log 131072
        tree t int
        put t 1..2500 90b
        tree u bytes
        put u 1..1200 50b
        checkpoint
        tree gone int
        put gone 1..200 40b
        put t 400..900 60b
        delete t 1000..1300
        checkpoint
        drop gone
        put t 3000 9000b
        put t 3001..3004 30000z
        put u 2000 7000b
        delete u 200..420
        checkpoint
        put t 100..1500/3 90b
        delete t 5..2400/11
        put u 500..900/2 80b
        checkpoint
        delete t 600..640
        put t 2600..2700 90b
        delete u 1000..1010
        put u 1300..1320 50b
        """

    var image: DiskImage
    /// After each commit, the latest last.
    var states: [ModelStore]
    var latest: ModelStore { states[states.count - 1] }
    var file: ByteImage { image.files[SalvageSample.path] ?? ByteImage() }
    var pageCount: Int { Int(file.size) / pageBytes }

    /// - Parameter closing: false leaves the log behind, as a process that was killed.
    init(closing: Bool, _ text: String = text) throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "salvage", text), on: disk)
        try run.run(closing: closing)
        image = disk.settledImage()
        states = run.states
        run.abandon()
    }

    // MARK: Damage

    enum Damage: CaseIterable { case garbage, zeros, bit }

    /// The database with pages destroyed.
    func damaged(_ pages: some Sequence<Int>, _ damage: Damage = .garbage, seed: UInt64 = 1) -> DiskImage {
        var random = SplitMix(seed: seed)
        var file = file
        for page in pages {
            var bytes = file.bytes(at: UInt64(page * pageBytes), count: pageBytes)
            switch damage {
            case .garbage: for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
            case .zeros: bytes = [UInt8](repeating: 0, count: pageBytes)
            case .bit: bytes[random.below(pageBytes)] ^= 1 << UInt8(random.below(8))
            }
            file.replace(at: UInt64(page * pageBytes), with: bytes)
        }
        return image(with: file)
    }

    func image(with file: ByteImage) -> DiskImage {
        var image = image
        image.files[SalvageSample.path] = file
        return image
    }

    /// The seed of the file's checksums.
    var seed: UInt64 {
        let bytes = file.bytes(at: 0, count: pageBytes)
        let reading = bytes.withUnsafeBytes { $0.baseAddress.map { FileHeader.read($0, copy: 0) } }
        guard case .good(let header)? = reading else { return 0 }
        return header.id.seed
    }

    /// The database with pages changed by hand, each under the checksum of what it then holds.
    func changing(_ pages: some Sequence<Int>, _ change: (UnsafeMutableRawPointer) -> Void) -> SalvageSample {
        var changed = self
        var file = file
        for page in pages {
            var bytes = file.bytes(at: UInt64(page * pageBytes), count: pageBytes)
            bytes.withUnsafeMutableBytes { buffer in
                guard let base = buffer.baseAddress else { return }
                change(base)
                Page.seal(base, page: UInt64(page), seed: page < FileHeader.copies ? 0 : seed)
            }
            file.replace(at: UInt64(page * pageBytes), with: bytes)
        }
        changed.image.files[SalvageSample.path] = file
        return changed
    }

    /// Pages of a type, wherever they are in the file, whether anything refers to them or not.
    func pages(of types: PageType...) -> [Int] {
        (0..<pageCount).filter { page in
            types.contains { file.bytes(at: UInt64(page * pageBytes + 13), count: 1) == [$0.rawValue] }
        }
    }

    var directoryPages: [Int] { pages(of: .directory) }
    var integerLeaves: [Int] { pages(of: .integerLeaf) }

    // MARK: Places

    /// A record of the newest checkpoint, and the pages that hold it.
    struct Place {
        var tree: String
        var key: ModelKey
        var pages: [Int]
    }

    struct Layout {
        var places: [Place] = []
        var roots: [Int] = []
        var inner: [Int] = []
        var leaves: [Int] = []
        var directory: [Int] = []
        /// The bitmap of the first region that the newest checkpoint uses.
        var bitmap = 0
        /// Entries of the checkpoint, without what the log adds.
        var checkpoint = ModelStore()
    }

    /// The places of everything in the undamaged file, found by the engine.
    func layout() throws -> Layout {
        var files = image.files
        for name in files.keys where name != SalvageSample.path { files[name] = nil }
        var options = SalvageSample.options(SimulatedDisk(DiskImage(files: files)))
        options.readOnly = true
        let dataFile = try DataFile.open(options.fileSystem.open(SalvageSample.path, .readOnly))
        // Only this header refers to the log.
        try SalvageSample.forgetLog(&files, dataFile.header)
        options.fileSystem = SimulatedDisk(DiskImage(files: files))
        let store = try Store(at: SalvageSample.path, options: options)
        defer { try? store.close() }
        var layout = Layout()
        layout.checkpoint = try store.read { try ModelStore(reading: $0) }
        let directory = store.checkpointer.last.meta.directory
        layout.bitmap = Int(SpaceMap.bitmapPage(region: 0, copy: Int(store.checkpointer.last.regions[0].copy)))
        layout.directory = (0..<max(1, directory.pageCount)).map { Int(directory.firstPage) + $0 }
        let version = store.newest
        for index in 0..<version.treeCount {
            let tree = version.trees[index]
            guard tree.levels > 0 else { continue }
            layout.roots.append(Int(tree.root.page))
            let page = SalvagedPage()
            let source = try DamagedFile(path: SalvageSample.path, fileSystem: options.fileSystem)
            defer { source.close() }
            try SalvageSample.traverse(
                tree.root, tree.levels - 1, version.names.name(of: tree.id) ?? "", page, source, &layout)
        }
        return layout
    }

    private static func forgetLog(_ files: inout [String: ByteImage], _ header: FileHeader) throws {
        var header = header
        header.newestSegment = 0
        for copy in 0..<FileHeader.copies {
            var bytes = [UInt8](repeating: 0, count: pageBytes)
            bytes.withUnsafeMutableBytes { if let base = $0.baseAddress { header.write(to: base, copy: copy) } }
            files[path]?.replace(at: UInt64(copy * pageBytes), with: bytes)
        }
    }

    private static func traverse(
        _ reference: PageReference, _ level: Int, _ tree: String, _ page: SalvagedPage, _ source: DamagedFile,
        _ layout: inout Layout
    ) throws {
        try page.read(reference.page, from: source)
        guard level > 0 else {
            layout.leaves.append(Int(reference.page))
            for slot in 0..<page.header.count {
                var pages = [Int(reference.page)]
                if case .overflow(let run) = page.value(slot) {
                    pages += (0..<run.pageCount).map { Int(run.firstPage) + $0 }
                }
                layout.places.append(Place(tree: tree, key: ModelKey(page.key(slot)), pages: pages))
            }
            return
        }
        layout.inner.append(Int(reference.page))
        for child in (0..<page.header.count).map({ page.child($0) }) {
            try traverse(child, level - 1, tree, page, source, &layout)
            try page.read(reference.page, from: source)
        }
    }

    // MARK: Salvage

    struct Outcome {
        var report: SalvageReport
        var found: ModelStore
    }

    static func options(_ disk: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 31)
        options.cacheBytes = 1 << 20
        options.logSegmentBytes = 1 << 20
        return options
    }

    /// Salvages an image. The files of the damaged database must be as before, and the new one sound.
    static func salvage(_ image: DiskImage) throws -> Outcome { try salvage(image, on: SimulatedDisk(image)) }

    /// The same on a disk that holds the image and may fail.
    static func salvage(_ image: DiskImage, on disk: SimulatedDisk) throws -> Outcome {
        let options = options(disk)
        let report = try Store.salvage(from: path, to: target, options: options)
        disk.clearFaults()
        let after = disk.settledImage()
        for (name, content) in image.files where name.hasPrefix(path) && after.files[name] != content {
            throw Disagreement("\(name) was written to")
        }
        let others = after.files.keys.filter { image.files[$0] == nil && $0 != target }
        guard others.isEmpty else { throw Disagreement("left behind: \(others)") }
        let store = try Store(at: target, options: options)
        let found = try store.read { try ModelStore(reading: $0) }
        let check = try store.verify()
        guard check.findings.isEmpty else { throw Disagreement("the new database is not sound: \(check.findings)") }
        try store.close()
        for tree in report.trees where found.trees[tree.name]?.count ?? -1 != Int(tree.records) {
            throw Disagreement("the report says \(tree.records) records of \(tree.name)")
        }
        return Outcome(report: report, found: found)
    }

    /// The entries of a salvaged database that no state ever had, or only older ones.
    func strangers(in found: ModelStore, among states: [ModelStore], names: [String: String] = [:]) -> [String] {
        var strangers: [String] = []
        for (name, tree) in found.trees {
            let known = states.compactMap { $0.trees[names[name] ?? name] }
            for (key, value) in tree.entries where !known.contains(where: { $0[key] == value }) {
                strangers.append("\(name) \(key)")
            }
        }
        return strangers
    }
}

extension ModelKey {
    init(_ key: SalvageReport.Key) {
        switch key {
        case .integer(let key): self = .integer(key)
        case .bytes(let key): self = .bytes(key)
        }
    }
}

extension ModelTree {
    var entries: [(ModelKey, [UInt8])] {
        switch self {
        case .integers(let map): zip(map.keys, map.values).map { (.integer($0), $1) }
        case .bytes(let map): zip(map.keys, map.values).map { (.bytes($0.bytes), $1) }
        }
    }
}
