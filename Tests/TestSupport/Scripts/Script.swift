import MakoStorage

/// A workload as a few lines of text.
///
///     options log 65536 cache 1048576     # what the store is opened with; sector 512 or 4096 is the disk's; age 500: the limit of
///                                         # snapshots, in ms; encrypted 1 or 2: with which cipher; reserve 0: no pages are kept back
///     tree t int                          # a tree with integer keys; `bytes 300`: byte keys of 300 bytes
///     tree t int counted                  # a tree whose inner nodes count the entries below
///     rename t u                          # the tree t is called u from here on
///     put t 1..100 50b                    # a transaction of its own; 50 random bytes a value, `50z`: compressible
///     put t 1..1000/7 50b                 # every seventh key; `9..1`: descending; `?20:1000`: 20 random keys below 1000
///     stream t 5 60000b                   # values handed over in pieces, like `put` else
///     load t 500..900 50b                 # a bulk load; keys that do not come behind all others must be refused
///     begin                               # several steps in one transaction, up to commit or rollback
///     savepoint a
///     delete t 5
///     deleterange t 5 90                  # in a byte tree up to below the key of 90; `5 end`: all from there on
///     rollbackto a
///     forget a                            # it is released, and those after it
///     commit                              # or `commit ordered`, `commit async`, `commit async 50`: durable 50 ms later
///     snapshot s                          # kept open, compared by `check s` and at the end, until `release s`
///     reader r                            # another process opens the store beside this one, or refreshes what it shows, and compares
///     checkpoint
///     step 3                              # the store's background work, so many steps
///     tick 50                             # 50 ms go by; a script without this line has no clock, and each step does what there is to do
///     reopen                              # closes and opens
///     kill                                # the process ends; what it wrote stays in the machine's cache; opens again
///     crash                               # the power goes and nothing that was pending persists; `crash 7`: some of it
///     backup b                            # copies the store page by page into a file of its own, opens and compares that
///     part p                              # a backup when there is none, then what has changed since; put together and compared
///     copy c                              # the same with the smallest form
///     shrink                              # makes the file as short as it can be now
///     compact                             # closes, rewrites the file in the smallest form, opens
///     changekey                           # of an encrypted store; everything before is made durable
///     disk 64                             # the disk has room for 64 KiB more than now: what does not fit is refused, and must not be a
///                                         # deletion or a checkpoint; `disk any`: for as much as you like
///     verify
///
/// In a byte tree a number is a key by its digits. `#` begins a comment.
package struct Script: Sendable {
    /// The name for reports.
    package var name: String
    /// The steps, in order.
    package var steps: [ScriptStep]
    /// The size of a log segment.
    package var logSegmentBytes = 64 << 10
    /// The cache budget of the store.
    package var cacheBytes = 4 << 20
    /// The sector size of the disk.
    package var sectorBytes = 4096
    /// Snapshots that are older may be ended, and a check of such a one accepts that.
    package var snapshotAgeLimit: Duration?
    /// Nil: the default reserve.
    package var diskReserveBytes: Int?
    /// Nil: the store is not encrypted.
    package var cipher: Encryption.Cipher?
    /// Whether steps that make no sense, such as a change of a missing tree, are skipped: for generated scripts.
    package var isLenient = false

    package init(name: String, steps: [ScriptStep]) {
        self.name = name
        self.steps = steps
    }

    /// Whether this build can run it.
    package var isPossible: Bool { cipher == nil || Encryption.isAvailable }

    /// Whether time plays a part.
    package var isTimed: Bool { steps.contains { if case .tick = $0 { true } else { false } } }

    /// Parses a script; an unknown line is named in the error.
    package init(name: String, _ text: String) throws {
        self.init(name: name, steps: [])
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)
            guard let verb = words.first else { continue }
            if verb == "options" {
                try readOptions(Array(words.dropFirst()))
            } else if let step = ScriptStep(verb, Array(words.dropFirst())) {
                steps.append(step)
            } else {
                throw Disagreement("script \(name), line \(number + 1): \(line)")
            }
        }
    }

    private mutating func readOptions(_ words: [String]) throws {
        var rest = words[...]
        while rest.count >= 2 {
            let name = rest.removeFirst()
            guard let number = Int(rest.removeFirst()) else { throw Disagreement("option \(name) needs a number") }
            switch name {
            case "log": logSegmentBytes = number
            case "cache": cacheBytes = number
            case "sector": sectorBytes = number
            case "reserve": diskReserveBytes = number
            case "encrypted": cipher = UInt8(exactly: number).flatMap { Encryption.Cipher(rawValue: $0) }
            case "age": snapshotAgeLimit = .milliseconds(number)
            default: throw Disagreement("no option \(name)")
            }
        }
    }
}

/// A step of a script.
package enum ScriptStep: Sendable, Hashable {
    case tree(String, KeyKind, keyBytes: Int, options: TreeOptions = [])
    case rename(String, String)
    case drop(String)
    case begin
    case commit(Durability?)
    case rollback
    case put(String, KeyRange, ValueShape)
    case stream(String, KeyRange, ValueShape)
    case load(String, KeyRange, ValueShape)
    case insert(String, KeyRange, ValueShape)
    case delete(String, KeyRange)
    /// Nil: to the tree's end. Of integers the last key is one of those that go, of bytes it is the first to stay.
    case deleteRange(String, UInt64, UInt64?)
    case deleteAll(String)
    case savepoint(String)
    case rollbackTo(String)
    case forget(String)
    case checkpoint
    case step(Int)
    case snapshot(String)
    case check(String)
    case release(String)
    case reader(String)
    case reopen
    case kill
    /// With the seed of what persists; nil: nothing does.
    case crash(UInt64?)
    case backup(String)
    case copy(String)
    case part(String)
    case shrink
    case compact
    case changeKey
    case verify
    /// Advances the clock by so many milliseconds.
    case tick(Int)
    /// Limits the disk to so many KiB; nil: no limit.
    case disk(Int?)

    init?(_ verb: String, _ words: [String]) {
        switch (verb, words.count) {
        case ("tree", 2...):
            let keyBytes = words.count > 2 ? Int(words[2]) ?? 0 : 0
            self = .tree(
                words[0], words[1] == "int" ? .integer : .bytes, keyBytes: keyBytes,
                options: words.last == "counted" ? .subtreeCounts : [])
        case ("rename", 2): self = .rename(words[0], words[1])
        case ("drop", 1): self = .drop(words[0])
        case ("begin", 0): self = .begin
        case ("commit", 0): self = .commit(nil)
        case ("commit", 2):
            guard words[0] == "async", let delay = Int(words[1]) else { return nil }
            self = .commit(.async(maxDelay: .milliseconds(delay)))
        case ("tick", 1):
            guard let time = Int(words[0]) else { return nil }
            self = .tick(time)
        case ("disk", 1):
            guard words[0] == "any" || Int(words[0]) != nil else { return nil }
            self = .disk(Int(words[0]))
        case ("commit", 1):
            guard let durability = ScriptStep.durabilities[words[0]] else { return nil }
            self = .commit(durability)
        case ("rollback", 0): self = .rollback
        case ("put", 3), ("insert", 3), ("stream", 3), ("load", 3):
            guard let keys = KeyRange(words[1]), let value = ValueShape(words[2]) else { return nil }
            switch verb {
            case "put": self = .put(words[0], keys, value)
            case "insert": self = .insert(words[0], keys, value)
            case "load": self = .load(words[0], keys, value)
            default: self = .stream(words[0], keys, value)
            }
        case ("delete", 2):
            guard let keys = KeyRange(words[1]) else { return nil }
            self = .delete(words[0], keys)
        case ("deleterange", 3):
            guard let first = UInt64(words[1]) else { return nil }
            if words[2] == "end" {
                self = .deleteRange(words[0], first, nil)
                return
            }
            guard let last = UInt64(words[2]), first <= last else { return nil }
            self = .deleteRange(words[0], first, last)
        case ("deleteall", 1): self = .deleteAll(words[0])
        case ("savepoint", 1): self = .savepoint(words[0])
        case ("rollbackto", 1): self = .rollbackTo(words[0])
        case ("forget", 1): self = .forget(words[0])
        case ("checkpoint", 0): self = .checkpoint
        case ("step", 0): self = .step(1)
        case ("step", 1):
            guard let count = Int(words[0]) else { return nil }
            self = .step(count)
        case ("snapshot", 1): self = .snapshot(words[0])
        case ("check", 1): self = .check(words[0])
        case ("release", 1): self = .release(words[0])
        case ("reader", 1): self = .reader(words[0])
        case ("reopen", 0): self = .reopen
        case ("kill", 0): self = .kill
        case ("crash", 0): self = .crash(nil)
        case ("crash", 1):
            guard let seed = UInt64(words[0]) else { return nil }
            self = .crash(seed)
        case ("backup", 1): self = .backup(words[0])
        case ("copy", 1): self = .copy(words[0])
        case ("part", 1): self = .part(words[0])
        case ("shrink", 0): self = .shrink
        case ("compact", 0): self = .compact
        case ("changekey", 0): self = .changeKey
        case ("verify", 0): self = .verify
        default: return nil
        }
    }

    private static let durabilities: [String: Durability] = [
        "full": .full, "barrier": .barrier, "ordered": .ordered, "async": .async,
    ]

    /// Whether the step changes data, and so runs inside a transaction.
    var isChange: Bool {
        switch self {
        case .tree, .rename, .drop, .put, .stream, .load, .insert, .delete, .deleteRange, .deleteAll: true
        default: false
        }
    }
}

/// Which keys a step touches, in which order.
package enum KeyRange: Sendable, Hashable {
    case steps(from: UInt64, through: UInt64, by: UInt64)
    case random(count: Int, below: UInt64)

    /// Reads `5`, `1..9`, `9..1/2` or `?20:1000`.
    package init?(_ text: String) {
        if text.hasPrefix("?") {
            let parts = text.dropFirst().split(separator: ":")
            guard parts.count == 2, let count = Int(parts[0]), let bound = UInt64(parts[1]), bound > 0 else {
                return nil
            }
            self = .random(count: count, below: bound)
            return
        }
        let halves = text.split(separator: "/")
        guard let range = halves.first, let stride = halves.count > 1 ? UInt64(halves[1]) : 1, stride > 0 else {
            return nil
        }
        let ends = range.split(separator: ".").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last else { return nil }
        self = .steps(from: first, through: last, by: stride)
    }

    /// The keys in their order; random ones by the seed.
    package func keys(seed: UInt64) -> [UInt64] {
        switch self {
        case .steps(let first, let last, let stride):
            if first <= last { return Array(Swift.stride(from: first, through: last, by: Int(stride))) }
            return Array(Swift.stride(from: Int(first), through: Int(last), by: -Int(stride))).map(UInt64.init)
        case .random(let count, let bound):
            var random = SplitMix(seed: seed)
            return (0..<count).map { _ in random.next() % bound }
        }
    }
}

/// How long a value is, and whether it can be compressed.
package struct ValueShape: Sendable, Hashable {
    /// The length of the value.
    package var bytes: Int
    /// Whether the value compresses well.
    package var isCompressible: Bool

    package init(bytes: Int, isCompressible: Bool = false) {
        self.bytes = bytes
        self.isCompressible = isCompressible
    }

    init?(_ text: String) {
        guard let unit = text.last, unit == "b" || unit == "z", let bytes = Int(text.dropLast()) else { return nil }
        self.init(bytes: bytes, isCompressible: unit == "z")
    }

    /// A value of this shape that differs from those of other seeds.
    package func value(seed: UInt64) -> [UInt8] {
        guard bytes > 0 else { return [] }
        var random = SplitMix(seed: seed)
        if isCompressible {
            let pattern = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            return [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
                for index in 0..<bytes { buffer[index] = pattern[index & 15] }
                count = bytes
            }
        }
        return [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
            for start in stride(from: 0, to: bytes, by: 8) {
                withUnsafeBytes(of: random.next().littleEndian) { word in
                    UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[start...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: word.prefix(bytes - start)))
                }
            }
            count = bytes
        }
    }
}
