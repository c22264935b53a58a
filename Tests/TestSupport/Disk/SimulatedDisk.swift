import CPlatform
import MakoStorage

/// A disk that behaves as badly as the rules allow, for tests of everything that keeps data in files.
///
/// Writes go to a cache. What no `sync` has made durable a crash may keep or lose, sector by sector, in any
/// combination; names that no `syncDirectory` has made durable likewise. What was synced is never lost. Calls are
/// counted, and at any of them the disk can fail in any of the ways of `Fault`. Everything follows from the seed.
///
///     let disk = SimulatedDisk(seed: 1)
///     disk.inject(.noSpace, atCall: 17)
///     // … run the program on it …
///     for image in disk.crashState().images(CrashChoice()) {
///         let after = SimulatedDisk(image)   // start the program again on what the crash left
///     }
public final class SimulatedDisk: FileSystem, @unchecked Sendable {
    /// A moment at which the power can go, between two calls.
    public struct CrashPoint: Sendable {
        /// The number of the call before which it lies.
        public var call: Int
        /// The value of `tag` at that moment.
        public var tag: Int
        /// What a crash could leave behind then.
        public var state: CrashState
    }

    private let lock = Lock()
    // Everything below is guarded by `lock`.
    private var state: CrashState
    private var random: SplitMix
    private var faults: [Int: Fault] = [:]
    private var calls: [CallKind] = []
    private var locks: [Int: (shared: Int, exclusive: Int)] = [:]
    /// The pins of each handle of a file.
    private var pins: [Int: [ObjectIdentifier: [UInt64]]] = [:]
    private var persistent: Int32?
    private var capacityBytes: UInt64?
    private var refuses = false
    private var knowsBarriers = false
    /// What was there before each barrier since the last sync, and so may be all that a power cut leaves.
    private var beforeBarriers: [CrashState] = []
    private var flushed = (syncs: 0, barriers: 0)
    private var crashed = false
    private var currentTag = 0
    private var isRecording = false
    private var recorded: [CrashPoint] = []
    private var hasChanged = true
    /// How many processes have ended on this disk: handles of earlier ones are dead.
    private var generation = 0

    /// Called before every write, also one that fails, of disks that are created while it is set.
    @TaskLocal public static var watcher:
        (@Sendable (_ path: String, _ bytes: UnsafeRawBufferPointer, _ offset: UInt64) -> Void)?
    private let watcher = SimulatedDisk.watcher

    /// An empty disk.
    public init(seed: UInt64 = 0, sectorBytes: Int = 4096) {
        state = CrashState(sectorBytes: sectorBytes)
        random = SplitMix(seed: seed)
    }

    /// A disk with files on it, all durable.
    public convenience init(_ image: DiskImage, seed: UInt64 = 0, sectorBytes: Int = 4096) {
        self.init(seed: seed, sectorBytes: sectorBytes)
        state = CrashState(image, sectorBytes: sectorBytes)
    }

    // MARK: What tests ask and order

    /// Calls so far.
    public var callCount: Int { lock.withLock { calls.count } }

    /// The calls so far, by kind; the index is what `inject` counts by.
    public var callLog: [CallKind] { lock.withLock { calls } }

    /// Whether the power has gone; later calls fail.
    public var hasCrashed: Bool { lock.withLock { crashed } }

    /// Cuts the power now: every later call fails and changes nothing.
    public func cutPower() { lock.withLock { crashed = true } }

    /// Ends the process that uses the disk, as a kill does: its handles and locks are released, and its later calls
    /// have no effect. Its writes stay in the machine's cache, as little durable as before.
    public func endProcess() {
        lock.withLock {
            generation += 1
            locks = [:]
            pins = [:]
        }
    }

    /// Cuts the power and starts the machine again. The disk then holds what this crash left.
    public func restart(on image: DiskImage) {
        lock.withLock {
            generation += 1
            locks = [:]
            pins = [:]
            crashed = false
            hasChanged = true
            state = CrashState(image, sectorBytes: state.sectorBytes)
        }
    }

    /// Makes the disk fail at the call with this index, counted from 0.
    public func inject(_ fault: Fault, atCall index: Int) {
        lock.withLock { faults[index] = fault }
    }

    /// Forgets all faults, those that last included.
    public func clearFaults() {
        lock.withLock {
            faults = [:]
            persistent = nil
        }
    }

    /// Whether files can be neither read nor written, nor opened: on a phone that is locked.
    public var isProtected: Bool {
        get { lock.withLock { refuses } }
        set { lock.withLock { refuses = newValue } }
    }

    /// Whether the disk has barriers that are less than syncs: what one of them has ordered is lost in a power cut, with all that was
    /// written behind it, until a file or a directory is synced.
    public var hasBarriers: Bool {
        get { lock.withLock { knowsBarriers } }
        set { lock.withLock { knowsBarriers = newValue } }
    }

    /// How many syncs and barriers of files succeeded.
    public var flushes: (syncs: Int, barriers: Int) { lock.withLock { flushed } }

    /// What a crash now could leave behind beside `crashState()`, on a disk with barriers.
    public var statesBeforeBarriers: [CrashState] { lock.withLock { beforeBarriers } }

    /// The most bytes that all files together may have; nil: no limit. Zeros in a file count, too.
    public var capacity: UInt64? {
        get { lock.withLock { capacityBytes } }
        set { lock.withLock { capacityBytes = newValue } }
    }

    /// Bytes of all files.
    public var usedBytes: UInt64 { lock.withLock { usedNow } }

    private var usedNow: UInt64 { state.names.values.reduce(0) { $0 + state.files[$1].cached.size } }

    /// Whether a file may become so long.
    private func checkCapacity(_ operation: String, _ path: String, _ file: Int, _ size: UInt64) throws(FileError) {
        let now = state.files[file].cached.size
        guard size > now, let capacityBytes, usedNow + size - now > capacityBytes else { return }
        throw FileError(operation: operation, path: path, code: ENOSPC)
    }

    /// A number that is noted in every crash point from now on.
    public var tag: Int {
        get { lock.withLock { currentTag } }
        set {
            lock.withLock {
                if newValue != currentTag { hasChanged = true }
                currentTag = newValue
            }
        }
    }

    /// Notes from now on, before each call, what a crash could leave behind there.
    public func startRecording() {
        lock.withLock {
            isRecording = true
            hasChanged = true
        }
    }

    /// The different moments since `startRecording()`, the present one included.
    public func crashPoints() -> [CrashPoint] {
        lock.withLock { recorded + [CrashPoint(call: calls.count, tag: currentTag, state: state)] }
    }

    /// What a crash now could leave behind.
    public func crashState() -> CrashState { lock.withLock { state } }

    /// The disks a crash now could leave behind.
    public func crashImages(choosing choice: CrashChoice = CrashChoice()) -> [SimulatedDisk] {
        crashState().images(choice).map { SimulatedDisk($0, sectorBytes: state.sectorBytes) }
    }

    /// The disk as an orderly shutdown leaves it: everything durable.
    public func settledImage() -> DiskImage {
        lock.withLock {
            DiskImage(files: state.names.mapValues { state.files[$0].cached }, directories: state.directories)
        }
    }

    /// Creates a directory, durably.
    public func makeDirectory(_ path: String) {
        lock.withLock { _ = state.directories.insert(path) }
    }

    /// A file's content as programs read it, or nil.
    public func contents(of path: String) -> [UInt8]? {
        lock.withLock { state.names[path].map { state.files[$0].cached.bytes } }
    }

    /// Replaces a file, durably; nil removes it.
    public func setContents(of path: String, to bytes: [UInt8]?) {
        lock.withLock {
            hasChanged = true
            state.names[path] = nil
            if let bytes {
                let content = ByteImage(bytes)
                state.names[path] = state.files.count
                state.files.append(CrashState.FileState(durable: content, cached: content, stale: content))
            }
            state.durableNames[path] = state.names[path]
        }
    }

    /// Flips one bit, durably.
    public func flipBit(_ bit: Int, inByte offset: Int, of path: String) {
        lock.withLock {
            guard let file = state.names[path] else { return }
            hasChanged = true
            var byte = state.files[file].cached.bytes(at: UInt64(offset), count: 1)
            byte[0] ^= 1 << UInt8(bit)
            byte.withUnsafeBytes {
                state.files[file].cached.overlay($0, at: UInt64(offset))
                state.files[file].durable.overlay($0, at: UInt64(offset))
            }
        }
    }

    // MARK: FileSystem

    /// Opens a file, or creates it where the mode says so.
    ///
    /// - Throws: `FileError` with the code that a POSIX system has for it, or that of an injected fault.
    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
        let file = try call(.open, path) { () throws(FileError) -> Int in
            if state.directories.contains(path) { throw FileError(operation: "open", path: path, code: EISDIR) }
            if let file = state.names[path] {
                if mode == .createNew { throw FileError(operation: "open", path: path, code: EEXIST) }
                return file
            }
            guard mode == .create || mode == .createNew else {
                throw FileError(operation: "open", path: path, code: ENOENT)
            }
            try checkSpace("open", path)
            hasChanged = true
            state.files.append(CrashState.FileState())
            state.names[path] = state.files.count - 1
            state.pendingNames.append(.create(path, state.files.count - 1))
            return state.files.count - 1
        }
        return lock.withLock {
            let content = state.files[file]
            return SimulatedFile(
                disk: self, path: path, file: file, generation: generation, isReadOnly: mode == .readOnly,
                notified: content.failures - (content.isUnreported ? 1 : 0))
        }
    }

    /// Removes a name. A crash may bring it back until the directory is synced.
    public func remove(_ path: String) throws(FileError) {
        try call(.remove, path) { () throws(FileError) in
            guard let file = state.names.removeValue(forKey: path) else {
                throw FileError(operation: "remove", path: path, code: ENOENT)
            }
            hasChanged = true
            state.pendingNames.append(.remove(path, file))
        }
    }

    /// Renames a file over any other of the new name. A crash may undo it until the directory is synced.
    public func rename(_ from: String, to: String) throws(FileError) {
        try call(.rename, from) { () throws(FileError) in
            guard let file = state.names.removeValue(forKey: from) else {
                throw FileError(operation: "rename", path: from, code: ENOENT)
            }
            hasChanged = true
            state.names[to] = file
            state.pendingNames.append(.rename(from, to, file))
        }
    }

    /// Renames a file, and fails where the new name exists.
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        try call(.rename, from) { () throws(FileError) in
            guard state.names[to] == nil else { throw FileError(operation: "rename", path: to, code: EEXIST) }
            guard let file = state.names.removeValue(forKey: from) else {
                throw FileError(operation: "rename", path: from, code: ENOENT)
            }
            hasChanged = true
            state.names[to] = file
            state.pendingNames.append(.rename(from, to, file))
        }
    }

    /// The names in a directory, sorted.
    public func list(directory: String) throws(FileError) -> [String] {
        try call(.list, directory) {
            state.names.keys.filter { parentDirectory($0) == directory }.map(lastName).sorted()
        }
    }

    /// Makes the changes of names in a directory durable.
    public func syncDirectory(_ path: String) throws(FileError) {
        try call(.syncDirectory, path, failing: {}) { fault in
            if case .syncLies? = fault { return }
            beforeBarriers = []
            var stillPending: [CrashState.PendingName] = []
            for change in state.pendingNames {
                if change.directories.contains(path) {
                    change.apply(to: &state.durableNames)
                    hasChanged = true
                } else {
                    stillPending.append(change)
                }
            }
            state.pendingNames = stillPending
        }
    }

    /// Whether a path is a directory, one that was created or one that has files.
    public func isDirectory(_ path: String) -> Bool {
        lock.withLock {
            state.directories.contains(path)
                || state.names[path] == nil && state.names.keys.contains { parentDirectory($0) == path }
        }
    }

    /// Whether a path is a file or a directory.
    public func exists(_ path: String) -> Bool {
        lock.withLock { state.names[path] != nil || state.directories.contains(path) }
    }

    // MARK: Files

    func size(_ file: Int, _ path: String) throws(FileError) -> UInt64 {
        try call(.size, path) { state.files[file].cached.size }
    }

    func read(
        _ file: Int, _ path: String, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(FileError) -> Int {
        try call(.read, path) { fault in
            if case .staleRead? = fault { return state.files[file].stale.read(into: buffer, at: offset) }
            var buffer = buffer
            if case .short(let limit)? = fault {
                buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(max(1, limit)))
            }
            let count = state.files[file].cached.read(into: buffer, at: offset)
            if case .flipBit(let bit)? = fault, count > 0 { buffer[bit / 8 % count] ^= 1 << UInt8(bit % 8) }
            return count
        }
    }

    func write(
        _ file: Int, _ path: String, _ buffer: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(FileError) -> Int {
        guard offset <= UInt64(Int64.max) - UInt64(buffer.count) else {
            throw FileError(operation: "write", path: path, code: EFBIG)
        }
        watcher?(path, buffer, offset)
        return try call(.write, path, failing: { apply(writtenPart(of: buffer), to: file, at: offset) }) {
            fault throws(FileError) in
            try checkCapacity("write", path, file, offset + UInt64(buffer.count))
            switch fault {
            case .loseWrite?: break
            case .short(let limit)?:
                let part = UnsafeRawBufferPointer(rebasing: buffer.prefix(max(1, limit)))
                apply(part, to: file, at: offset)
                return part.count
            case .misdirectWrite(let distance)?:
                apply(buffer, to: file, at: UInt64(max(0, Int64(offset) + distance)))
            case .flipBit(let bit)? where buffer.count > 0:
                var bytes = [UInt8](buffer)
                bytes[bit / 8 % bytes.count] ^= 1 << UInt8(bit % 8)
                bytes.withUnsafeBytes { apply($0, to: file, at: offset) }
            default: apply(buffer, to: file, at: offset)
            }
            return buffer.count
        }
    }

    func resize(_ file: Int, _ path: String, to size: UInt64) throws(FileError) {
        guard size <= UInt64(Int64.max) else { throw FileError(operation: "resize", path: path, code: EFBIG) }
        try call(.resize, path) { () throws(FileError) in
            if size > state.files[file].cached.size { try checkSpace("resize", path) }
            try checkCapacity("resize", path, file, size)
            hasChanged = true
            state.files[file].cached.resize(to: size)
            state.files[file].pending.append(.size(size))
        }
    }

    /// Makes pending writes durable, all of them or those to the sectors of a range, with the size that they need.
    ///
    /// - Parameter told: the number of the file's failures that the handle has reported.
    func sync(
        _ file: Int, _ path: String, only range: Range<UInt64>? = nil, isBarrier: Bool = false, notified: inout Int
    ) throws(FileError) {
        try call(.sync, path) { fault throws(FileError) in
            // Of no sync that fails it is known what it has left in the device.
            if knowsBarriers && isBarrier { beforeBarriers.append(state) }
            defer {
                if !isBarrier && fault == nil { beforeBarriers = [] }
                if isBarrier { flushed.barriers += 1 } else { flushed.syncs += 1 }
            }
            if state.files[file].failures == notified, case .syncFails(let failure)? = fault {
                failSync(of: file)
                if failure == .restoresOldContent { state.files[file].cached = state.files[file].durable }
                state.files[file].isUnreported = failure == .reportsLate
                if failure == .reportsLate { return }
            }
            if state.files[file].failures != notified {
                notified = state.files[file].failures
                state.files[file].isUnreported = false
                throw FileError(operation: "sync", path: path, code: EIO)
            }
            if case .syncLies? = fault { return }
            if state.files[file].pending.isEmpty { return }
            hasChanged = true
            state.files[file].stale = state.files[file].durable
            // Sectors that an earlier failed sync marked clean are not written: only pending ones become durable.
            let pending = state.files[file].pending
            let others = pending.filter { !isMeant($0, by: range) }
            state.files[file].pending = pending.filter { isMeant($0, by: range) }
            extendForPending(of: file)
            state.files[file].durable = everythingPending(of: file)
            state.files[file].pending = others
        }
    }

    /// Whether a sync of a range, or of everything, makes a change durable. A sync of a range leaves a size open that
    /// its bytes do not need.
    private func isMeant(_ change: CrashState.PendingChange, by range: Range<UInt64>?) -> Bool {
        guard let range else { return true }
        switch change {
        case .size(let size): return size <= range.upperBound
        case .sector(let index, _):
            let start = UInt64(index * state.sectorBytes)
            return range.overlaps(start..<start + UInt64(state.sectorBytes))
        }
    }

    func takeLock(_ file: Int, _ path: String, exclusive: Bool, held: Bool?) throws(FileError) -> Bool {
        try call(.lock, path) {
            var holders = locks[file] ?? (0, 0)
            if held == false { holders.shared -= 1 }
            if held == true { holders.exclusive -= 1 }
            guard holders.exclusive == 0, !exclusive || holders.shared == 0 else { return false }
            if exclusive { holders.exclusive += 1 } else { holders.shared += 1 }
            locks[file] = holders
            return true
        }
    }

    func pin(_ number: UInt64, of file: Int, _ path: String, _ handle: ObjectIdentifier) throws(FileError) {
        try call(.lock, path) { pins[file, default: [:]][handle, default: []].append(number) }
    }

    /// What handles of a file other than this one have pinned.
    func pins(of file: Int, _ path: String, besides handle: ObjectIdentifier) throws(FileError) -> [UInt64] {
        try call(.lock, path) {
            Set((pins[file] ?? [:]).filter { $0.key != handle }.flatMap(\.value)).sorted()
        }
    }

    func unpin(_ file: Int, _ handle: ObjectIdentifier, _ generation: Int) {
        lock.withLock {
            guard generation == self.generation else { return }
            pins[file]?[handle] = nil
        }
    }

    func isNamed(_ path: String, _ file: Int) -> Bool { lock.withLock { state.names[path] == file } }

    func isAlive(_ handle: Int) -> Bool { lock.withLock { handle == generation } }

    func releaseLock(_ file: Int, _ handle: Int, exclusive: Bool) {
        lock.withLock {
            guard handle == generation else { return }
            if exclusive { locks[file]?.exclusive -= 1 } else { locks[file]?.shared -= 1 }
        }
    }

    // MARK: One call

    private func call<R>(_ kind: CallKind, _ path: String, _ body: () throws(FileError) -> R) throws(FileError) -> R {
        try call(kind, path, failing: {}) { _ throws(FileError) in try body() }
    }

    /// Makes a call, again when a signal interrupted it; reads, writes and syncs come again from `SimulatedFile`.
    private func call<R>(
        _ kind: CallKind, _ path: String, failing: () -> Void = {}, _ body: (Fault?) throws(FileError) -> R
    ) throws(FileError) -> R {
        while true {
            do throws(FileError) { return try callOnce(kind, path, failing: failing, body) } catch {
                guard error.code == EINTR, kind != .read, kind != .write, kind != .sync else { throw error }
            }
        }
    }

    /// Counts a call, injects its fault, records the moment before it and performs it.
    private func callOnce<R>(
        _ kind: CallKind, _ path: String, failing: () -> Void, _ body: (Fault?) throws(FileError) -> R
    ) throws(FileError) -> R {
        try lock.withLock { () throws(FileError) -> R in
            let fault = faults[calls.count]
            if isRecording, hasChanged {
                recorded.append(CrashPoint(call: calls.count, tag: currentTag, state: state))
                hasChanged = false
            }
            calls.append(kind)
            guard !crashed else { throw FileError(operation: kind.rawValue, path: path, code: EIO) }
            if refuses && kind.needsContent { throw FileError(operation: kind.rawValue, path: path, code: EPERM) }
            // A full disk still removes, renames and syncs.
            if let persistent, kind != .open, persistent == ENOSPC ? kind.needsSpace : kind.changesDisk {
                throw FileError(operation: kind.rawValue, path: path, code: persistent)
            }
            switch fault {
            case .error(let code)?:
                failing()
                throw FileError(operation: kind.rawValue, path: path, code: code)
            case .persistentError(let code)?:
                persistent = code
                failing()
                throw FileError(operation: kind.rawValue, path: path, code: code)
            case .refused?: throw FileError(operation: kind.rawValue, path: path, code: EPERM)
            case .interrupted?: throw FileError(operation: kind.rawValue, path: path, code: EINTR)
            case .syncFails? where kind == .syncDirectory:
                throw FileError(operation: kind.rawValue, path: path, code: EIO)
            case .crashBefore?:
                crashed = true
                throw FileError(operation: kind.rawValue, path: path, code: EIO)
            case .crashAfter?:
                _ = try body(nil)
                crashed = true
                throw FileError(operation: kind.rawValue, path: path, code: EIO)
            default:
                return try body(fault)
            }
        }
    }

    private func checkSpace(_ operation: String, _ path: String) throws(FileError) {
        if let persistent { throw FileError(operation: operation, path: path, code: persistent) }
    }

    private func writtenPart(of buffer: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let sectors = buffer.count / state.sectorBytes
        return UnsafeRawBufferPointer(rebasing: buffer.prefix(random.below(sectors + 1) * state.sectorBytes))
    }

    private func apply(_ buffer: UnsafeRawBufferPointer, to file: Int, at offset: UInt64) {
        guard buffer.count > 0 else { return }
        hasChanged = true
        let before = state.files[file].cached.size
        state.files[file].cached.write(buffer, at: offset)
        if state.files[file].cached.size != before {
            state.files[file].pending.append(.size(state.files[file].cached.size))
        }
        let sectorBytes = state.sectorBytes
        let first = Int(offset) / sectorBytes
        let last = (Int(offset) + buffer.count - 1) / sectorBytes
        for index in first...last {
            let bytes = state.files[file].cached.bytes(at: UInt64(index * sectorBytes), count: sectorBytes)
            state.files[file].pending.append(.sector(index, bytes))
        }
    }

    /// A sync that succeeds makes what it writes retrievable: a file whose growth an earlier failed sync has lost grows over it again.
    private func extendForPending(of file: Int) {
        var end: UInt64 = 0
        for case .sector(let index, _) in state.files[file].pending {
            end = max(end, UInt64((index + 1) * state.sectorBytes))
        }
        end = min(end, state.files[file].cached.size)
        if end > state.files[file].durable.size { state.files[file].durable.resize(to: end) }
    }

    private func everythingPending(of file: Int) -> ByteImage {
        var image = state.files[file].durable
        for change in state.files[file].pending {
            switch change {
            case .size(let size): image.resize(to: size)
            case .sector(let index, let bytes):
                bytes.withUnsafeBytes { image.overlay($0, at: UInt64(index * state.sectorBytes)) }
            }
        }
        image.cut()
        return image
    }

    private func failSync(of file: Int) {
        hasChanged = true
        // Some sectors made it to the disk before the failure.
        let kept = state.files[file].pending.filter { _ in random.chance(30) }
        state.files[file].pending = kept
        state.files[file].durable = everythingPending(of: file)
        state.files[file].pending = []
        state.files[file].failures += 1
    }
}
