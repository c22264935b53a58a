/// The disk of a machine at its start: files and directories, everything durable.
public struct DiskImage: Sendable {
    /// The files by their paths.
    public var files: [String: ByteImage]
    /// The directories.
    public var directories: Set<String>

    /// Creates a disk with these files and directories.
    public init(files: [String: ByteImage] = [:], directories: Set<String> = []) {
        self.files = files
        self.directories = directories
    }

    /// Equal for images of equal content, in one run of the program.
    public var fingerprint: Int {
        var hasher = Hasher()
        for name in files.keys.sorted() {
            hasher.combine(name)
            hasher.combine(files[name]?.fingerprint)
        }
        return hasher.finalize()
    }
}

/// Everything that a crash could leave behind at one moment: durable and pending content.
public struct CrashState: Sendable {
    struct FileState: Sendable {
        var durable = ByteImage()
        var cached = ByteImage()
        /// The durable content before the last successful sync, for stale reads.
        var stale = ByteImage()
        var pending: [PendingChange] = []
        /// The number of failed syncs: each handle that was open at a failure reports it once.
        var failures = 0
        /// Whether no handle has reported the last failure.
        var isUnreported = false
    }

    /// A change of a file that no sync has made durable.
    enum PendingChange: Sendable {
        case sector(Int, [UInt8])
        case size(UInt64)
    }

    /// A change of names that no directory sync has made durable.
    enum PendingName: Sendable {
        case create(String, Int)
        case remove(String, Int)
        case rename(String, String, Int)

        func apply(to names: inout [String: Int]) {
            switch self {
            case .create(let path, let file):
                names[path] = file
            case .remove(let path, let file):
                if names[path] == file { names[path] = nil }
            case .rename(let from, let to, let file):
                if names[from] == file { names[from] = nil }
                names[to] = file
            }
        }

        var directories: [String] {
            switch self {
            case .create(let path, _), .remove(let path, _): [parentDirectory(path)]
            case .rename(let from, let to, _): [parentDirectory(from), parentDirectory(to)]
            }
        }
    }

    var sectorBytes: Int
    var files: [FileState] = []
    var durableNames: [String: Int] = [:]
    var names: [String: Int] = [:]
    var pendingNames: [PendingName] = []
    var directories: Set<String> = []

    init(sectorBytes: Int) { self.sectorBytes = sectorBytes }

    /// A disk with files on it, all durable.
    init(_ image: DiskImage, sectorBytes: Int) {
        self.sectorBytes = sectorBytes
        for (path, content) in image.files.sorted(by: { $0.key < $1.key }) {
            names[path] = files.count
            files.append(FileState(durable: content, cached: content, stale: content))
        }
        durableNames = names
        directories = image.directories
    }

    /// What a crash decides about one pending thing.
    public struct Outcome: Sendable, Hashable {
        /// 0: nothing of it persists; n: its n-th version does.
        public var version: Int
        /// How much of a sector persists.
        public var tear = Tear.whole
    }

    /// How much of a sector persists.
    public enum Tear: Sendable, Hashable {
        case whole
        /// The first bytes are new, the others old.
        case prefix(Int)
        /// Arbitrary bytes, which no call wrote.
        case garbage(UInt64)
        /// The newest bytes meant for the pending sector with this index: their write went astray, and this one's did not come.
        case misdirected(from: Int)
    }

    /// A choice for every unit of `units`.
    public typealias Selection = [Outcome]

    /// One thing that a crash decides independently of the others.
    struct Unit: Sendable {
        enum Subject: Sendable {
            case sector(file: Int, index: Int)
            /// The changes of a file's size persist in order, as a file system's journal keeps them.
            case size(file: Int)
            case name(Int)
        }

        var subject: Subject
        /// How many versions there are, the old state not counted.
        var versions: Int
    }

    /// The pending things that can make a difference.
    func units() -> [Unit] {
        var reachable = Set(durableNames.values)
        for change in pendingNames {
            if case .create(_, let file) = change { reachable.insert(file) }
            if case .rename(_, _, let file) = change { reachable.insert(file) }
        }
        var units = pendingNames.indices.map { Unit(subject: .name($0), versions: 1) }
        for file in reachable.sorted() {
            var versions: [Int: [[UInt8]]] = [:]
            var sizes = 0
            for change in files[file].pending {
                switch change {
                case .size: sizes += 1
                case .sector(let index, let bytes):
                    if let last = versions[index]?.last, haveSameBytes(last, bytes) { continue }
                    versions[index, default: []].append(bytes)
                }
            }
            if sizes > 0 { units.append(Unit(subject: .size(file: file), versions: sizes)) }
            for (index, contents) in versions.sorted(by: { $0.key < $1.key }) {
                let old = files[file].durable.bytes(at: UInt64(index * sectorBytes), count: sectorBytes)
                if contents.count == 1, haveSameBytes(contents[0], old) { continue }
                units.append(Unit(subject: .sector(file: file, index: index), versions: contents.count))
            }
        }
        return units
    }

    /// The disk after a crash that decided so. Units beyond the selection's end persist not at all.
    public func image(_ selection: Selection) -> DiskImage { image(units(), selection) }

    func image(_ units: [Unit], _ selection: Selection) -> DiskImage {
        var names = durableNames
        var sizes: [Int: Int] = [:]
        var sectors: [Int: [Int: Outcome]] = [:]
        for (unit, outcome) in zip(units, selection) where outcome.version > 0 {
            switch unit.subject {
            case .name(let index): pendingNames[index].apply(to: &names)
            case .size(let file): sizes[file] = outcome.version
            case .sector(let file, let index): sectors[file, default: [:]][index] = outcome
            }
        }
        let contents = names.mapValues { content(of: $0, sizes: sizes[$0] ?? 0, sectors: sectors[$0] ?? [:]) }
        return DiskImage(files: contents, directories: directories)
    }

    private func content(of file: Int, sizes: Int, sectors: [Int: Outcome]) -> ByteImage {
        var image = files[file].durable
        if sizes == 0, sectors.isEmpty { return image }
        var sizesSeen = 0
        var seen: [Int: (count: Int, bytes: [UInt8])] = [:]
        for change in files[file].pending {
            switch change {
            case .size(let size):
                sizesSeen += 1
                if sizesSeen <= sizes { image.resize(to: size) }
            case .sector(let index, let bytes):
                if let last = seen[index]?.bytes, haveSameBytes(last, bytes) { continue }
                let count = (seen[index]?.count ?? 0) + 1
                seen[index] = (count, bytes)
                guard let outcome = sectors[index], outcome.version == count else { continue }
                if case .misdirected(let source) = outcome.tear {
                    put(newest(of: source, in: file) ?? bytes, torn: .whole, in: &image, sector: index)
                } else {
                    put(bytes, torn: outcome.tear, in: &image, sector: index)
                }
            }
        }
        image.cut()
        return image
    }

    private func newest(of sector: Int, in file: Int) -> [UInt8]? {
        for case .sector(sector, let bytes) in files[file].pending.reversed() { return bytes }
        return nil
    }

    private func put(_ bytes: [UInt8], torn tear: Tear, in image: inout ByteImage, sector: Int) {
        let offset = UInt64(sector * sectorBytes)
        switch tear {
        case .whole, .misdirected: bytes.withUnsafeBytes { image.overlay($0, at: offset) }
        case .prefix(let count):
            bytes.withUnsafeBytes {
                image.overlay(UnsafeRawBufferPointer(rebasing: $0.prefix(count)), at: offset)
            }
        case .garbage(let seed):
            var random = SplitMix(seed: seed)
            let garbage = bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) }
            garbage.withUnsafeBytes { image.overlay($0, at: offset) }
        }
    }
}

func parentDirectory(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
}

func lastName(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.utf8.index(after: slash)...])
}
